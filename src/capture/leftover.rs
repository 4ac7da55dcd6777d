//! Leftovers of a killed command: hidden files and folders that no process holds any more.
//!
//! A process that makes such a file holds a lock (flock(2)) on it until it has its final name or is removed; the system
//! releases the lock when the process ends. The next run of the same command removes everything that it can lock.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;

/// The characters that a temporary name has after its prefix.
const RANDOM: usize = 6;

/// How often a name is tried again when another process removes it.
const TRIES: usize = 16;

/// Creates something with `make` and holds a lock on it while the returned file, opened by `open`, lives.
///
/// # Errors
/// The errors of `make` and `open`; also if the new file is removed again and again.
pub fn held<T>(
    make: impl Fn() -> io::Result<T>,
    open: impl Fn(&T) -> io::Result<File>,
    path: impl Fn(&T) -> &Path,
) -> io::Result<(T, File)> {
    for _ in 0..TRIES {
        let made = make()?;
        let Ok(file) = open(&made) else { continue };
        if hold(&file, path(&made))? {
            return Ok((made, file));
        }
    }
    Err(io::Error::other("another process removes the new file again and again"))
}

/// Locks `file`, and returns whether it still has its name.
fn hold(file: &File, path: &Path) -> io::Result<bool> {
    match flock(file, FlockOperation::LockExclusive) {
        // On a file system without locks, nobody can mistake it for a leftover.
        Ok(()) | Err(Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {}
        Err(error) => return Err(error.into()),
    }
    let found = file.metadata()?;
    let named = fs::symlink_metadata(path);
    Ok(named.is_ok_and(|named| (named.dev(), named.ino()) == (found.dev(), found.ino())))
}

/// Removes everything in `folder` whose name is `prefix` plus six letters or digits, if it belongs to this user and
/// nobody holds it. Files that cannot be removed stay.
pub fn clean(folder: &Path, prefix: &str) {
    clean_after(folder, prefix, |_| ());
}

/// Cleans as [`clean`] does, and calls `undo` with each path before it is removed, while it is held.
pub(super) fn clean_after(folder: &Path, prefix: &str, undo: impl Fn(&Path)) {
    let is_temporary = |name: &str| {
        let random = name.strip_prefix(prefix);
        random.is_some_and(|random| random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric()))
    };
    for item in fs::read_dir(folder).into_iter().flatten().flatten() {
        if item.file_name().to_str().is_some_and(is_temporary) {
            let _ = remove(&item.path(), &undo);
        }
    }
}

fn remove(path: &Path, undo: &impl Fn(&Path)) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let found = file.metadata()?;
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    undo(path);
    if found.is_dir() {
        fs::remove_dir_all(path)
    } else if found.is_file() {
        fs::remove_file(path)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_nobody_holds_is_removed_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at(".plimsoll-abc123"), "left").unwrap();
        fs::create_dir_all(at(".plimsoll-ABCdef/deep")).unwrap();
        let others = [".plimsoll-abc12", ".plimsoll-abc1234", ".plimsoll-abc-23", "x.plimsoll-abc123", "entry_0.pt"];
        others.iter().for_each(|name| fs::write(at(name), "mine").unwrap());
        symlink(at("entry_0.pt"), at(".plimsoll-linked")).unwrap();
        let make = || tempfile::Builder::new().prefix(".plimsoll-").tempfile_in(dir.path());
        let (file, lock) = held(make, |file| file.reopen(), |file| file.path()).unwrap();
        clean(dir.path(), ".plimsoll-");
        assert!(!at(".plimsoll-abc123").exists() && !at(".plimsoll-ABCdef").exists());
        assert!(others.iter().all(|name| at(name).exists()) && at(".plimsoll-linked").is_symlink());
        assert!(file.path().exists(), "somebody writes to it");
        drop(lock);
        clean(dir.path(), ".plimsoll-");
        assert!(!file.path().exists());
        clean(&at("none"), ".plimsoll-");
    }

    #[test]
    fn a_file_that_is_removed_before_it_was_held_is_made_again() {
        let dir = tempfile::tempdir().unwrap();
        let made = std::cell::Cell::new(0);
        let make = || {
            made.set(made.get() + 1);
            tempfile::Builder::new().prefix(".plimsoll-").tempfile_in(dir.path())
        };
        let open = |file: &tempfile::NamedTempFile| {
            let opened = file.reopen();
            if made.get() < 3 {
                clean(dir.path(), ".plimsoll-");
            }
            opened
        };
        let (file, _lock) = held(make, open, |file| file.path()).unwrap();
        assert!(made.get() == 3 && file.path().exists());
    }
}
