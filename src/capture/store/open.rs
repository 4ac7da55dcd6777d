//! [`Store`]: a store that is there, or is made.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use serde::Deserialize;

use super::super::error::{CaptureError, PackedError};
use super::error::StoreError;
use super::object_id::ObjectId;
use super::places::Places;
use super::reference;

/// The name and version of the format.
const FORMAT: &str = "plimsoll.store/1";

/// What a store is made of beside its marker: a folder of these alone is one whose making was interrupted.
const PARTS: [&str; 4] = ["captures", "lock", "objects", "tmp"];

/// A store of captures.
///
/// ```
/// use plimsoll_capture::store::{PackOptions, Store};
/// use plimsoll_capture::{Capture, synthesize};
///
/// let dir = tempfile::tempdir()?;
/// let captured = dir.path().join("embedding");
/// synthesize::gemma4_e2b_gb10().scale(1, 1536).write(&captured)?;
/// let store = Store::create(&dir.path().join("store"))?;
/// let packed = store.pack(&captured, &PackOptions::default())?;
/// assert!(packed.errors.is_empty());
/// let capture = Capture::open(store.path())?;
/// assert_eq!(capture.len(), 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Store {
    pub(super) places: Places,
}

/// An entry of a store.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryName {
    /// The capture.
    pub capture: OsString,
    /// The file.
    pub entry: OsString,
}

impl std::fmt::Display for EntryName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.capture.to_string_lossy(), self.entry.to_string_lossy())
    }
}

/// A lock on a store, for as long as it lives.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "closing it releases the lock")] File);

impl Store {
    /// Opens the store at `path`.
    ///
    /// # Errors
    /// Where it is none, or of another format.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let places = Places::new(path);
        if !Places::are_at(path) {
            return Err(StoreError::NoStore { path: path.to_owned() });
        }
        #[derive(Deserialize)]
        struct Marker {
            format: String,
        }
        let marker = places.marker();
        let text = fs::read(&marker).map_err(StoreError::io(&marker, "read it"))?;
        let found = serde_json::from_slice(&text).map_or_else(|_| "none".to_owned(), |marker: Marker| marker.format);
        if found == FORMAT { Ok(Self { places }) } else { Err(StoreError::Format { path: marker, found }) }
    }

    /// Opens the store at `path`, or makes it where there is none.
    ///
    /// # Errors
    /// As [`Store::open`]; where the folder cannot be made, or holds something else.
    pub fn create(path: &Path) -> Result<Self, StoreError> {
        if Places::are_at(path) {
            return Self::open(path);
        }
        fs::create_dir_all(path).map_err(StoreError::io(path, "make it"))?;
        let listed = fs::read_dir(path).and_then(|items| items.collect::<io::Result<Vec<_>>>());
        let listed = listed.map_err(StoreError::io(path, "list it"))?;
        let others = listed.iter().any(|item| !PARTS.iter().any(|part| item.file_name() == OsStr::new(part)));
        // Another process may have made the store meanwhile.
        if others && !Places::are_at(path) {
            return Err(StoreError::NotEmpty { path: path.to_owned() });
        }
        let places = Places::new(path);
        for folder in [places.objects(), places.captures(), places.incoming()] {
            fs::create_dir_all(&folder).map_err(StoreError::io(&folder, "make it"))?;
        }
        let lock = places.lock();
        OpenOptions::new().create(true).append(true).open(&lock).map_err(StoreError::io(&lock, "make it"))?;
        let text = format!("{{\"format\": \"{FORMAT}\"}}\n");
        put(&places.incoming(), &places.marker(), text.as_bytes())?;
        sync_folder(path)?;
        Ok(Self { places })
    }

    /// The folder of the store.
    pub fn path(&self) -> &Path {
        self.places.root()
    }

    /// The names of the captures, in order.
    ///
    /// # Errors
    /// Where the folder cannot be listed.
    pub fn captures(&self) -> Result<Vec<OsString>, StoreError> {
        list(&self.places.captures(), |item| item.path().is_dir())
    }

    /// The names of the entries of `capture`, in order.
    ///
    /// # Errors
    /// Where the folder cannot be listed.
    pub fn entries_of(&self, capture: &OsStr) -> Result<Vec<OsString>, StoreError> {
        list(&self.places.capture(capture), |item| is_entry(&item.file_name()) && item.path().is_file())
    }

    /// All entries, in order.
    ///
    /// # Errors
    /// Where a folder cannot be listed.
    pub fn entries(&self) -> Result<Vec<EntryName>, StoreError> {
        let mut entries = Vec::new();
        for capture in self.captures()? {
            let of = |entry| EntryName { capture: capture.clone(), entry };
            entries.extend(self.entries_of(&capture)?.into_iter().map(of));
        }
        Ok(entries)
    }

    /// The reference of an entry. It can be opened like the file that was packed.
    pub fn reference(&self, name: &EntryName) -> PathBuf {
        self.places.capture(&name.capture).join(&name.entry)
    }

    /// The recipe that an entry refers to; `None` where there is no such entry.
    pub(super) fn recipe_of(&self, name: &EntryName) -> Result<Option<ObjectId>, StoreError> {
        let path = self.reference(name);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(StoreError::io(&path, "read it")(source)),
        };
        let malformed = |found| CaptureError::new(&path.as_path().into(), PackedError::Reference(found));
        Ok(Some(reference::read(&text).map_err(malformed)?))
    }

    /// A lock that any number of writers hold together.
    pub(super) fn lock_to_write(&self) -> Result<Lock, StoreError> {
        self.lock(FlockOperation::LockShared)
    }

    /// A lock that no writer holds.
    pub(super) fn lock_alone(&self) -> Result<Lock, StoreError> {
        match self.lock(FlockOperation::NonBlockingLockExclusive) {
            Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::WouldBlock => {
                Err(StoreError::InUse { path: self.path().to_owned() })
            }
            locked => locked,
        }
    }

    fn lock(&self, operation: FlockOperation) -> Result<Lock, StoreError> {
        let path = self.places.lock();
        let file =
            OpenOptions::new().create(true).append(true).open(&path).map_err(StoreError::io(&path, "open it"))?;
        rustix::fs::flock(&file, operation).map_err(|e| StoreError::io(&path, "lock it")(e.into()))?;
        Ok(Lock(file))
    }
}

/// Whether this is the name of an entry.
pub(super) fn is_entry(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b"entry_") && name.as_bytes().ends_with(b".pt")
}

fn list(folder: &Path, wanted: impl Fn(&fs::DirEntry) -> bool) -> Result<Vec<OsString>, StoreError> {
    let items = fs::read_dir(folder).and_then(|items| {
        let wanted = items.filter(|item| item.as_ref().map_or(true, &wanted));
        wanted.map(|item| item.map(|item| item.file_name())).collect::<io::Result<Vec<_>>>()
    });
    let mut names = items.map_err(StoreError::io(folder, "list it"))?;
    names.sort();
    Ok(names)
}

/// Writes a small file: beside its place, to the disk, and then to its place at once.
pub(super) fn put(incoming: &Path, path: &Path, content: &[u8]) -> Result<(), StoreError> {
    let written = tempfile::NamedTempFile::new_in(incoming).and_then(|mut file| {
        file.write_all(content)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)
    });
    written.map(drop).map_err(StoreError::io(path, "write it"))
}

/// Has the names in a folder written to the disk.
pub(super) fn sync_folder(path: &Path) -> Result<(), StoreError> {
    File::open(path).and_then(|folder| folder.sync_all()).map_err(StoreError::io(path, "write its names to the disk"))
}
