//! Figures of other tools: asv, Bencher, github-action-benchmark, criterion, CSV.
//!
//! [`read`] recognizes a file or folder by its contents. Values with a known unit become bytes or nanoseconds; others
//! stay as they are. Nothing in a file is executed, links are not followed, and files, values and names are bounded.

mod asv;
mod bencher;
mod criterion;
mod csv;
mod github;
mod unit;

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::commit::Commit;
use super::error::HistoryError;
use crate::gate::{Subject, SubjectKind};
use crate::record::{Direction, Figure, not_a_file};

pub use self::csv::{Column, ParseColumnError, Role};

/// These tools write no larger files.
const MAX_FILE: u64 = 64 << 20;
/// The maximum number of figures in one import.
const MAX_FIGURES: usize = 1_000_000;
/// The maximum length of a name.
const MAX_NAME: usize = 500;

/// The figures read from another tool's files.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// The tool that wrote the files.
    pub tool: &'static str,
    /// The figures.
    pub figures: Vec<ImportedFigure>,
    /// How many values were left out because they are missing, negative or not finite.
    pub left_out: usize,
}

/// A figure of a benchmark at a commit.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedFigure {
    /// The commit; absent if the file names none and the caller has to.
    pub commit: Option<At>,
    /// The benchmark.
    pub subject: Subject,
    /// The figure.
    pub figure: Figure,
}

/// The commit of a figure, as far as the file describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct At {
    /// Its name.
    pub id: String,
    /// Its time, in seconds since 1970.
    pub committed: Option<i64>,
    /// The first line of its message.
    pub title: String,
}

impl At {
    /// Looks the commit up in git, or uses what the file says.
    ///
    /// # Errors
    /// [`HistoryError::UnknownCommit`] if neither knows its time.
    pub fn resolve(&self, branch: &str) -> Result<Commit, HistoryError> {
        if let Ok((id, committed, title)) = crate::gate::baseline::git::commit_facts(&self.id) {
            return Ok(Commit { id, branch: branch.to_owned(), committed, title });
        }
        let committed = self.committed.ok_or_else(|| HistoryError::UnknownCommit { commit: self.id.clone() })?;
        Ok(Commit { id: self.id.clone(), branch: branch.to_owned(), committed, title: self.title.clone() })
    }
}

/// Reads a file or folder of another tool. `columns` give the meaning of CSV columns whose titles are not recognized.
///
/// # Errors
/// [`HistoryError::Import`] if it cannot be read or is not in a known format.
pub fn read(path: &Path, columns: &[Column]) -> Result<Import, HistoryError> {
    let mut found = Gathered::default();
    let tool = if path.is_dir() {
        if path.join("benchmarks.json").is_file() {
            asv::read(path, &mut found)?;
            "asv"
        } else {
            criterion::read(path, &mut found)?;
            "criterion"
        }
    } else {
        let text = String::from_utf8(bytes(path)?).map_err(|_| failed(path, "it is not UTF-8"))?;
        let text = text.trim_start_matches('\u{feff}');
        match document(text) {
            Some(Err(error)) => return Err(failed(path, format!("it is neither JSON nor CSV: {error}"))),
            Some(Ok(value)) if github::is(&value) => {
                github::read(path, &value, &mut found)?;
                "github-action-benchmark"
            }
            Some(Ok(value)) => {
                bencher::read(path, &value, &mut found)?;
                "Bencher"
            }
            None => {
                csv::read(path, text, columns, &mut found)?;
                "CSV"
            }
        }
    };
    if found.figures.is_empty() {
        return Err(failed(path, format!("read as {tool}: it has no valid value")));
    }
    Ok(Import { tool, figures: found.figures, left_out: found.left_out })
}

/// The JSON in a text: the whole text, or the value that a script assigns. `None` if it begins like neither.
fn document(text: &str) -> Option<serde_json::Result<Value>> {
    let text = text.trim();
    let json = match text.strip_prefix("window.BENCHMARK_DATA") {
        Some(rest) => rest.trim_start().strip_prefix('=')?.trim().trim_end_matches(';'),
        None if text.starts_with(['{', '[']) => text,
        None => return None,
    };
    Some(serde_json::from_str(json))
}

/// The figures read so far.
#[derive(Debug, Default)]
struct Gathered {
    figures: Vec<ImportedFigure>,
    left_out: usize,
}

/// A value as another tool reports it.
struct Measured<'a> {
    commit: Option<At>,
    suite: Option<&'a str>,
    label: &'a str,
    figure: &'a str,
    unit: &'a str,
    /// Whether more or less is better; derived from the unit if unknown.
    direction: Option<Direction>,
}

impl Gathered {
    /// Adds the valid values of a figure.
    fn add(
        &mut self,
        path: &Path,
        measured: Measured,
        values: impl IntoIterator<Item = f64>,
    ) -> Result<(), HistoryError> {
        let (unit, scale) = unit::of(measured.unit);
        let direction = measured.direction.unwrap_or_else(|| unit::direction(measured.unit));
        let mut kept = Vec::new();
        for value in values {
            let value = value * scale;
            if value.is_finite() && value >= 0.0 { kept.push(value) } else { self.left_out += 1 }
        }
        if kept.is_empty() {
            return Ok(());
        }
        if self.figures.len() >= MAX_FIGURES {
            return Err(failed(path, format!("it has more than {MAX_FIGURES} figures; import it in parts")));
        }
        let name = |text: &str| text.trim().chars().take(MAX_NAME).collect::<String>();
        let suite = measured.suite.map(name).filter(|suite| !suite.is_empty());
        let subject = Subject { kind: SubjectKind::Benchmark, suite, label: name(measured.label) };
        let figure = Figure {
            name: name(measured.figure),
            phase: None,
            unit,
            direction,
            source: None,
            values: kept,
            at_most: Vec::new(),
        };
        self.figures.push(ImportedFigure { commit: measured.commit, subject, figure });
        Ok(())
    }
}

fn failed(path: &Path, what: impl Into<String>) -> HistoryError {
    HistoryError::Import { path: path.to_owned(), what: what.into() }
}

/// Reads a regular file that is not a link, up to the size limit.
fn bytes(path: &Path) -> Result<Vec<u8>, HistoryError> {
    let io = |error: std::io::Error| failed(path, error.to_string());
    if let Some(other) = not_a_file(path.metadata().map_err(io)?.file_type()) {
        return Err(failed(path, format!("it is {other}")));
    }
    let mut bytes = Vec::new();
    File::open(path).map_err(io)?.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(failed(path, format!("it is larger than {MAX_FILE} bytes")));
    }
    Ok(bytes)
}

fn json(path: &Path) -> Result<Value, HistoryError> {
    serde_json::from_slice(&bytes(path)?).map_err(|error| failed(path, error.to_string()))
}

/// The entries of a folder by name, without links.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, HistoryError> {
    const MOST_ENTRIES: usize = 100_000;
    let io = |error: std::io::Error| failed(folder, error.to_string());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(io)? {
        let entry = entry.map_err(io)?;
        if entry.file_type().map_err(io)?.is_symlink() {
            continue;
        }
        if found.len() >= MOST_ENTRIES {
            return Err(failed(folder, format!("it has more than {MOST_ENTRIES} files")));
        }
        found.push(entry.path());
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests;
