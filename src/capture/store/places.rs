//! [`Places`]: the paths of a store.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::super::origin;
use super::error::StoreError;
use super::inside::{self, Folder};
use super::object_id::ObjectId;

/// The marker file that makes a folder a store.
const MARKER: &str = "plimsoll-store.json";

/// The folder of the captures within the store.
const CAPTURES: &str = "captures";

/// The paths of a store, all from its root.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Places {
    root: PathBuf,
}

impl Places {
    /// The paths of the store at `root`.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Whether the folder `root` is a store.
    ///
    /// # Errors
    /// If this cannot be determined: the marker's metadata cannot be read, or it is a link.
    pub fn are_at(root: &Path) -> io::Result<bool> {
        match inside::metadata(root, Path::new(MARKER)) {
            Ok(found) => Ok(found.is_some_and(|found| found.is_file())),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The paths of the store that holds the reference at `path`, if one does.
    pub fn of_reference(path: &Path) -> Option<Self> {
        Self::of_capture(path.canonicalize().ok()?.parent()?)
    }

    /// The paths of the store that the folder `path` is a capture of, if it is one.
    pub fn of_capture(path: &Path) -> Option<Self> {
        let path = path.canonicalize().ok()?;
        let captures = path.parent()?;
        let root = captures.parent()?;
        let is_store =
            captures.file_name() == Some(OsStr::new(CAPTURES)) && Self::are_at(root).is_ok_and(|there| there);
        is_store.then(|| Self::new(root))
    }

    /// The paths of the store that has an object at `path`.
    pub fn of_object(path: &Path) -> Option<Self> {
        path.ancestors().nth(3).map(Self::new)
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Opens a folder of this store, by its path.
    ///
    /// # Errors
    /// If it cannot be opened, or there is a link on the way.
    pub fn folder(&self, path: &Path) -> io::Result<Folder> {
        Folder::open(&self.root, self.within(path))
    }

    /// Makes a folder of this store if there is none.
    ///
    /// # Errors
    /// As [`Places::folder`]; also if it cannot be made.
    pub fn make_folder(&self, path: &Path) -> Result<(), StoreError> {
        Folder::make(&self.root, self.within(path)).map(drop).map_err(StoreError::io(path, "make it"))
    }

    /// The content of a small file of this store, by its path, cut one byte after `limit`.
    ///
    /// # Errors
    /// If it cannot be read, is not a regular file, or there is a link on the way.
    pub fn read(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        let file = inside::open_regular(&self.root, self.within(path))?;
        origin::fetch_whole(path, file.metadata()?.len().min(limit + 1))?;
        file.take(limit + 1).read_to_end(&mut content)?;
        Ok(content)
    }

    /// The path within the store's folder of `path`, a path of this store.
    pub fn within<'p>(&self, path: &'p Path) -> &'p Path {
        path.strip_prefix(&self.root).unwrap_or(path)
    }

    pub fn marker(&self) -> PathBuf {
        self.root.join(MARKER)
    }

    pub fn lock(&self) -> PathBuf {
        self.root.join("lock")
    }

    pub fn incoming(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// The file that records verified objects.
    pub fn verified(&self) -> PathBuf {
        self.root.join("verified-1")
    }

    pub fn captures(&self) -> PathBuf {
        self.root.join(CAPTURES)
    }

    /// The folder of the references of a capture.
    pub fn capture(&self, name: &OsStr) -> PathBuf {
        self.captures().join(name)
    }

    pub fn objects(&self) -> PathBuf {
        self.root.join("objects")
    }

    /// The folder of an object.
    pub fn object_folder(&self, id: ObjectId) -> PathBuf {
        self.objects().join(format!("{:02x}", id.bytes()[0]))
    }

    /// The path of an object that is not compressed.
    pub fn object(&self, id: ObjectId) -> PathBuf {
        self.object_folder(id).join(id.to_string())
    }

    /// The path of an object that is compressed.
    pub fn compressed(&self, id: ObjectId) -> PathBuf {
        self.object_folder(id).join(format!("{id}.zst"))
    }
}
