//! [`Plan`]: a capture known to the byte before anything of it is written.

use std::path::Path;

use super::call::Call;
use super::error::SynthesizeError;
use super::staging::Staging;
use super::stream::EntryStream;
use crate::ByteSize;
use crate::capture::write::Options;

/// One file of a [`Plan`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedEntry {
    file_name: String,
    bytes: ByteSize,
    call: Call,
}

impl PlannedEntry {
    pub(super) fn new(file_name: String, call: Call) -> Result<Self, SynthesizeError> {
        let why = || "an entry would be larger than any file; choose smaller sizes".to_owned();
        let bytes =
            call.file_size(&file_name).ok_or_else(|| SynthesizeError::Shape { what: "vocab x dim", why: why() })?;
        Ok(Self { file_name, bytes, call })
    }

    /// The name of the file, such as `entry_000000.pt`.
    pub fn file_name(&self) -> &str {
        &self.file_name
    }

    /// The exact size of the file.
    pub fn bytes(&self) -> ByteSize {
        self.bytes
    }

    /// The shape of the table: rows and columns.
    pub fn table(&self) -> [u64; 2] {
        [self.call.vocab, self.call.dim]
    }

    /// The number of indices looked up.
    pub fn seq(&self) -> u64 {
        self.call.seq
    }

    /// Writes the file to the folder `made`; errors speak of the folder `shown`.
    pub(super) fn write(&self, made: &Path, shown: &Path, options: &Options<'_>) -> Result<(), SynthesizeError> {
        let written = self.call.write(&made.join(&self.file_name), options);
        written.map_err(|error| error.at(shown.join(&self.file_name)))?;
        Ok(())
    }
}

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
    /// when all are complete: until then they stand in a hidden folder that ends in `.plimsoll-` and six letters.
    ///
    /// # Errors
    /// [`SynthesizeError`] where the folder holds something, the disk has too little room, writing fails or is
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
    /// [`SynthesizeError::Io`] where no temporary folder can be made.
    pub fn stream(&self) -> Result<EntryStream<'_>, SynthesizeError> {
        EntryStream::new(&self.entries)
    }
}
