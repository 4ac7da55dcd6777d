//! Fetching what a launch reads, for entries whose bytes are elsewhere.

use std::ops::Range;

use super::argument::Argument;
use super::bind::Bound;
use super::entry::Entry;
use super::error::CaptureError;
use super::kernel::{Call, CapturedOutput, looked_up, table};
use super::mapped::MappedEntry;
use super::origin;
use super::storage::Place;

/// What was fetched for a launch, which stays at hand until this is dropped.
#[derive(Debug, Default)]
pub struct Fetched {
    mapped: Option<MappedEntry>,
}

impl Fetched {
    /// The bytes of storage `index` of the entry, of which those mean something that were fetched; `None` if the entry is
    /// of this machine, or the storage has to be decoded.
    ///
    /// # Panics
    /// If there is no such storage.
    pub fn storage(&self, index: usize) -> Option<&[u8]> {
        self.mapped.as_ref().filter(|mapped| !mapped.is_encoded(index)).map(|mapped| mapped.unfetched(index))
    }
}

impl Entry {
    /// Has everything at hand that a launch on the arguments of `bound` reads, if it is elsewhere: what was fetched stays
    /// for as long as the result lives. A kernel that only `looks_up` rows of a table is known to read no other rows.
    ///
    /// # Errors
    /// If bytes cannot be fetched, or the file changed since it was opened.
    pub fn fetch(&self, bound: &Bound, looks_up: bool) -> Result<Fetched, CaptureError> {
        let is_elsewhere = |place: &Place| {
            let (Place::File { path, .. } | Place::Encoded { path, .. }) = place;
            origin::address(path).is_some()
        };
        if !self.storages().iter().any(|storage| is_elsewhere(storage.place())) {
            return Ok(Fetched::default());
        }
        let mapped = self.map()?;
        if !looks_up {
            // The outputs are compared next.
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
        // A storage that holds another argument as well is read whole.
        let table = table(&call(&[])).filter(|&table| used[table] == 1);
        let mut storages: Vec<&[u8]> = Vec::with_capacity(used.len());
        for (index, &times) in used.iter().enumerate() {
            storages.push(match times {
                0 => &[],
                _ if Some(index) == table => mapped.unfetched(index),
                _ => match self.storages()[index].place() {
                    Place::File { .. } => mapped.storage(index)?,
                    // Whoever reads it decodes it, and fetches it then.
                    Place::Encoded { .. } => &[],
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
