//! Files and folders in a store, opened without following a link.
//!
//! A store may come from a stranger, so a link in it may lead anywhere. The folder of the store itself is reached as
//! the user gave it; every name below it is opened by openat2 with `RESOLVE_BENEATH` and `RESOLVE_NO_SYMLINKS`, or, on
//! a system without that call, one name at a time with `O_NOFOLLOW`.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, ResolveFlags, linkat, mkdirat, openat, openat2,
    renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use tempfile::NamedTempFile;

/// How often a name is looked up again if something else was renamed in the meantime.
const TRIES: usize = 16;

/// A symbolic link found in a store.
#[derive(Debug)]
pub struct Link {
    /// The path of the link.
    pub path: PathBuf,
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is a symbolic link, which is never followed within a store", self.path.display())
    }
}

impl std::error::Error for Link {}

/// The error of a link at `path`.
pub fn link(path: PathBuf) -> io::Error {
    io::Error::other(Link { path })
}

/// Opens the file or folder at `within` in the folder `root`.
///
/// # Errors
/// [`Link`] if a name on the way is a symbolic link; otherwise the system's error.
pub fn open(root: &Path, within: &Path, flags: OFlags) -> io::Result<File> {
    let folder = open_root(root)?;
    // Without O_NONBLOCK, opening a named pipe would wait forever. O_PATH waits for nothing and takes no such flag.
    let wait = if flags.contains(OFlags::PATH) { OFlags::empty() } else { OFlags::NONBLOCK };
    let flags = flags | wait | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let opened = match beneath(&folder, within, flags) {
        Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => stepwise(folder, within, flags),
        opened => opened,
    };
    opened.map(File::from).map_err(|error| explained(root, within, error))
}

fn open_root(root: &Path) -> Result<OwnedFd, Errno> {
    let root = if root.as_os_str().is_empty() { Path::new(".") } else { root };
    openat(CWD, root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// Permissions of a new file: read and write, less the process's mask.
fn mode(flags: OFlags) -> Mode {
    if flags.contains(OFlags::CREATE) { Mode::from_raw_mode(0o666) } else { Mode::empty() }
}

fn beneath(folder: &OwnedFd, within: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let mut opened = Err(Errno::AGAIN);
    for _ in 0..TRIES {
        opened = openat2(folder, within, flags, mode(flags), resolve);
        if !matches!(opened, Err(Errno::AGAIN | Errno::INTR)) {
            break;
        }
    }
    // `O_PATH` opens the link itself.
    opened.and_then(|file| if is_link(&file)? { Err(Errno::LOOP) } else { Ok(file) })
}

/// Opens as `openat2` would, with one call for each name.
fn stepwise(mut folder: OwnedFd, within: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut names = within.components().peekable();
    while let Some(name) = names.next() {
        let Component::Normal(name) = name else { return Err(Errno::XDEV) };
        let flags = match names.peek() {
            Some(_) => OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW,
            None => flags,
        };
        folder = openat(&folder, name, flags, mode(flags))?;
    }
    if is_link(&folder)? { Err(Errno::LOOP) } else { Ok(folder) }
}

fn is_link(file: &OwnedFd) -> Result<bool, Errno> {
    Ok(FileType::from_raw_mode(rustix::fs::fstat(file)?.st_mode) == FileType::Symlink)
}

/// The error of opening `within`, or the link on the way that caused it.
fn explained(root: &Path, within: &Path, error: Errno) -> io::Error {
    if matches!(error, Errno::LOOP | Errno::NOTDIR) {
        let mut path = root.to_owned();
        for name in within.components() {
            path.push(name);
            if path.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
                return link(path);
            }
        }
    }
    error.into()
}

/// Opens a regular file to be read.
///
/// # Errors
/// As [`open`]; also if it is not a regular file.
pub fn open_regular(root: &Path, within: &Path) -> io::Result<File> {
    let file = open(root, within, OFlags::RDONLY)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("not a regular file")) }
}

