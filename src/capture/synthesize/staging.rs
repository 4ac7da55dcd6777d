//! [`Staging`]: a folder that appears whole or not at all.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::super::leftover;
use super::error::SynthesizeError;
use plimsoll_memory::ByteSize;
use plimsoll_memory::bytes::MIB;

/// The name by which the hidden folder is known if it stands in its target.
const INSIDE: &str = "capture";

/// The list of the files that are being moved from the hidden folder to its target: an inode and a name a line.
const MOVING: &str = "moving";

/// What the name of the hidden folder of `name` begins with.
fn prefix(name: &str) -> String {
    format!(".{name}.plimsoll-")
}

/// A hidden folder in which files are made before they appear in their place. Dropped before [`Staging::commit`], it
/// removes everything; what a process that was killed left is removed by the next that fills the same target.
///
/// Where the target is absent, the hidden folder stands beside it and is renamed. Where the target exists, it stands
/// inside, and its files are moved up: so a mount point, the current folder, or a folder whose owner and mode matter may
/// be filled as well.
pub(super) struct Staging {
    // Dropped before the parents in which it stands.
    hidden: TempDir,
    /// Keeps another run from taking it for left behind.
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

    /// Where to write the files.
    pub fn path(&self) -> &Path {
        self.hidden.path()
    }

    /// Puts the files, of these names, in their place.
    pub fn commit<'a>(mut self, names: impl Iterator<Item = &'a str>) -> Result<(), SynthesizeError> {
        if self.target_exists {
            let names: Vec<&str> = names.collect();
            let list = list(self.path(), &names).and_then(|list| fs::write(self.path().join(MOVING), list));
            list.map_err(failed(&self.target, "listing what is moved into the folder"))?;
            let mut moved = Vec::new();
            for name in names {
                let place = self.target.join(name);
                if let Err(error) = fs::rename(self.path().join(name), &place) {
                    // The error to report is the first one; what cannot be removed now, nothing here can.
                    moved.iter().for_each(|file: &PathBuf| _ = fs::remove_file(file));
                    return Err(failed(&place, "moving the file into its folder")(error));
                }
                moved.push(place);
            }
            return self.hidden.close().map_err(failed(&self.target, "removing the temporary folder"));
        }
        fs::rename(self.path(), &self.target).map_err(failed(&self.target, "renaming the temporary folder"))?;
        // The folder has its name now, and is no longer to be removed.
        _ = self.hidden.keep();
        self.parents.made.clear();
        Ok(())
    }
}

/// What [`MOVING`] holds before any of the files is moved.
fn list(hidden: &Path, names: &[&str]) -> io::Result<String> {
    names.iter().map(|name| Ok(format!("{} {name}\n", fs::symlink_metadata(hidden.join(name))?.ino()))).collect()
}

/// Removes the files that a run which was killed had moved from `hidden` to `target`, and no other of such a name.
fn take_back(hidden: &Path, target: &Path) {
    for line in fs::read_to_string(hidden.join(MOVING)).unwrap_or_default().lines() {
        let Some((inode, name)) = line.split_once(' ').filter(|(_, name)| !name.contains('/')) else { continue };
        let path = target.join(name);
        if fs::symlink_metadata(&path).is_ok_and(|found| found.is_file() && found.ino().to_string() == inode) {
            let _ = fs::remove_file(path);
        }
    }
}

/// The parent folders made on the way. Dropped, it removes those that are empty.
#[derive(Default)]
struct Parents {
    /// From the outermost to the innermost.
    made: Vec<PathBuf>,
}

impl Parents {
    fn create(&mut self, folder: &Path) -> Result<(), SynthesizeError> {
        let absent = |p: &&Path| !p.as_os_str().is_empty() && !p.exists();
        let missing: Vec<&Path> = folder.ancestors().take_while(absent).collect();
        for parent in missing.into_iter().rev() {
            match fs::create_dir(parent) {
                Ok(()) => self.made.push(parent.to_owned()),
                // Someone else made it meanwhile: then it is theirs.
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
            // A folder that holds something by now is in use, and stays.
            _ = fs::remove_dir(folder);
        }
    }
}

/// Refuses where the file system of `place` grants less than `bytes` and a margin for its own records: 1 MiB, and a
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
