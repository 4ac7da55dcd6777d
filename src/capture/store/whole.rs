//! Whole files: their digests, and the entries of a store put together.

use std::num::NonZeroUsize;
use std::path::Path;

use super::super::error::CaptureError;
use super::super::map::for_each_window;
use super::super::source::SourceFile;
use super::error::StoreError;
use super::object_id::ObjectId;
use plimsoll_memory::bytes::ByteSize;

/// The number of bytes that are mapped at once.
pub const WINDOW: ByteSize = ByteSize::mib(16);

/// The digest of the file at `path`, or, if that is a reference, of the file that it stands for.
pub fn digest(path: &Path) -> Result<ObjectId, CaptureError> {
    digest_of(&SourceFile::open(path)?)
}

fn digest_of(source: &SourceFile) -> Result<ObjectId, CaptureError> {
    let mut hasher = blake3::Hasher::new();
    for_each_window(source, WINDOW, |window| {
        hasher.update_rayon(window);
    })?;
    Ok(hasher.finalize().into())
}

/// Restores the file that the reference at `path` refers to, without writing it, and returns its digest, which must be
/// that of the packed file.
///
/// # Errors
/// [`StoreError::Digest`] if the digest is another.
pub fn check(path: &Path) -> Result<ObjectId, StoreError> {
    let source = SourceFile::open(path)?;
    let actual = digest_of(&source)?;
    match source.packed().map(|packed| packed.the_recipe().blake3) {
        Some(expected) if expected != actual => {
            let (expected, actual) = (expected.to_string(), actual.to_string());
            Err(StoreError::Digest { path: path.to_owned(), expected, actual })
        }
        _ => Ok(actual),
    }
}

/// Does `work` with that many threads; `None` takes one per processor.
pub fn with_threads<T: Send>(threads: Option<NonZeroUsize>, work: impl FnOnce() -> T + Send) -> T {
    let Some(threads) = threads else { return work() };
    match rayon::ThreadPoolBuilder::new().num_threads(threads.get()).build() {
        Ok(pool) => pool.install(work),
        // The system gives no more threads, so the work is done by the existing ones.
        Err(_) => work(),
    }
}
