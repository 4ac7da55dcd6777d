//! [`Store`]: a store that exists, or is made.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, RenameFlags};
use serde::Deserialize;

use super::super::error::{CaptureError, PackedError};
use super::error::StoreError;
use super::inside::{self, Item};
use super::object_id::ObjectId;
use super::places::Places;
use super::reference;

/// The name and version of the format.
const FORMAT: &str = "plimsoll.store/1";

/// The longest marker file that is read, in bytes.
const MARKER_BYTES: u64 = 4096;

/// The parts of a store besides its marker: a folder with only these is a store whose creation was interrupted.
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
    /// The name of the capture.
    pub capture: OsString,
    /// The name of the file.
    pub entry: OsString,
}

impl std::fmt::Display for EntryName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.capture.to_string_lossy(), self.entry.to_string_lossy())
    }
}

/// A lock on a store, held until it is dropped.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "closing it releases the lock")] File);

impl Store {
    /// Opens the store at `path`.
    ///
    /// # Errors
    /// If the folder is not a store, or has another format.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let places = Places::new(path);
        if !is_store(path)? {
            return Err(StoreError::NoStore { path: path.to_owned() });
        }
        #[derive(Deserialize)]
        struct Marker {
            format: String,
        }
        let marker = places.marker();
        let text = places.read(&marker, MARKER_BYTES).map_err(StoreError::io(&marker, "read it"))?;
        let found = serde_json::from_slice(&text).map_or_else(|_| "none".to_owned(), |marker: Marker| marker.format);
        if found == FORMAT { Ok(Self { places }) } else { Err(StoreError::Format { path: marker, found }) }
    }

    /// Opens the store at `path`, or makes one if there is none.
    ///
    /// # Errors
    /// As [`Store::open`]; also if the folder cannot be made, or holds other files.
    pub fn create(path: &Path) -> Result<Self, StoreError> {
        if is_store(path)? {
            return Self::open(path);
        }
        fs::create_dir_all(path).map_err(StoreError::io(path, "make it"))?;
        let listed = fs::read_dir(path).and_then(|items| items.collect::<io::Result<Vec<_>>>());
        let listed = listed.map_err(StoreError::io(path, "list it"))?;
        let others = listed.iter().any(|item| !PARTS.iter().any(|part| item.file_name() == OsStr::new(part)));
        // Another process may have made the store in the meantime.
        if others && !is_store(path)? {
            return Err(StoreError::NotEmpty { path: path.to_owned() });
        }
        let places = Places::new(path);
        for folder in [places.objects(), places.captures(), places.incoming()] {
            places.make_folder(&folder)?;
        }
        open_lock(&places)?;
        let text = format!("{{\"format\": \"{FORMAT}\"}}\n");
        put(&places, &places.marker(), text.as_bytes())?;
        sync_folder(&places, path)?;
        Ok(Self { places })
    }

    /// The folder of the store.
    pub fn path(&self) -> &Path {
        self.places.root()
    }

    /// The names of the captures, in order.
    ///
    /// # Errors
    /// If the folder cannot be listed, or has a symbolic link, which might lead to a capture.
    pub fn captures(&self) -> Result<Vec<OsString>, StoreError> {
        self.names_in(&self.places.captures(), Item::is_folder, |_| true)
    }

    /// The names of the entries of `capture`, in order.
    ///
    /// # Errors
    /// If the folder cannot be listed, or an entry is a symbolic link.
    pub fn entries_of(&self, capture: &OsStr) -> Result<Vec<OsString>, StoreError> {
        self.names_in(&self.places.capture(capture), |item| is_entry(&item.name) && item.is_file(), is_entry)
    }

    /// All entries, in order.
    ///
    /// # Errors
    /// If a folder cannot be listed.
    pub fn entries(&self) -> Result<Vec<EntryName>, StoreError> {
        let mut entries = Vec::new();
        for capture in self.captures()? {
            let of = |entry| EntryName { capture: capture.clone(), entry };
            entries.extend(self.entries_of(&capture)?.into_iter().map(of));
        }
        Ok(entries)
    }

    /// The path of an entry's reference, which can be opened like the file that was packed.
    pub fn reference(&self, name: &EntryName) -> PathBuf {
        self.places.capture(&name.capture).join(&name.entry)
    }

    /// The recipe that an entry refers to; `None` if there is no such entry.
    pub(super) fn recipe_of(&self, name: &EntryName) -> Result<Option<ObjectId>, StoreError> {
        let path = self.reference(name);
        let text = match self.places.read(&path, reference::BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(StoreError::io(&path, "read it")(source)),
        };
        let malformed = |found| CaptureError::new(&path.as_path().into(), PackedError::Reference(found));
        Ok(Some(reference::read(&text).map_err(malformed)?))
    }

    /// Takes the lock that any number of writers can hold together.
    pub(super) fn lock_to_write(&self) -> Result<Lock, StoreError> {
        let lock = self.lock(FlockOperation::LockShared)?;
        // Links are refused before any work is done: no folder that is written to may be a link.
        for folder in [self.places.objects(), self.places.captures(), self.places.incoming()] {
            self.places.folder(&folder).map_err(StoreError::io(&folder, "open it"))?;
        }
        Ok(lock)
    }

    /// Takes the lock that excludes all writers.
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
        let file = open_lock(&self.places)?;
        rustix::fs::flock(&file, operation).map_err(|e| StoreError::io(&path, "lock it")(e.into()))?;
        Ok(Lock(file))
    }

    /// The names in a folder of the store that are `wanted`, in order. A link that `might_be` wanted is refused: its
    /// target is unknown, or elsewhere.
    pub(super) fn names_in(
        &self,
        folder: &Path,
        wanted: impl Fn(&Item) -> bool,
        might_be: impl Fn(&OsStr) -> bool,
    ) -> Result<Vec<OsString>, StoreError> {
        let names = self.places.folder(folder).and_then(|folder| folder.names(wanted, might_be));
        names.map_err(StoreError::io(folder, "list it"))
    }
}

/// Whether `name` is the name of an entry.
pub(super) fn is_entry(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b"entry_") && name.as_bytes().ends_with(b".pt")
}

fn is_store(path: &Path) -> Result<bool, StoreError> {
    Places::are_at(path).map_err(StoreError::io(path, "read its metadata"))
}

/// Opens the lock file, and makes it if there is none.
fn open_lock(places: &Places) -> Result<File, StoreError> {
    let path = places.lock();
    let opened = inside::open(places.root(), places.within(&path), OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE);
    opened.map_err(StoreError::io(&path, "open it"))
}

/// Writes a small file of a store beside its final place, syncs it to the disk, and then renames it in one step.
pub(super) fn put(places: &Places, path: &Path, content: &[u8]) -> Result<(), StoreError> {
    let write = || {
        let folder = places.folder(path.parent().unwrap_or(places.root()))?;
        let mut file = places.folder(&places.incoming())?.temporary(".put-", 0o666)?;
        file.write_all(content)?;
        file.as_file().sync_all()?;
        folder.take_in(file.path(), path.file_name().unwrap_or_default(), RenameFlags::empty())?;
        // The file has left its temporary name.
        let _ = file.into_temp_path().keep();
        Ok(())
    };
    write().map_err(StoreError::io(path, "write it"))
}

/// Syncs the names in a folder of a store to the disk.
pub(super) fn sync_folder(places: &Places, path: &Path) -> Result<(), StoreError> {
    places.folder(path).and_then(|folder| folder.sync()).map_err(StoreError::io(path, "write its names to the disk"))
}
