//! [`Places`]: where everything of a store lies.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::object_id::ObjectId;

/// The file that makes a folder a store.
const MARKER: &str = "plimsoll-store.json";

/// The folder of the captures, in the store.
const CAPTURES: &str = "captures";

/// The paths of a store.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Places {
    root: PathBuf,
}

impl Places {
    /// Those of the store at `root`.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Whether the folder `root` is a store.
    pub fn are_at(root: &Path) -> bool {
        root.join(MARKER).is_file()
    }

    /// Those of the store that the reference at `path` lies in, where it lies in one.
    pub fn of_reference(path: &Path) -> Option<Self> {
        Self::of_capture(path.canonicalize().ok()?.parent()?)
    }

    /// Those of the store that the folder `path` is a capture of, where it is one.
    pub fn of_capture(path: &Path) -> Option<Self> {
        let path = path.canonicalize().ok()?;
        let captures = path.parent()?;
        let root = captures.parent()?;
        (captures.file_name() == Some(OsStr::new(CAPTURES)) && Self::are_at(root)).then(|| Self::new(root))
    }

    /// Those of the store that has an object at `path`.
    pub fn of_object(path: &Path) -> Option<Self> {
        path.ancestors().nth(3).map(Self::new)
    }

    pub fn root(&self) -> &Path {
        &self.root
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

    /// What was verified.
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

    /// The folder that an object lies in.
    pub fn object_folder(&self, id: ObjectId) -> PathBuf {
        self.objects().join(format!("{:02x}", id.bytes()[0]))
    }

    /// An object as it is.
    pub fn object(&self, id: ObjectId) -> PathBuf {
        self.object_folder(id).join(id.to_string())
    }

    /// An object, compressed.
    pub fn compressed(&self, id: ObjectId) -> PathBuf {
        self.object_folder(id).join(format!("{id}.zst"))
    }
}