/// The metadata of the file at `within`, which need not be readable; `None` if there is none.
///
/// # Errors
/// As [`open`], except if the file does not exist.
pub fn metadata(root: &Path, within: &Path) -> io::Result<Option<std::fs::Metadata>> {
    match open(root, within, OFlags::PATH) {
        Ok(file) => file.metadata().map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// A folder in a store.
#[derive(Debug)]
pub struct Folder {
    folder: File,
    path: PathBuf,
}

/// A name in a folder, and the kind of file that it names.
#[derive(Debug)]
pub struct Item {
    pub name: OsString,
    kind: FileType,
}

impl Item {
    /// Whether the item is a folder.
    pub fn is_folder(&self) -> bool {
        self.kind == FileType::Directory
    }

    /// Whether the item is a regular file.
    pub fn is_file(&self) -> bool {
        self.kind == FileType::RegularFile
    }

    /// Whether the item is a symbolic link.
    pub fn is_link(&self) -> bool {
        self.kind == FileType::Symlink
    }
}

impl Folder {
    /// The folder at `within`.
    ///
    /// # Errors
    /// As [`open`]; also if it is not a folder.
    pub fn open(root: &Path, within: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let folder = match within.as_os_str().is_empty() {
            true => File::from(openat(CWD, root, flags | OFlags::CLOEXEC, Mode::empty())?),
            false => open(root, within, flags)?,
        };
        Ok(Self { folder, path: root.join(within) })
    }

    /// Makes a file in the folder with a name that is not taken, which is removed when it is dropped.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn temporary(&self, prefix: &str, mode: u32) -> io::Result<NamedTempFile<File>> {
        // The name is made beneath this folder, even if something else is at its path by now.
        tempfile::Builder::new().prefix(prefix).make_in(&self.path, |path| {
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let name = path.file_name().unwrap_or_default();
            Ok(File::from(openat(&self.folder, name, flags, Mode::from_raw_mode(mode))?))
        })
    }

    /// Gives the file at `from` the name `name` in this folder.
    ///
    /// # Errors
    /// The system's error; with `NOREPLACE` also if the name is taken.
    pub fn take_in(&self, from: &Path, name: &OsStr, flags: RenameFlags) -> Result<(), Errno> {
        renameat_with(CWD, from, &self.folder, name, flags)
    }

    /// Gives the file at `from` the name `name` in this folder as well.
    ///
    /// # Errors
    /// The system's error; also if the name is taken.
    pub fn link_in(&self, from: &Path, name: &OsStr) -> Result<(), Errno> {
        linkat(CWD, from, &self.folder, name, AtFlags::empty())
    }

    /// The size of the regular file `name`; `None` for anything else.
    ///
    /// # Errors
    /// The system's error.
    pub fn size_of(&self, name: &OsStr) -> Result<Option<u64>, Errno> {
        let found = statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
        Ok(u64::try_from(found.st_size).ok().filter(|_| is_file))
    }

    /// Syncs the names in the folder to the disk.
    ///
    /// # Errors
    /// The system's error.
    pub fn sync(&self) -> io::Result<()> {
        self.folder.sync_all()
    }

    /// Opens the folder at `within`, and makes it if there is none.
    ///
    /// # Errors
    /// As [`Folder::open`]; also if it cannot be made.
    pub fn make(root: &Path, within: &Path) -> io::Result<Self> {
        let parent = match within.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => {
                open(root, parent, OFlags::PATH | OFlags::DIRECTORY)?.into()
            }
            _ => open_root(root)?,
        };
        match mkdirat(&parent, within.file_name().unwrap_or_default(), Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => Self::open(root, within),
            Err(error) => Err(error.into()),
        }
    }

    /// The path of `name` in this folder.
    pub fn path_of(&self, name: &OsStr) -> PathBuf {
        self.path.join(name)
    }

    /// Every item of the folder, in order of the names.
    ///
    /// # Errors
    /// If the folder cannot be listed, or an item's metadata cannot be read.
    pub fn items(&self) -> io::Result<Vec<Item>> {
        let mut items = Vec::new();
        for item in Dir::read_from(&self.folder)? {
            let item = item?;
            let name = OsStr::from_bytes(item.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let kind = match item.file_type() {
                // The file system does not report the type along with the name.
                FileType::Unknown => match statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(found) => FileType::from_raw_mode(found.st_mode),
                    Err(Errno::NOENT) => continue,
                    Err(error) => return Err(error.into()),
                },
                kind => kind,
            };
            items.push(Item { name: name.to_owned(), kind });
        }
        items.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(items)
    }

    /// The names that are `wanted`, in order. A wanted link is refused, because it might lead to anything.
    ///
    /// # Errors
    /// As [`Folder::items`]; also [`Link`].
    pub fn names(
        &self,
        wanted: impl Fn(&Item) -> bool,
        might_be: impl Fn(&OsStr) -> bool,
    ) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for item in self.items()? {
            if item.is_link() && might_be(&item.name) {
                return Err(link(self.path_of(&item.name)));
            }
            if wanted(&item) {
                names.push(item.name);
            }
        }
        Ok(names)
    }

    /// Removes a file, or a link itself, and returns its size in bytes, or `None` if there is none.
    ///
    /// # Errors
    /// The system's error.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<Option<u64>> {
        match statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => {
                unlinkat(&self.folder, name, AtFlags::empty())?;
                Ok(Some(u64::try_from(found.st_size).unwrap_or_default()))
            }
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a file, a link itself, or a folder with everything in it, and returns the bytes of the files, or `None`
    /// if there is none.
    ///
    /// # Errors
    /// The system's error; also if folders are nested more than `depth` deep.
    pub fn remove(&self, item: &Item, depth: usize) -> io::Result<Option<u64>> {
        if !item.is_folder() {
            return self.remove_file(&item.name);
        }
        let depth = depth.checked_sub(1).ok_or_else(|| io::Error::other("the folders in it are nested too deeply"))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = match openat(&self.folder, &item.name, flags, Mode::empty()) {
            Ok(folder) => Self { folder: folder.into(), path: self.path_of(&item.name) },
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut bytes = 0;
        for item in folder.items()? {
            bytes += folder.remove(&item, depth)?.unwrap_or_default();
        }
        unlinkat(&self.folder, &item.name, AtFlags::REMOVEDIR)?;
        Ok(Some(bytes))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_is_made_in_a_folder_lies_in_it_whatever_takes_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let (root, victim) = (dir.path().join("root"), dir.path().join("victim"));
        fs::create_dir_all(root.join("objects")).unwrap();
        fs::create_dir(&victim).unwrap();
        let folder = Folder::open(&root, Path::new("objects")).unwrap();
        fs::write(dir.path().join("staged"), "content").unwrap();
        fs::rename(root.join("objects"), root.join("moved")).unwrap();
        symlink(&victim, root.join("objects")).unwrap();
        let temporary = folder.temporary("object-", 0o444).unwrap();
        let name = temporary.path().file_name().unwrap().to_owned();
        folder.take_in(&dir.path().join("staged"), OsStr::new("named"), RenameFlags::NOREPLACE).unwrap();
        assert_eq!(folder.size_of(OsStr::new("named")).unwrap(), Some(7));
        assert!(root.join("moved").join(&name).exists() && root.join("moved/named").exists());
        assert_eq!(fs::read_dir(&victim).unwrap().count(), 0);
    }

    #[test]
    fn links_are_refused_on_the_way_and_at_the_end_with_and_without_openat2() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/file"), "inside").unwrap();
        fs::write(dir.path().join("file"), "outside").unwrap();
        symlink("a", root.join("to-a")).unwrap();
        symlink("file", root.join("a/b/to-file")).unwrap();
        symlink("/nowhere", root.join("dangling")).unwrap();
        type Way = fn(OwnedFd, &Path, OFlags) -> Result<OwnedFd, Errno>;
        let ways: [Way; 2] = [|folder, within, flags| beneath(&folder, within, flags), stepwise];
        for way in ways {
            for flags in [OFlags::RDONLY | OFlags::NOFOLLOW, OFlags::PATH | OFlags::NOFOLLOW] {
                let open = |within: &str| way(open_root(&root).unwrap(), Path::new(within), flags);
                assert!(open("a/b/file").is_ok());
                assert_eq!(open("a/b/none").unwrap_err(), Errno::NOENT);
                for within in ["to-a/b/file", "a/b/to-file", "dangling", "to-a"] {
                    let error = open(within).unwrap_err();
                    assert!(matches!(error, Errno::LOOP | Errno::NOTDIR), "{within} {error}");
                    let error = explained(&root, Path::new(within), error);
                    assert!(error.get_ref().is_some_and(|e| e.is::<Link>()), "{within} {error}");
                }
                assert_eq!(open("../file").unwrap_err(), Errno::XDEV);
            }
        }
        assert!(
            open(&root.join("to-a"), Path::new("b/file"), OFlags::RDONLY).is_ok(),
            "the root is the user's own path"
        );
    }
}
