//! [`Store::collect_garbage`]: removes whatever no reference leads to.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::Path;

use serde::Serialize;

use super::error::StoreError;
use super::inside::{self, Item};
use super::object_id::ObjectId;
use super::open::{self, Store};
use super::verified;
use plimsoll_memory::bytes::ByteSize;

/// The deepest nesting of folders in `tmp`. No writer leaves more than one level.
const DEEPEST_FOLDER: usize = 32;

/// The garbage that was removed, or that would be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Garbage {
    /// Objects that no entry needs.
    pub objects: u64,
    /// Files that a writer left behind.
    pub unfinished: u64,
    /// The bytes of both together.
    pub bytes: ByteSize,
}

impl Store {
    /// Removes everything that no entry needs. Nothing is removed if a capture, reference or recipe cannot be read, if
    /// one of them is a symbolic link, because its target is not known, or if a capture holds a folder, or something
    /// else than a file by the name of an entry. A collection can be interrupted at any point and run again.
    ///
    /// # Errors
    /// [`StoreError::InUse`] while something is being packed; [`StoreError::Link`]; [`StoreError::Hidden`]; if something cannot be listed, a recipe
    /// cannot be read, or a file cannot be removed.
    pub fn collect_garbage(&self) -> Result<Garbage, StoreError> {
        let _lock = self.lock_alone()?;
        let live = self.live()?;
        let objects = self.all_objects()?;
        let tmp = self.places.incoming();
        let incoming = self.places.folder(&tmp).map_err(StoreError::io(&tmp, "open it"))?;
        let left = incoming.items().map_err(StoreError::io(&tmp, "list it"))?;
        // Nothing is removed before everything has been seen.
        let mut garbage = Garbage::default();
        for (id, object) in objects {
            let (plain, compressed) = (self.places.object(id), self.places.compressed(id));
            let unwanted = if !live.contains(&id) {
                vec![plain, compressed]
            } else if !object.compressed && self.is_there(&compressed)? && intact(&object) {
                // One of the two copies is enough.
                vec![compressed]
            } else {
                Vec::new()
            };
            for path in unwanted {
                let folder = self.places.folder(&self.places.object_folder(id));
                let removed = folder.and_then(|folder| folder.remove_file(path.file_name().unwrap_or_default()));
                if let Some(bytes) = removed.map_err(StoreError::io(&path, "remove it"))? {
                    garbage.objects += 1;
                    garbage.bytes += ByteSize::new(bytes);
                }
            }
        }
        for item in left {
            let removed = incoming.remove(&item, DEEPEST_FOLDER);
            if let Some(bytes) = removed.map_err(StoreError::io(&incoming.path_of(&item.name), "remove it"))? {
                garbage.unfinished += 1;
                garbage.bytes += ByteSize::new(bytes);
            }
        }
        Ok(garbage)
    }

    fn is_there(&self, path: &Path) -> Result<bool, StoreError> {
        let found = inside::metadata(self.path(), self.places.within(path));
        Ok(found.map_err(StoreError::io(path, "read its metadata"))?.is_some())
    }

    /// Refuses a capture in which entries may be hidden: in a folder of their own, or behind something that has the name
    /// of an entry and is not a file.
    fn refuse_hidden(&self, capture: &OsStr) -> Result<(), StoreError> {
        let hides = |item: &Item| item.is_folder() || open::is_entry(&item.name) && !item.is_file();
        match self.names_in(&self.places.capture(capture), hides, open::is_entry)?.first() {
            Some(name) => Err(StoreError::Hidden { path: self.places.capture(capture).join(name) }),
            None => Ok(()),
        }
    }

    /// The objects that references lead to.
    ///
    /// # Errors
    /// If a reference or a recipe cannot be read, or may be hidden.
    fn live(&self) -> Result<HashSet<ObjectId>, StoreError> {
        let mut live = HashSet::new();
        for capture in self.captures()? {
            self.refuse_hidden(&capture)?;
        }
        for name in self.entries()? {
            // The reference may have been removed in the meantime.
            if let Some((id, recipe)) = self.read_recipe(&name)? {
                live.extend(recipe.objects().chain([id]));
            }
        }
        Ok(live)
    }
}

fn intact(object: &super::object::Object) -> bool {
    verified::digest(object).and_then(|actual| object.compare(actual)).is_ok()
}
