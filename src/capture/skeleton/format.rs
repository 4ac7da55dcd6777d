//! A skeleton as bytes. The format is described in the [module above](super).

use super::{Header, Skeleton, SkeletonError};

/// The name and version of the format.
pub(super) const NAME: &str = "plimsoll.skeleton/1";

/// The most bytes that may be around the payloads. In real files, these are the pickle and some hundred bytes per
/// storage.
pub(super) const VERBATIM_LIMIT: u64 = 256 << 20;

/// The largest header, in bytes: enough for some hundred thousand payloads.
const HEADER_LIMIT: u64 = 64 << 20;

/// The largest skeleton, in bytes.
pub const LARGEST_SKELETON: u64 = 8 + HEADER_LIMIT + VERBATIM_LIMIT;

impl Skeleton {
    /// The skeleton as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let header = serde_json::to_vec(&self.header).expect("a header has no maps with keys other than texts");
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header);
        bytes.extend(&self.verbatim);
        bytes
    }

    /// Reads the bytes that [`Skeleton::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`SkeletonError::Malformed`] if they are not a skeleton.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SkeletonError> {
        let malformed = |what: &str| SkeletonError::Malformed(what.to_owned());
        let (length, rest) = bytes.split_first_chunk().ok_or_else(|| malformed("it ends within its first bytes"))?;
        let length = u64::from_le_bytes(*length);
        let length = usize::try_from(length).ok().filter(|&length| length as u64 <= HEADER_LIMIT);
        let parts = length.and_then(|length| rest.split_at_checked(length));
        let (header, verbatim) = parts.ok_or_else(|| malformed("its header is longer than the skeleton"))?;
        let header: Header = serde_json::from_slice(header).map_err(|error| malformed(&error.to_string()))?;
        check(&header, verbatim.len() as u64).map_err(malformed)?;
        Ok(Self { header, verbatim: verbatim.to_vec() })
    }
}

/// Refuses a header that does not describe a file with `verbatim` bytes around its payloads.
fn check(header: &Header, verbatim: u64) -> Result<(), &'static str> {
    if header.format != NAME {
        return Err("its format is not plimsoll.skeleton/1");
    }
    if header.blake3.len() != 64 || !header.blake3.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
        return Err("its digest is not a digest");
    }
    if verbatim > VERBATIM_LIMIT {
        return Err("it is too large");
    }
    let mut at = 0u64;
    let mut held = 0u64;
    for payload in &header.payloads {
        if payload.offset < at {
            return Err("its payloads overlap or are out of order");
        }
        let bytes = payload.bytes.bytes();
        if bytes == 0 {
            return Err("a payload is empty");
        }
        at = payload.offset.checked_add(bytes).ok_or("a payload reaches beyond 2^64 bytes")?;
        // Payloads do not overlap, so their sum is at most the end of the last one.
        held += bytes;
    }
    if at > header.bytes.bytes() {
        return Err("a payload reaches beyond the file");
    }
    if header.bytes.bytes() - held != verbatim {
        return Err("the bytes around its payloads are not as many as its header says");
    }
    Ok(())
}
