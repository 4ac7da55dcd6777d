//! `report`: documents from records, for this and for other commands.

use clap::Args;
use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use plimsoll::gate::GateReport;
use plimsoll::record::Record;
use plimsoll::report;

use super::args::ReportFlags;
use super::{Failed, output};
use crate::replace::replace;

#[derive(Args)]
pub struct Report {
    /// The records; a page of two shows what changed between them
    #[arg(required = true, value_name = "RECORD")]
    pub records: Vec<PathBuf>,

    #[command(flatten)]
    pub documents: ReportFlags,
}

/// The documents of a format.
#[derive(Clone, Copy)]
struct Format {
    /// Documents of records.
    records: fn(&[Record]) -> String,
    /// Documents of the gate's judgement of records.
    gate: fn(&GateReport, &[Record]) -> String,
}

/// Reads the records and writes the documents.
pub fn run(arguments: &Report) -> Result<u8, Failed> {
    let documents = &arguments.documents;
    documents.check()?;
    let records = arguments.records.iter().map(|path| Record::read(path)).collect::<Result<Vec<_>, _>>()?;
    if !documents.are_asked_for() {
        // The text that the command which made the record printed.
        for record in &records {
            output::text(&report::terminal::record(record, None, &super::screen()))?;
        }
    }
    documents.write(&records)?;
    Ok(0)
}

impl ReportFlags {
    /// The requested documents, and where each goes.
    fn asked_for(&self) -> impl Iterator<Item = (&Path, Format)> {
        use report::gate;
        let of = |records, gate| Format { records, gate };
        let all: [(&Option<PathBuf>, Format); 9] = [
            (&self.html, of(report::html, gate::html)),
            (&self.markdown, of(report::markdown, |gate, _| gate::markdown(gate))),
            (&self.junit, of(report::junit, |gate, _| gate::junit(gate))),
            (&self.annotations, of(report::annotations, |gate, _| gate::annotations(gate))),
            (&self.gitlab, of(report::gitlab, |gate, _| gate::gitlab(gate))),
            (&self.bencher, of(report::bencher, |_, records| report::bencher(records))),
            (&self.github_benchmark, of(report::github_benchmark, |_, records| report::github_benchmark(records))),
            (&self.csv, of(report::csv, |_, records| report::csv(records))),
            (&self.openmetrics, of(report::openmetrics, gate::openmetrics)),
        ];
        all.into_iter().filter_map(|(path, format)| Some((path.as_deref()?, format)))
    }

    /// Whether any document is requested.
    pub fn are_asked_for(&self) -> bool {
        self.asked_for().next().is_some()
    }

    /// Checks before hours of work whether the documents can be written, as far as that can be seen.
    pub fn check(&self) -> Result<(), Failed> {
        for (path, _) in self.asked_for().filter(|(path, _)| !is_stdout(path)) {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let refused = |why: &str| Err(format!("cannot write {}: {why}", path.display()).into());
            if path.is_dir() {
                return refused("it is a folder");
            }
            match fs::metadata(folder) {
                Ok(folder) if folder.is_dir() => {}
                Ok(_) => return refused(&format!("{} is not a folder", folder.display())),
                Err(error) => return refused(&format!("{}: {error}", folder.display())),
            }
        }
        Ok(())
    }

    /// Writes the documents of `records`, each whole or not at all. If one cannot be written, the others still are.
    pub fn write(&self, records: &[Record]) -> Result<(), Failed> {
        self.put(|format| (format.records)(records))
    }

    /// Writes the documents of the gate's judgement of `records`, in the same way.
    pub fn write_gate(&self, gate: &GateReport, records: &[Record]) -> Result<(), Failed> {
        self.put(|format| (format.gate)(gate, records))
    }

    fn put(&self, document: impl Fn(Format) -> String) -> Result<(), Failed> {
        let summary = std::env::var_os("GITHUB_STEP_SUMMARY");
        let mut failed: Option<Failed> = None;
        for (path, format) in self.asked_for() {
            let text = document(format);
            let written = match () {
                // Steps of a job share the file.
                () if summary.as_deref().is_some_and(|summary| summary == path.as_os_str()) => append(path, &text),
                () => put(path, &text),
            };
            failed = failed.or(written.err());
        }
        failed.map_or(Ok(()), Err)
    }
}

/// Writes a document whole or not at all; `-` is standard output.
pub fn put(path: &Path, text: &str) -> Result<(), Failed> {
    if is_stdout(path) {
        return output::verbatim(text);
    }
    replace(path, text.as_bytes()).map_err(|error| named(path, &error))
}

fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == OsStr::new("-")
}

fn append(path: &Path, text: &str) -> Result<(), Failed> {
    let file = OpenOptions::new().append(true).create(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| named(path, &error))
}

fn named(path: &Path, error: &std::io::Error) -> Failed {
    format!("cannot write {}: {error}", path.display()).into()
}
