//! `run`: a command under the meter, once or several times.

mod document;
mod repeat;

use std::path::Path;

use plimsoll::record::{Record, RecordFile};
use plimsoll::report::terminal;

use super::args::Run;
use super::{Failed, output};

pub use document::label;
pub(super) use document::verdict;

/// Runs the command and gives its exit code, or that of what failed here.
pub fn run(arguments: &Run) -> Result<u8, Failed> {
    // The record's place is tried before hours of work, not after.
    let file = arguments.record.as_deref().map(RecordFile::prepare).transpose()?;
    arguments.documents.check()?;
    let made = match repeat::repeat(arguments, &arguments.ceilings.ceilings()) {
        Ok(made) => made,
        Err(error) => {
            let Some(code) = error.shell_exit_code() else { return Err(error.into()) };
            super::report_message(&error.to_string());
            return Ok(code);
        }
    };
    let record = document::record(arguments, made);
    let written = file.map(|file| file.commit(&record)).transpose();
    let path = arguments.record.as_deref().filter(|_| written.is_ok());
    show(&record, path, arguments.json)?;
    let documents = arguments.documents.write(std::slice::from_ref(&record));
    written?;
    documents?;
    Ok(record.exit_code)
}

fn show(record: &Record, path: Option<&Path>, json: bool) -> Result<(), Failed> {
    if json {
        return output::json_aside(record);
    }
    output::note(&terminal::record(record, path, &super::screen()).trim_end());
    Ok(())
}
