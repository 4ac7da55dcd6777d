//! [`Store::survey`]: what a store holds, and how much it saves.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use super::error::StoreError;
use super::object_id::ObjectId;
use super::open::Store;
use plimsoll_memory::bytes::ByteSize;

/// The contents of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Survey {
    /// The captures, in order.
    pub captures: Vec<CaptureSurvey>,
    /// The bytes of the files of all entries.
    pub file_bytes: ByteSize,
    /// The number of objects that entries need.
    pub objects: u64,
    /// The bytes of those objects in the store.
    pub object_bytes: ByteSize,
    /// The number of those objects that are compressed.
    pub compressed: u64,
    /// The number of objects that no entry needs: `plimsoll store gc` removes them.
    pub unneeded: u64,
    /// The bytes of those objects in the store.
    pub unneeded_bytes: ByteSize,
}

/// The contents of a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CaptureSurvey {
    /// The capture's name.
    pub name: String,
    /// The entries, in order.
    pub entries: Vec<EntrySurvey>,
    /// The bytes of the files of its entries.
    pub file_bytes: ByteSize,
    /// The bytes of objects that only this capture needs.
    pub own_bytes: ByteSize,
    /// The bytes of objects that this capture shares with others.
    pub shared_bytes: ByteSize,
}

/// The contents of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EntrySurvey {
    /// The file's name.
    pub name: String,
    /// The size of the file.
    pub bytes: ByteSize,
    /// The digest of the file.
    pub blake3: ObjectId,
    /// The number of storages.
    pub storages: u64,
    /// The bytes of objects that only this entry needs.
    pub own_bytes: ByteSize,
    /// What is wrong with the entry; absent if nothing was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Store {
    /// Reads every recipe, and verifies nothing.
    ///
    /// # Errors
    /// If the store cannot be listed, or a recipe cannot be read.
    pub fn survey(&self) -> Result<Survey, StoreError> {
        let objects = self.all_objects()?;
        let size = |id: &ObjectId| objects.get(id).map_or(ByteSize::ZERO, |object| ByteSize::new(object.stored));
        let mut by_entry: HashMap<ObjectId, usize> = HashMap::new();
        let mut by_capture: HashMap<ObjectId, usize> = HashMap::new();
        let mut found = Vec::new();
        for capture in self.captures()? {
            let mut of_capture: HashSet<ObjectId> = HashSet::new();
            let mut entries = Vec::new();
            for entry in self.entries_of(&capture)? {
                let name = super::EntryName { capture: capture.clone(), entry };
                let Some((id, recipe)) = self.read_recipe(&name)? else { continue };
                let needed: HashSet<_> = recipe.objects().chain([id]).collect();
                needed.iter().for_each(|&id| *by_entry.entry(id).or_default() += 1);
                of_capture.extend(&needed);
                entries.push((name, recipe, needed));
            }
            of_capture.iter().for_each(|&id| *by_capture.entry(id).or_default() += 1);
            found.push((capture, entries, of_capture));
        }
        let captures = found.into_iter().map(|(capture, entries, needed)| {
            let (own, shared): (Vec<ObjectId>, Vec<ObjectId>) = needed.iter().partition(|id| by_capture[*id] == 1);
            CaptureSurvey {
                name: capture.to_string_lossy().into_owned(),
                file_bytes: entries.iter().map(|(_, recipe, _)| recipe.bytes).sum(),
                own_bytes: own.iter().map(&size).sum(),
                shared_bytes: shared.iter().map(&size).sum(),
                entries: entries
                    .into_iter()
                    .map(|(name, recipe, needed)| EntrySurvey {
                        name: name.entry.to_string_lossy().into_owned(),
                        bytes: recipe.bytes,
                        blake3: recipe.blake3,
                        storages: recipe.payloads.len() as u64,
                        own_bytes: needed.iter().filter(|id| by_entry[*id] == 1).map(&size).sum(),
                        error: needed
                            .iter()
                            .find(|id| !objects.contains_key(id))
                            .map(|id| format!("object {id} is missing")),
                    })
                    .collect(),
            }
        });
        let captures: Vec<_> = captures.collect();
        let (needed, unneeded): (Vec<_>, Vec<_>) =
            objects.values().partition(|object| by_entry.contains_key(&object.id));
        let stored =
            |objects: &[&super::object::Object]| objects.iter().map(|object| ByteSize::new(object.stored)).sum();
        Ok(Survey {
            file_bytes: captures.iter().map(|capture| capture.file_bytes).sum(),
            captures,
            objects: needed.len() as u64,
            object_bytes: stored(&needed),
            compressed: needed.iter().filter(|object| object.compressed).count() as u64,
            unneeded: unneeded.len() as u64,
            unneeded_bytes: stored(&unneeded),
        })
    }
}
