//! Entries of a store by name.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::error::StoreError;
use super::object_id::ObjectId;
use super::open::{EntryName, Store};
use super::packed::Packed;
use super::recipe::Recipe;
use plimsoll_memory::bytes::ByteSize;

impl Store {
    /// The entries that `names` name: `CAPTURE`, `CAPTURE/ENTRY`, or `ENTRY` of every capture that has it; all entries
    /// if `names` is empty. They come in order, each once.
    ///
    /// # Errors
    /// [`StoreError::NoSuch`] if a name matches nothing; also if the store cannot be listed.
    pub fn select(&self, names: &[OsString]) -> Result<Vec<EntryName>, StoreError> {
        let all = self.entries()?;
        if names.is_empty() {
            return Ok(all);
        }
        let fits = |name: &OsStr, entry: &EntryName| {
            let (name, capture, file) = (name.as_bytes(), entry.capture.as_bytes(), entry.entry.as_bytes());
            let rest = name.strip_prefix(capture).and_then(|rest| rest.strip_prefix(b"/"));
            name == capture || name == file || rest == Some(file)
        };
        if let Some(none) = names.iter().find(|name| !all.iter().any(|entry| fits(name, entry))) {
            return Err(StoreError::NoSuch { name: none.to_string_lossy().into_owned() });
        }
        Ok(all.into_iter().filter(|entry| names.iter().any(|name| fits(name, entry))).collect())
    }

    /// The bytes of the files of the entries that `names` name.
    ///
    /// # Errors
    /// As [`Store::select`]; also if a recipe cannot be read.
    pub fn file_bytes(&self, names: &[OsString]) -> Result<ByteSize, StoreError> {
        let mut bytes = ByteSize::ZERO;
        for name in self.select(names)? {
            bytes += self.read_recipe(&name)?.map_or(ByteSize::ZERO, |(_, recipe)| recipe.bytes);
        }
        Ok(bytes)
    }

    /// The entries that `names` name, with the bytes of their files; none of one whose recipe cannot be read.
    ///
    /// # Errors
    /// As [`Store::select`].
    pub fn sizes(&self, names: &[OsString]) -> Result<Vec<(EntryName, ByteSize)>, StoreError> {
        let size = |name: EntryName| {
            let recipe = self.read_recipe(&name).ok().flatten();
            (name, recipe.map_or(ByteSize::ZERO, |(_, recipe)| recipe.bytes))
        };
        Ok(self.select(names)?.into_iter().map(size).collect())
    }

    /// The recipe of an entry; `None` if there is no such entry.
    pub(super) fn read_recipe(&self, name: &EntryName) -> Result<Option<(ObjectId, Recipe)>, StoreError> {
        let Some(id) = self.recipe_of(name)? else { return Ok(None) };
        let recipe = Packed::recipe(&self.places, id);
        let path = self.reference(name);
        recipe.map(|recipe| Some((id, recipe))).map_err(|error| StoreError::Object { path, error })
    }
}
