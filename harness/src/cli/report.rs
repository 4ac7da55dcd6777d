//! `report`: documents from records; and the same documents from what other commands have just made.

use std::path::Path;

use plimsoll::record::Record;
use plimsoll::report;

use super::args::{Report, ReportFlags};
use super::{Failed, output};
use crate::replace::replace;

/// Reads the records and writes what was asked for.
pub fn run(arguments: &Report) -> Result<u8, Failed> {
    let records = arguments.records.iter().map(|path| Record::read(path)).collect::<Result<Vec<_>, _>>()?;
    if !arguments.documents.any() {
        return Err("no report was asked for: add --html FILE".into());
    }
    write(&arguments.documents, &records)?;
    Ok(0)
}

/// Writes the documents that `flags` ask for, each whole or not at all.
pub fn write(flags: &ReportFlags, records: &[Record]) -> Result<(), Failed> {
    if let Some(path) = &flags.html {
        put(path, &report::html(records))?;
    }
    Ok(())
}

impl ReportFlags {
    /// Whether any document is asked for.
    pub fn any(&self) -> bool {
        self.html.is_some()
    }
}

/// Writes `text` beside `path` and renames; `-` is standard output.
fn put(path: &Path, text: &str) -> Result<(), Failed> {
    if path.as_os_str() == "-" {
        return output::text(text);
    }
    replace(path, text.as_bytes()).map_err(|error| format!("cannot write {}: {error}", path.display()).into())
}
