//! [`Plan`]: a capture whose every byte is determined before it is written.

use std::path::Path;

use super::error::SynthesizeError;
use super::planned::PlannedEntry;
use super::staging::Staging;
use super::stream::EntryStream;
use crate::write::Options;
use plimsoll_memory::ByteSize;

/// The files of a capture, with their exact sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    entries: Vec<PlannedEntry>,
}

impl Plan {
    pub(super) fn new(entries: Vec<PlannedEntry>) -> Self {
        Self { entries }
    }

    /// The files, in call order.
    pub fn entries(&self) -> &[PlannedEntry] {
        &self.entries
    }

    /// The sizes of all files together.
    pub fn total(&self) -> ByteSize {
        self.entries.iter().map(PlannedEntry::bytes).sum()
    }

    /// Writes the capture to `dir`, a folder that is absent or empty; its parents are made. The files appear there only
    /// when all are complete: until then they are in a hidden folder whose name ends in `.plimsoll-` and six letters.
    ///
    /// # Errors
    /// [`SynthesizeError`] if the folder holds something, the disk has too little room, or writing fails or is
    /// cancelled. Everything made is removed again.
    pub fn write(&self, dir: &Path, options: &Options<'_>) -> Result<(), SynthesizeError> {
        let staging = Staging::new(dir, self.total())?;
        for entry in &self.entries {
            entry.write(staging.path(), dir, options)?;
        }
        staging.commit(self.entries.iter().map(PlannedEntry::file_name))
    }

    /// The entries as files that exist one at a time, in a temporary folder: for tests that read a capture larger than
    /// the disk may hold.
    ///
    /// # Errors
    /// [`SynthesizeError::Io`] if no temporary folder can be made.
    pub fn stream(&self) -> Result<EntryStream<'_>, SynthesizeError> {
        EntryStream::new(&self.entries)
    }
}
