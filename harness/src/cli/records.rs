//! Reads the records that are named on a command line.

use std::fs;
use std::path::{Path, PathBuf};

use plimsoll::elsewhere::Local;
use plimsoll::record::Record;

use super::Failed;

/// The records at `paths`: files, and for a folder all files that end in `.json`.
pub fn read(paths: &[PathBuf]) -> Result<Vec<Record>, Failed> {
    let mut records = Vec::new();
    for path in paths {
        let local = Local::documents(path)?;
        for file in files(local.path())? {
            records.push(Record::read(&file)?);
        }
    }
    Ok(records)
}

/// The records at `paths`, of which there is at least one.
pub fn some(paths: &[PathBuf]) -> Result<Vec<Record>, Failed> {
    let records = read(paths)?;
    if records.is_empty() {
        let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        return Err(format!(
            "there is no record in {}: `plimsoll run --record FILE -- CMD` writes one",
            paths.join(", ")
        )
        .into());
    }
    Ok(records)
}

/// The records at `path`: the file itself, or for a folder all files that end in `.json`.
pub fn files(path: &Path) -> Result<Vec<PathBuf>, Failed> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let failed = |error| format!("cannot read {}: {error}", path.display());
    let entries = fs::read_dir(path).and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect());
    let mut files: Vec<PathBuf> = entries.map_err(failed)?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    Ok(files)
}
