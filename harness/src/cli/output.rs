//! Prints output. If the reader of a pipe closes it, that is not a failure; a full disk is an error like any other.

use std::fmt::Display;
use std::io::{self, BufWriter, ErrorKind, Write};

use plimsoll::record::Record;
use plimsoll::report::terminal::{self, clean};
use serde::Serialize;

use super::Failed;

/// Prints a text for people with colours on a terminal. The caller must [`clean`] any text from elsewhere.
pub fn text(text: &str) -> Result<(), Failed> {
    verbatim(&terminal::document(text))
}

/// Prints a text for programs, such as a page or a script, unchanged.
pub fn verbatim(text: &str) -> Result<(), Failed> {
    let mut out = anstream::stdout().lock();
    finished(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Prints a document while it is made, so that one with many entries is never held as text.
pub fn json(document: &impl Serialize) -> Result<(), Failed> {
    let mut out = BufWriter::new(io::stdout().lock());
    let written = serde_json::to_writer_pretty(&mut out, document).map_err(io::Error::from);
    finished(written.and_then(|()| writeln!(out)).and_then(|()| out.flush()))
}

/// Prints a record as JSON, as its file has it.
pub fn record(record: &Record) -> Result<(), Failed> {
    finished(record.write_to(&mut BufWriter::new(io::stdout().lock())))
}

/// Prints a record on standard error, because standard output belongs to a command.
pub fn record_aside(record: &Record) -> Result<(), Failed> {
    record.write_to(&mut BufWriter::new(io::stderr().lock())).map_err(Failed::from)
}

/// Prints one line on standard error, whatever `line` contains.
pub fn note(line: &dyn Display) {
    aside(&clean(&line.to_string()));
}

/// Prints an error on standard error as one line, whatever it contains.
pub fn error(message: &str) {
    let style = clap::builder::Styles::styled();
    let error = style.get_error();
    aside(&format!("{error}error:{error:#} {}", clean(message)));
}

/// Prints a text for people on standard error. A failure cannot be reported anywhere.
pub fn aside(text: &str) {
    let mut line = format!("{}\n", terminal::document(text));
    let mut stderr = io::stderr().lock();
    // Write everything at once: standard error has no buffer, and each word of a report would be a system call.
    if anstream::AutoStream::choice(&stderr) == anstream::ColorChoice::Never {
        line = anstream::adapter::strip_str(&line).to_string();
    }
    let _ = stderr.write_all(line.as_bytes());
}

fn finished(written: io::Result<()>) -> Result<(), Failed> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(format!("cannot write to standard output: {error}").into()),
        Ok(()) => Ok(()),
    }
}
