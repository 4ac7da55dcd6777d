//! [`Origin`]: files whose bytes are elsewhere until somebody reads them.
//!
//! A folder can be mounted: its files then have their names and sizes, but are empty (holes) until bytes are fetched.
//! Readers in this crate fetch the bytes that they read, whatever path they open a file by, and messages show the
//! file's address instead of its path. Other processes see the files as they are, so fetch first before you pass a path
//! on ([`Entry::fetch`](super::Entry::fetch)).

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// Why bytes could not be fetched; the message also says what to do.
pub type FetchError = Box<dyn std::error::Error + Send + Sync>;

/// An open file of a mounted folder: fetched bytes stay available while it lives.
pub trait Origin: fmt::Debug + Send + Sync {
    /// Distinguishes the content from any other that the address has had.
    fn version(&self) -> u64;

    /// Whether the bytes of `range` are in the file.
    fn has(&self, range: &Range<u64>) -> bool;

    /// Fetches the bytes of `ranges` and returns once they are in the file. Ranges beyond its end are an error.
    ///
    /// # Errors
    /// If they are unavailable, or the content has changed.
    fn fetch(&self, ranges: &[Range<u64>]) -> Result<(), FetchError>;
}

/// A mounted folder.
pub trait Origins: fmt::Debug + Send + Sync {
    /// Opens the file at `path`; `None` if the folder does not have it.
    fn open(&self, path: &Path) -> Option<Arc<dyn Origin>>;

    /// Files are read in the order of `paths` from now on, and no others; those of other folders are left out of account.
    fn reads(&self, _paths: &[PathBuf]) {}

    /// The address of `path`, which messages show; `None` if it is not in the folder.
    fn address(&self, path: &Path) -> Option<Arc<Path>>;
}

/// The schemes that an address can begin with.
const SCHEMES: [&str; 9] =
    ["s3://", "s3a://", "gs://", "az://", "azure://", "abfs://", "abfss://", "https://", "http://"];

/// Whether `path` is the address of something in an object store rather than a path on this machine.
pub fn is_address(path: &Path) -> bool {
    path.to_str().is_some_and(|text| SCHEMES.iter().any(|scheme| text.starts_with(scheme)))
}

/// The number of mounted folders: without one, opening a file skips the lookup.
static COUNT: AtomicUsize = AtomicUsize::new(0);
static MOUNTS: RwLock<Vec<Arc<dyn Origins>>> = RwLock::new(Vec::new());

/// A mounted folder, unmounted on drop.
#[derive(Debug)]
pub struct Mount(Arc<dyn Origins>);

impl Mount {
    /// Mounts a folder for all readers of this process.
    pub fn new(origins: Arc<dyn Origins>) -> Self {
        MOUNTS.write().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&origins));
        COUNT.fetch_add(1, Ordering::SeqCst);
        Self(origins)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        MOUNTS.write().unwrap_or_else(PoisonError::into_inner).retain(|other| !Arc::ptr_eq(other, &self.0));
        COUNT.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Asks the mounted folders about a path; the first that knows it answers.
fn ask<T>(question: impl Fn(&dyn Origins) -> Option<T>) -> Option<T> {
    if COUNT.load(Ordering::SeqCst) == 0 {
        return None;
    }
    MOUNTS.read().unwrap_or_else(PoisonError::into_inner).iter().find_map(|mount| question(&**mount))
}

/// Opens the file at `path` if it is one of a mounted folder.
pub(super) fn open(path: &Path) -> Option<Arc<dyn Origin>> {
    ask(|mount| mount.open(path))
}

/// The address of `path` if it is in a mounted folder.
pub fn address(path: &Path) -> Option<Arc<Path>> {
    ask(|mount| mount.address(path))
}

/// Has the mounted folders know in which order files are read from now on.
pub(super) fn reads(paths: &[PathBuf]) {
    ask(|mount| {
        mount.reads(paths);
        None::<()>
    });
}

/// `path` as messages and documents show it: its address, if it has one.
pub fn shown(path: &Path) -> String {
    address(path).as_deref().unwrap_or(path).to_string_lossy().into_owned()
}

/// Fetches the whole file at `path` and returns once it is available, if it is in a mounted folder.
pub(super) fn fetch_whole(path: &Path, bytes: u64) -> std::io::Result<()> {
    match open(path) {
        Some(origin) => origin.fetch(std::slice::from_ref(&(0..bytes))).map_err(std::io::Error::other),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_distinguished_from_paths() {
        for address in ["s3://b/p", "gs://b", "az://c/p", "https://h/p", "http://h/p", "abfss://c@a/p"] {
            assert!(is_address(Path::new(address)), "{address}");
        }
        for path in ["s3:/b/p", "./s3://b", "captures/embedding", "file:///tmp", "C:\\x", ""] {
            assert!(!is_address(Path::new(path)), "{path}");
        }
    }
}
