//! Putting a file together from its skeleton and payloads.

use std::io::{self, Read, Write};

use super::{Payload, Skeleton, SkeletonError};

/// The bytes that are read and written at once.
const CHUNK: usize = 1 << 20;

impl Skeleton {
    /// Writes the original file to `out`. `open` returns a reader of a payload's bytes; it is called once per payload,
    /// in the order of the file.
    ///
    /// The bytes written are the original only if this returns `Ok`, because the digest is known only when all is
    /// written. Write to a temporary file and rename it.
    ///
    /// # Errors
    /// If a payload cannot be read or has another size, `out` cannot be written, or the bytes written are not the
    /// original.
    ///
    /// ```
    /// # use plimsoll_capture::skeleton::Skeleton;
    /// # fn copy(path: &std::path::Path, mut out: std::fs::File) -> Result<(), Box<dyn std::error::Error>> {
    /// let mut storages = std::collections::HashMap::new();
    /// let skeleton = Skeleton::scan(path, &mut |payload, piece| {
    ///     storages.entry(payload.key.clone()).or_insert_with(Vec::new).extend_from_slice(piece);
    ///     Ok(())
    /// })?;
    /// skeleton.rebuild(&mut |payload| Ok(&storages[&payload.key][..]), &mut out)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn rebuild<R: Read>(
        &self,
        open: &mut dyn FnMut(&Payload) -> io::Result<R>,
        out: &mut dyn Write,
    ) -> Result<(), SkeletonError> {
        let mut hasher = blake3::Hasher::new();
        let mut put = |bytes: &[u8]| {
            hasher.update(bytes);
            out.write_all(bytes).map_err(SkeletonError::Write)
        };
        let mut rest = &self.verbatim[..];
        let mut at = 0;
        let mut buffer = vec![0; CHUNK];
        for payload in self.payloads() {
            // Payloads are in order and within the file, as was checked when the skeleton was made.
            let (before, after) = rest.split_at((payload.offset - at) as usize);
            put(before)?;
            (rest, at) = (after, payload.offset + payload.bytes.bytes());
            copy(payload, open, &mut buffer, &mut put)?;
        }
        put(rest)?;
        out.flush().map_err(SkeletonError::Write)?;
        let actual = hasher.finalize().to_hex();
        let expected = self.file_digest();
        if actual.as_str() == expected {
            Ok(())
        } else {
            Err(SkeletonError::Digest { expected: expected.to_owned(), actual: actual.to_string() })
        }
    }
}

/// Passes all bytes of `payload` to `put`.
fn copy<R: Read>(
    payload: &Payload,
    open: &mut dyn FnMut(&Payload) -> io::Result<R>,
    buffer: &mut [u8],
    put: &mut dyn FnMut(&[u8]) -> Result<(), SkeletonError>,
) -> Result<(), SkeletonError> {
    let fail = |source| SkeletonError::Source { key: payload.key.clone(), source };
    let expected = payload.bytes.bytes();
    let size = |relation| SkeletonError::PayloadSize { key: payload.key.clone(), relation, expected };
    let mut reader = open(payload).map_err(fail)?;
    let mut left = expected;
    loop {
        // One byte more is requested, to make sure that there is none.
        let room = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX).saturating_add(1));
        let count = match reader.read(&mut buffer[..room]) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(fail(error)),
        };
        if count == 0 {
            return if left == 0 { Ok(()) } else { Err(size("fewer")) };
        }
        left = left.checked_sub(count as u64).ok_or_else(|| size("more"))?;
        put(&buffer[..count])?;
    }
}
