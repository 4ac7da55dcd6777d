//! Fetches what a launch reads, for entries whose bytes are elsewhere.

use std::ops::Range;

use super::argument::Argument;
use super::bind::Bound;
use super::entry::Entry;
use super::error::CaptureError;
use super::kernel::{Call, CapturedOutput, looked_up, table};
use super::mapped::MappedEntry;
use super::origin;
use super::storage::StoragePlace;

/// Bytes fetched for a launch, which stay available while this lives.
#[derive(Debug, Default)]
pub struct Fetched {
    mapped: Option<MappedEntry>,
}

impl Fetched {
    /// The local bytes of storage `index` of the entry, of which only fetched ones are meaningful; `None` if the entry
    /// is on this machine, or if the storage must be decoded.
    ///
    /// # Panics
    /// If there is no such storage.
    pub fn storage(&self, index: usize) -> Option<&[u8]> {
        self.mapped.as_ref().filter(|mapped| !mapped.is_encoded(index)).map(|mapped| mapped.unfetched(index))
    }
}

impl Entry {
    /// Makes everything that a launch on the arguments of `bound` reads available locally, if it is elsewhere; it stays
    /// available while the result lives. A kernel that `looks_up` only rows of a table is known to read no other rows.
    ///
    /// # Errors
    /// If bytes cannot be fetched, or the file changed since it was opened.
    pub fn fetch(&self, bound: &Bound, looks_up: bool) -> Result<Fetched, CaptureError> {
        let is_elsewhere = |place: &StoragePlace| {
            let (StoragePlace::File { path, .. } | StoragePlace::Encoded { path, .. }) = place;
            origin::address(path).is_some()
        };
        if !self.storages().iter().any(|storage| is_elsewhere(storage.place())) {
            return Ok(Fetched::default());
        }
        let mapped = self.map()?;
        if !looks_up {
            // The outputs are compared next, so they are needed too.
            mapped.fetch_whole()?;
            return Ok(Fetched { mapped: Some(mapped) });
        }
        let mut used = vec![0; self.storages().len()];
        for value in &bound.args {
            value.for_each_leaf(&mut String::new(), &mut |_, leaf| {
                if let Argument::Tensor(tensor) = leaf {
                    used[tensor.storage] += 1;
                }
            });
        }
        let outputs = CapturedOutput::all(self.output());
        let call = |storages| Call { params: &bound.params, args: &bound.args, storages, outputs: &outputs };
        // A storage that also holds another argument is read whole.
        let table = table(&call(&[])).filter(|&table| used[table] == 1);
        let mut storages: Vec<&[u8]> = Vec::with_capacity(used.len());
        for (index, &times) in used.iter().enumerate() {
            storages.push(match times {
                0 => &[],
                _ if Some(index) == table => mapped.unfetched(index),
                _ => match self.storages()[index].place() {
                    StoragePlace::File { .. } => mapped.storage(index)?,
                    // The reader decodes it, and fetches it at that time.
                    StoragePlace::Encoded { .. } => &[],
                },
            });
        }
        if let Some(table) = table {
            let mut rows: Vec<Range<u64>> = Vec::new();
            looked_up(&call(&storages), &mut |_, row| rows.push(row.start as u64..row.end as u64));
            rows.sort_unstable_by_key(|row| row.start);
            rows.dedup();
            mapped.fetch(table, Some(&rows).filter(|rows| !rows.is_empty()).map(Vec::as_slice))?;
        }
        Ok(Fetched { mapped: Some(mapped) })
    }
}
