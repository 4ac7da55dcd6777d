//! [`Batch`]: objects and references that are made durable together, in an order that survives a crash.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use rustix::fs::RenameFlags;
use rustix::io::Errno;

use super::error::StoreError;
use super::incoming::Staged;
use super::inside::Folder;
use super::object::Object;
use super::object_id::ObjectId;
use super::open::{EntryName, Store, put, sync_folder};
use super::reference;

/// Objects and references that do not have their final names yet.
pub struct Batch<'a> {
    store: &'a Store,
    staged: HashMap<ObjectId, Staged>,
    /// The folders of all objects that references of this batch lead to.
    folders: BTreeSet<PathBuf>,
    references: Vec<(EntryName, ObjectId)>,
}

impl<'a> Batch<'a> {
    pub fn new(store: &'a Store) -> Self {
        Self { store, staged: HashMap::new(), folders: BTreeSet::new(), references: Vec::new() }
    }

    /// Whether the object is in the store or in this batch. An object in the store that has another size than `bytes`
    /// is damaged, and counts as missing.
    pub fn has(&self, id: ObjectId, bytes: u64) -> bool {
        self.staged.contains_key(&id) || is_there(self.store, id, bytes)
    }

    /// Adds what an entry needs: its new objects, and the ids of all its objects.
    pub fn add(&mut self, entry: EntryName, recipe: ObjectId, new: Vec<Staged>, all: impl Iterator<Item = ObjectId>) {
        self.folders.extend(all.chain([recipe]).map(|id| self.store.places.object_folder(id)));
        self.staged.extend(new.into_iter().map(|staged| (staged.id, staged)));
        self.references.push((entry, recipe));
    }

    /// Makes everything durable, in this order: objects, their names, references, their names. After a failure, no
    /// reference leads to a missing object.
    ///
    /// # Errors
    /// If the disk is full, read-only or failing.
    pub fn commit(self) -> Result<(), StoreError> {
        let places = &self.store.places;
        let staged: Vec<Staged> = self.staged.into_values().collect();
        let sync = |staged: &Staged| {
            let synced = File::open(&staged.path).and_then(|file| file.sync_all());
            synced.map_err(StoreError::io(&staged.path, "write it to the disk"))
        };
        staged.par_iter().map(sync).collect::<Result<(), _>>()?;
        for staged in staged {
            let folder = places.object_folder(staged.id);
            places.make_folder(&folder)?;
            let (path, bytes) = match staged.compressed {
                Some(bytes) => (places.compressed(staged.id), bytes),
                None => (places.object(staged.id), staged.bytes),
            };
            let named = places.folder(&folder).and_then(|folder| name(staged, &folder, &path, bytes));
            named.map_err(StoreError::io(&path, "name it"))?;
        }
        self.folders.par_iter().map(|folder| sync_folder(places, folder)).collect::<Result<(), _>>()?;
        sync_folder(places, &places.objects())?;

        let captures: BTreeSet<_> = self.references.iter().map(|(name, _)| places.capture(&name.capture)).collect();
        for folder in &captures {
            places.make_folder(folder)?;
        }
        let refer = |(name, recipe): &(EntryName, ObjectId)| {
            let (path, text) = (self.store.reference(name), reference::write(*recipe));
            // One that is there and says the same stays: a store elsewhere is then sent nothing.
            match places.read(&path, reference::BYTES) {
                Ok(there) if there == text.as_bytes() => Ok(()),
                _ => put(places, &path, text.as_bytes()),
            }
        };
        self.references.par_iter().map(refer).collect::<Result<(), _>>()?;
        captures.iter().try_for_each(|folder| sync_folder(places, folder))?;
        sync_folder(places, &places.captures())
    }
}

/// Whether the store has the object, with the right size.
fn is_there(store: &Store, id: ObjectId, bytes: u64) -> bool {
    Object::find(&store.places, id).is_ok_and(|object| object.compressed || object.stored == bytes)
}

/// Gives an object its name. An object already there is the same and stays, so whoever has it mapped keeps that file.
/// One of another size is damaged, and is replaced.
fn name(staged: Staged, folder: &Folder, path: &Path, bytes: u64) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default();
    match folder.take_in(&staged.path, name, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        Err(Errno::EXIST) if folder.size_of(name)? == Some(bytes) => return Ok(()),
        Err(Errno::EXIST) => folder.take_in(&staged.path, name, RenameFlags::empty())?,
        // The file system does not support that flag.
        Err(Errno::INVAL) => match folder.link_in(&staged.path, name) {
            Err(error) if error != Errno::EXIST => return Err(error.into()),
            _ => return Ok(()),
        },
        Err(error) => return Err(error.into()),
    }
    // The file has left its temporary name.
    let _ = staged.path.keep();
    Ok(())
}
