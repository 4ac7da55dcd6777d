//! A record, or a folder of them, on the disk.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::error::BaselineError;
use crate::elsewhere::Local;
use crate::record::{Record, RecordError};
use plimsoll_capture::origin;

/// A folder with more files is not read as a baseline.
pub(super) const MOST_FILES: usize = 10_000;

/// Reads the records at `path` in the order of their names; empty if nothing is there.
pub(super) fn read(path: &Path) -> Result<Vec<(String, Record)>, BaselineError> {
    let local = match Local::documents(path) {
        Err(error) if error.is_nothing_there() => return Ok(Vec::new()),
        local => local.map_err(RecordError::from)?,
    };
    let path = local.path();
    let folder = |source| BaselineError::Folder { what: "read", path: path.to_owned(), source };
    let metadata = match std::fs::metadata(path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(Vec::new()),
        metadata => metadata.map_err(folder)?,
    };
    let files = if metadata.is_dir() { records(path)? } else { vec![path.to_owned()] };
    files.into_iter().map(|file| Ok((origin::shown(&file), Record::read(&file)?))).collect()
}

/// The files of a folder that may be records: those ending in `.json`, by name.
fn records(path: &Path) -> Result<Vec<PathBuf>, BaselineError> {
    let folder = |source| BaselineError::Folder { what: "read", path: path.to_owned(), source };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(folder)? {
        let entry = entry.map_err(folder)?;
        // Files that are still being written begin with a dot.
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        let file = entry.path();
        if !hidden && file.extension().is_some_and(|extension| extension == "json") && file.is_file() {
            files.push(file);
        }
        if files.len() > MOST_FILES {
            return Err(BaselineError::TooMany { path: path.to_owned(), limit: MOST_FILES });
        }
    }
    files.sort();
    Ok(files)
}
