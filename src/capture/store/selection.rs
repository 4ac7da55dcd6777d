//! Entries of a store by name.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::error::StoreError;
use super::open::{EntryName, Store};

impl Store {
    /// The entries that `names` name: `CAPTURE`, `CAPTURE/ENTRY`, or `ENTRY` of every capture that has it; all entries
    /// where nothing is named. In order, each once.
    ///
    /// # Errors
    /// [`StoreError::NoSuch`] where a name fits nothing; where the store cannot be listed.
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
}
