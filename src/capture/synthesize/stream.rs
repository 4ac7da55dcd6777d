//! [`EntryStream`]: entries that exist on disk one at a time.

use std::io;
use std::path::PathBuf;

use tempfile::TempDir;

use super::error::SynthesizeError;
use super::planned::PlannedEntry;
use crate::write::Options;

/// An iterator that writes one entry of a plan after another to a temporary folder and returns its path. Each step
/// removes the file before it writes the next, and dropping the stream removes the folder.
#[derive(Debug)]
pub struct EntryStream<'a> {
    entries: std::slice::Iter<'a, PlannedEntry>,
    folder: TempDir,
    last: Option<PathBuf>,
}

impl<'a> EntryStream<'a> {
    pub(super) fn new(entries: &'a [PlannedEntry]) -> Result<Self, SynthesizeError> {
        let doing = "creating a temporary folder";
        let failed = |source| SynthesizeError::Io { path: std::env::temp_dir(), doing, source };
        let folder = tempfile::Builder::new().prefix("plimsoll-").tempdir().map_err(failed)?;
        Ok(Self { entries: entries.iter(), folder, last: None })
    }

    fn replace_by(&mut self, entry: &PlannedEntry) -> Result<PathBuf, SynthesizeError> {
        if let Some(last) = self.last.take() {
            match std::fs::remove_file(&last) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(SynthesizeError::Io { path: last, doing: "removing the previous entry", source });
                }
                _ => {}
            }
        }
        let path = self.folder.path().join(entry.file_name());
        entry.write(self.folder.path(), self.folder.path(), &Options::default())?;
        self.last = Some(path.clone());
        Ok(path)
    }
}

impl Iterator for EntryStream<'_> {
    type Item = Result<PathBuf, SynthesizeError>;

    /// Removes the previous file and writes the next one.
    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.entries.next()?;
        Some(self.replace_by(entry))
    }
}
