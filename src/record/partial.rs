//! [`PartialRecord`]: the known facts of a run in progress, in case the run cannot write its record.

use std::fs;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use super::document::Record;
use super::file::{folder_of, temporary_in};

/// A record beside another, `FILE.partial` for `FILE`: complete at every moment, and removed once the other is written.
///
/// The file is not flushed to the disk, so it survives this process but not the machine.
#[derive(Debug)]
pub struct PartialRecord {
    path: PathBuf,
    written: bool,
}

impl PartialRecord {
    /// The partial record beside `path`. Nothing is written yet.
    pub fn beside(path: &Path) -> Self {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".partial");
        Self { path: path.with_file_name(name), written: false }
    }

    /// The path of the partial record.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the partial record by the present facts.
    ///
    /// # Errors
    /// The system's error, for example when the disk is full; the earlier content stays then.
    pub fn write(&mut self, record: &Record) -> io::Result<()> {
        let temporary = temporary_in(folder_of(&self.path))?;
        let mut writer = BufWriter::with_capacity(1 << 16, temporary.as_file());
        record.write_to(&mut writer)?;
        drop(writer);
        temporary.persist(&self.path)?;
        self.written = true;
        Ok(())
    }

    /// Removes the partial record, as the record itself exists.
    pub fn remove(self) {
        if self.written {
            // If removing fails, its own state says that the record is incomplete.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample;

    #[test]
    fn it_stands_beside_the_record_is_replaced_and_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        let mut partial = PartialRecord::beside(&path);
        partial.write(&sample::command()).unwrap();
        partial.write(&sample::test()).unwrap();
        assert_eq!(Record::read(&folder.path().join("run.json.partial")).unwrap(), sample::test());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        partial.remove();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn one_that_was_there_before_is_not_removed_by_a_run_that_wrote_none() {
        let folder = tempfile::tempdir().unwrap();
        let partial = PartialRecord::beside(&folder.path().join("run.json"));
        fs::write(partial.path(), "of an earlier run").unwrap();
        partial.remove();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let error = PartialRecord::beside(Path::new("/nowhere/run.json")).write(&sample::command()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
