//! [`PlannedEntry`]: one file of a plan.

use std::path::Path;

use super::call::Call;
use super::error::SynthesizeError;
use crate::write::Options;
use plimsoll_memory::ByteSize;

/// One file of a [`Plan`](super::Plan).
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

    /// Writes the file to the folder `made`; errors name the folder `shown`.
    pub(super) fn write(&self, made: &Path, shown: &Path, options: &Options<'_>) -> Result<(), SynthesizeError> {
        let written = self.call.write(&made.join(&self.file_name), options);
        written.map_err(|error| error.at(shown.join(&self.file_name)))?;
        Ok(())
    }
}
