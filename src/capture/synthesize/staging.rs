//! [`Staging`]: a folder that appears completely or not at all.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::super::leftover;
use super::error::SynthesizeError;
use plimsoll_memory::ByteSize;
use plimsoll_memory::bytes::MIB;

/// The name that identifies the hidden folder if it is inside its target.
const INSIDE: &str = "capture";

/// The file that lists the files being moved from the hidden folder to its target: an inode and a name per line.
const MOVING: &str = "moving";

/// The prefix of the name of the hidden folder for `name`.
fn prefix(name: &str) -> String {
    format!(".{name}.plimsoll-")
}

/// A hidden folder in which files are made before they appear in their place. Dropped before [`Staging::commit`], it
/// removes everything; files that a killed process left are removed by the next one that fills the same target.
///
/// If the target is absent, the hidden folder is made beside it and renamed. If the target exists, the hidden folder is
/// made inside it, and its files are moved up: so a mount point, the current folder, or a folder whose owner and mode
/// matter may be filled as well.
pub(super) struct Staging {
    // Dropped before the parents that hold it.
    hidden: TempDir,
    /// A lock that keeps another run from treating the folder as left behind.
    _held: File,
    parents: Parents,
    target: PathBuf,
    target_exists: bool,
}

impl Staging {
    /// Prepares to fill `target` with `bytes` of files.
    pub fn new(target: &Path, bytes: ByteSize) -> Result<Self, SynthesizeError> {
        leftover::clean_after(target, &prefix(INSIDE), |hidden| take_back(hidden, target));
        let target_exists = match fs::read_dir(target) {
            Ok(mut inside) => match inside.next() {
                None => true,
                Some(found) => {
                    let found = found.map(|f| f.file_name().to_string_lossy().into_owned());
                    let found = found.map_err(failed(target, "reading the folder"))?;
                    return Err(SynthesizeError::NotEmpty { path: target.to_owned(), found });
                }
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(failed(target, "reading the folder")(error)),
        };
        let parent = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut parents = Parents::default();
        let (place, name) = if target_exists {
            (target, INSIDE.into())
        } else {
            let name = target.file_name().filter(|_| !target.is_symlink()).ok_or_else(|| {
                failed(target, "naming the folder")(io::Error::other("the path ends in `..`, or is a link to nothing"))
            })?;
            parents.create(parent)?;
            (parent, name.to_string_lossy())
        };
        let prefix = prefix(&name);
        leftover::clean(place, &prefix);
        check_space(place, target, bytes)?;
        let permissions = Permissions::from_mode(0o777);
        let make = || tempfile::Builder::new().prefix(&prefix).permissions(permissions.clone()).tempdir_in(place);
        let held = leftover::held(make, |folder| File::open(folder.path()), |folder| folder.path());
        let (hidden, held) = held.map_err(failed(place, "creating a temporary folder"))?;
        Ok(Self { hidden, _held: held, parents, target: target.to_owned(), target_exists })
    }

    /// The folder to write the files to.
    pub fn path(&self) -> &Path {
        self.hidden.path()
    }

    /// Moves the files with these names to their place.
    pub fn commit<'a>(mut self, names: impl Iterator<Item = &'a str>) -> Result<(), SynthesizeError> {
        if self.target_exists {
            let names: Vec<&str> = names.collect();
            let list = list(self.path(), &names).and_then(|list| fs::write(self.path().join(MOVING), list));
            list.map_err(failed(&self.target, "listing what is moved into the folder"))?;
            let mut moved = Vec::new();
            for name in names {
                let place = self.target.join(name);
                if let Err(error) = fs::rename(self.path().join(name), &place) {
                    // The first error is reported; a file that cannot be removed now has to stay.
                    moved.iter().for_each(|file: &PathBuf| _ = fs::remove_file(file));
                    return Err(failed(&place, "moving the file into its folder")(error));
                }
                moved.push(place);
            }
            return self.hidden.close().map_err(failed(&self.target, "removing the temporary folder"));
        }
        fs::rename(self.path(), &self.target).map_err(failed(&self.target, "renaming the temporary folder"))?;
        // The folder has its name now, and must no longer be removed.
        _ = self.hidden.keep();
        self.parents.made.clear();
        Ok(())
    }
}

