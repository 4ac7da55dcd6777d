//! [`Store::collect_garbage`]: removes whatever no reference leads to.

use std::collections::HashSet;
use std::path::Path;

use serde::Serialize;

use super::error::StoreError;
use super::inside;
use super::object_id::ObjectId;
use super::open::Store;
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
    /// Removes everything that no entry needs. Nothing is removed if a capture, reference or recipe cannot be read, or
    /// if one of them is a symbolic link, because its target is not known. A collection can be interrupted at any point
    /// and run again.
    ///
    /// # Errors
    /// [`StoreError::InUse`] while something is being packed; [`StoreError::Link`]; if something cannot be listed, a recipe
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

    /// The objects that references lead to.
    ///
    /// # Errors
    /// If a reference or a recipe cannot be read.
    pub(super) fn live(&self) -> Result<HashSet<ObjectId>, StoreError> {
        let mut live = HashSet::new();
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
