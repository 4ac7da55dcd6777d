//! Temporary files of runs, removed with the run, or by the next run if the run is killed.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use plimsoll::capture::leftover;
use rustix::fs::{Mode, OFlags};
use tempfile::{Builder, TempDir, TempPath};

/// Name prefixes of unpacked storages, and of the folders of untrusted kernels.
const STORAGE: &str = "plimsoll-storage-";
const KERNEL: &str = "plimsoll-kernel-";

/// A file or folder that other runs do not remove while this value lives.
pub struct Held<T> {
    found: T,
    _lock: File,
}

impl Held<TempPath> {
    /// A file with these bytes.
    pub fn storage(bytes: &[u8]) -> io::Result<Self> {
        let make = || Builder::new().prefix(STORAGE).tempfile();
        let (mut file, lock) = leftover::held(make, |file| file.as_file().try_clone(), |file| file.path())?;
        file.write_all(bytes)?;
        Ok(Self { found: file.into_temp_path(), _lock: lock })
    }

    pub fn path(&self) -> &Path {
        &self.found
    }
}

impl Held<TempDir> {
    /// A folder for the kernel.
    pub fn folder() -> io::Result<Self> {
        let make = || Builder::new().prefix(KERNEL).tempdir();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = |folder: &TempDir| Ok(File::from(rustix::fs::open(folder.path(), flags, Mode::empty())?));
        let (found, lock) = leftover::held(make, open, TempDir::path)?;
        Ok(Self { found, _lock: lock })
    }

    pub fn path(&self) -> &Path {
        self.found.path()
    }
}

/// Removes the temporary files of runs that were killed.
pub fn clean() {
    clean_in(&std::env::temp_dir());
}

fn clean_in(folder: &Path) {
    [STORAGE, KERNEL].into_iter().for_each(|prefix| leftover::clean(folder, prefix));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_run_left_goes_and_what_a_run_holds_stays() {
        let left = tempfile::tempdir().unwrap();
        let (file, folder) = (left.path().join("plimsoll-storage-a1B2c3"), left.path().join("plimsoll-kernel-a1B2c3"));
        std::fs::write(&file, "half a storage").unwrap();
        std::fs::create_dir_all(folder.join("cache")).unwrap();
        clean_in(left.path());
        assert!(!file.exists() && !folder.exists());

        let held = (Held::storage(b"bytes").unwrap(), Held::folder().unwrap());
        clean();
        assert_eq!(std::fs::read(held.0.path()).unwrap(), b"bytes");
        assert!(held.1.path().is_dir());
        let paths = [held.0.path().to_owned(), held.1.path().to_owned()];
        drop(held);
        assert!(paths.iter().all(|path| !path.exists()));
    }
}
