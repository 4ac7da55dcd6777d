//! [`Store::collect_garbage`]: what no reference leads to is removed.

use std::collections::HashSet;
use std::fs;
use std::io;

use serde::Serialize;

use super::error::StoreError;
use super::object_id::ObjectId;
use super::open::Store;
use super::verified;
use plimsoll_memory::bytes::ByteSize;

/// What was removed, or would be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Garbage {
    /// Objects that no entry needs.
    pub objects: u64,
    /// Files that a writer left behind.
    pub unfinished: u64,
    /// The bytes of both.
    pub bytes: ByteSize,
}

impl Store {
    /// Removes what no entry needs. Nothing is removed where a reference or recipe cannot be read: what it leads to is not
    /// known. Interrupted at any point, it can be run again.
    ///
    /// # Errors
    /// [`StoreError::InUse`] while something is being packed; where a recipe cannot be read, or a file not be removed.
    pub fn collect_garbage(&self) -> Result<Garbage, StoreError> {
        let _lock = self.lock_alone()?;
        let live = self.live()?;
        let mut garbage = Garbage::default();
        for (id, object) in self.all_objects()? {
            let (plain, compressed) = (self.places.object(id), self.places.compressed(id));
            let unwanted = if !live.contains(&id) {
                vec![plain, compressed]
            } else if !object.compressed && compressed.exists() && intact(&object) {
                // One of the two is enough.
                vec![compressed]
            } else {
                Vec::new()
            };
            for path in unwanted {
                if let Some(bytes) = remove(&path).map_err(StoreError::io(&path, "remove it"))? {
                    garbage.objects += 1;
                    garbage.bytes += bytes;
                }
            }
        }
        let incoming = self.places.incoming();
        let fail = || StoreError::io(&incoming, "list it");
        for item in fs::read_dir(&incoming).map_err(fail())? {
            let path = item.map_err(fail())?.path();
            if let Some(bytes) = remove(&path).map_err(StoreError::io(&path, "remove it"))? {
                garbage.unfinished += 1;
                garbage.bytes += bytes;
            }
        }
        Ok(garbage)
    }

    /// The objects that references lead to.
    ///
    /// # Errors
    /// Where a reference or a recipe cannot be read.
    pub(super) fn live(&self) -> Result<HashSet<ObjectId>, StoreError> {
        let mut live = HashSet::new();
        for name in self.entries()? {
            // Its reference may have been removed meanwhile.
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

/// Removes a file, or a folder and all that is in it; gives the bytes of files, `None` where there is none.
fn remove(path: &std::path::Path) -> io::Result<Option<ByteSize>> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !found.is_dir() {
        fs::remove_file(path)?;
        return Ok(Some(ByteSize::new(found.len())));
    }
    // A writer's own, in `tmp/`.
    let mut bytes = ByteSize::ZERO;
    for item in fs::read_dir(path)? {
        bytes += remove(&item?.path())?.unwrap_or_default();
    }
    fs::remove_dir(path)?;
    Ok(Some(bytes))
}