/// The content of [`MOVING`] before any of the files is moved.
fn list(hidden: &Path, names: &[&str]) -> io::Result<String> {
    names.iter().map(|name| Ok(format!("{} {name}\n", fs::symlink_metadata(hidden.join(name))?.ino()))).collect()
}

/// Removes the files that a killed run had moved from `hidden` to `target`, and no others with such names.
fn take_back(hidden: &Path, target: &Path) {
    for line in fs::read_to_string(hidden.join(MOVING)).unwrap_or_default().lines() {
        let Some((inode, name)) = line.split_once(' ').filter(|(_, name)| !name.contains('/')) else { continue };
        let path = target.join(name);
        if fs::symlink_metadata(&path).is_ok_and(|found| found.is_file() && found.ino().to_string() == inode) {
            let _ = fs::remove_file(path);
        }
    }
}

/// The parent folders made on the way; dropping this removes the empty ones.
#[derive(Default)]
struct Parents {
    /// The folders, from the outermost to the innermost.
    made: Vec<PathBuf>,
}

impl Parents {
    fn create(&mut self, folder: &Path) -> Result<(), SynthesizeError> {
        let absent = |p: &&Path| !p.as_os_str().is_empty() && !p.exists();
        let missing: Vec<&Path> = folder.ancestors().take_while(absent).collect();
        for parent in missing.into_iter().rev() {
            match fs::create_dir(parent) {
                Ok(()) => self.made.push(parent.to_owned()),
                // Another process made the folder in the meantime, so it stays theirs.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(parent, "creating the folder")(error)),
            }
        }
        Ok(())
    }
}

impl Drop for Parents {
    fn drop(&mut self) {
        for folder in self.made.iter().rev() {
            // A folder that holds something by then is in use, and stays.
            _ = fs::remove_dir(folder);
        }
    }
}

/// Fails if the file system of `place` grants less than `bytes` and a margin for its own records: 1 MiB, and a
/// thousandth.
fn check_space(place: &Path, target: &Path, bytes: ByteSize) -> Result<(), SynthesizeError> {
    let stat = rustix::fs::statvfs(place).map_err(|e| failed(place, "reading the free space")(e.into()))?;
    let available = ByteSize::new(stat.f_bavail.saturating_mul(stat.f_frsize));
    let needed = bytes + ByteSize::new(bytes.bytes() / 1000 + MIB);
    if available < needed {
        return Err(SynthesizeError::TooLittleSpace { path: target.to_owned(), needed, available });
    }
    Ok(())
}

fn failed(path: &Path, doing: &'static str) -> impl Fn(io::Error) -> SynthesizeError {
    move |source| SynthesizeError::Io { path: path.to_owned(), doing, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_run_moved_into_the_folder_goes_and_what_others_put_there_stays() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("target");
        let hidden = target.join(".capture.plimsoll-a1B2c3");
        fs::create_dir_all(&hidden).unwrap();
        let names = ["entry_0.pt", "entry_1.pt", "entry_2.pt"];
        names.iter().for_each(|name| fs::write(hidden.join(name), name).unwrap());
        fs::write(hidden.join(MOVING), list(&hidden, &names).unwrap()).unwrap();
        fs::rename(hidden.join("entry_0.pt"), target.join("entry_0.pt")).unwrap();
        fs::write(target.join("entry_1.pt"), "of somebody else").unwrap();
        let refused = Staging::new(&target, ByteSize::ZERO).map(drop).unwrap_err();
        assert!(matches!(refused, SynthesizeError::NotEmpty { found, .. } if found == "entry_1.pt"));
        assert!(!hidden.exists() && !target.join("entry_0.pt").exists());
        fs::remove_file(target.join("entry_1.pt")).unwrap();
        let staging = Staging::new(&target, ByteSize::ZERO).unwrap();
        fs::write(staging.path().join("entry_0.pt"), "new").unwrap();
        staging.commit(["entry_0.pt"].into_iter()).unwrap();
        let left: Vec<_> = fs::read_dir(&target).unwrap().map(|item| item.unwrap().file_name()).collect();
        assert_eq!(left, ["entry_0.pt"]);
    }
}
