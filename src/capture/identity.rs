//! [`Identity`]: a digest that distinguishes an entry's bytes from others'.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::content::Payload;
use super::error::CaptureError;
use super::map::for_each_window;
use super::source::SourceFile;
use plimsoll_memory::bytes::ByteSize;

/// How much of an entry its [`Identity`] covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Digest {
    /// Cover everything except the bytes of storages. The zip directory, which is included, holds their CRC-32s. If one
    /// is missing, as always in the formats before PyTorch 1.6, all bytes are covered instead.
    Skeleton,
    /// Cover every byte of the file.
    Full,
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Skeleton => "skeleton",
            Self::Full => "full",
        })
    }
}

/// A BLAKE3 digest of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The digest.
    pub digest: [u8; 32],
    /// The part of the entry that it was computed from.
    pub covers: Digest,
}

impl Identity {
    /// The digest in hexadecimal.
    pub fn hex(&self) -> String {
        blake3::Hash::from_bytes(self.digest).to_hex().to_string()
    }
}

impl fmt::Display for Identity {
    /// Writes `blake3:DIGEST`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "blake3:{}", self.hex())
    }
}

/// The bytes that are mapped at once. With less, threads wait for each other at the seams; more only takes more memory.
const WINDOW: ByteSize = ByteSize::mib(16);

/// The bytes that are read at once.
const CHUNK: u64 = 256 << 10;

/// The identity of a file with these `payloads`.
pub(super) fn of(source: &SourceFile, payloads: &[Payload], digest: Digest) -> Result<Identity, CaptureError> {
    let skeleton = digest == Digest::Skeleton && !payloads.is_empty() && payloads.iter().all(|p| p.has_crc);
    let (digest, covers) =
        if skeleton { (skeleton_of(source, payloads)?, Digest::Skeleton) } else { (whole(source)?, Digest::Full) };
    source.unchanged()?;
    Ok(Identity { digest: *digest.as_bytes(), covers })
}

fn whole(source: &SourceFile) -> Result<blake3::Hash, CaptureError> {
    let mut hasher = blake3::Hasher::new();
    for_each_window(source, WINDOW, |window| {
        hasher.update_rayon(window);
    })?;
    Ok(hasher.finalize())
}

fn skeleton_of(source: &SourceFile, payloads: &[Payload]) -> Result<blake3::Hash, CaptureError> {
    let mut payloads: Vec<_> = payloads.iter().map(|p| p.range.clone()).collect();
    payloads.sort_unstable_by_key(|range| range.start);
    payloads.push(source.size()..source.size());
    // For a remote file, everything between the storages is fetched together.
    let starts = std::iter::once(0).chain(payloads.iter().map(|payload| payload.end));
    let between: Vec<_> = starts.zip(&payloads).map(|(start, payload)| start..payload.start.max(start)).collect();
    source.fetch(&between)?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = Vec::new();
    let mut at = 0;
    for payload in payloads {
        while at < payload.start {
            let bytes = (payload.start - at).min(CHUNK);
            buffer.resize(bytes as usize, 0);
            source.read_exact_at(at, &mut buffer)?;
            hasher.update(&buffer);
            at += bytes;
        }
        at = at.max(payload.end);
    }
    Ok(hasher.finalize())
}
