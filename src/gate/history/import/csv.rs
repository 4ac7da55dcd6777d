//! CSV with a header (RFC 4180): one row per value, or one row per commit with one column per figure.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use super::github::utc;
use super::{At, Gathered, HistoryError, Measured, failed};

/// The meaning of a column, written `commit=sha`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The role of the column.
    pub role: Role,
    /// Its title.
    pub title: String,
}

/// What a column can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The commit.
    Commit,
    /// The time of the commit: RFC 3339, a day, or seconds since 1970.
    Date,
    /// The benchmark.
    Name,
    /// The figure.
    Figure,
    /// The unit.
    Unit,
    /// The value. Without such a column, every other column with numbers is a figure.
    Value,
}

/// Each role with its name and the titles that it is recognized by.
const ROLES: [(Role, &str, &[&str]); 6] = [
    (Role::Commit, "commit", &["commit", "sha", "revision", "hash", "commit_hash", "commit_id"]),
    (Role::Date, "date", &["date", "time", "timestamp", "committed", "started"]),
    (Role::Name, "name", &["name", "benchmark", "label", "test", "record"]),
    (Role::Figure, "figure", &["figure", "metric", "measure"]),
    (Role::Unit, "unit", &["unit", "units"]),
    (Role::Value, "value", &["value"]),
];

/// The error for a text that is not a [`Column`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` does not say what a column is: write commit=TITLE, or date, name, figure, unit or value")]
pub struct ParseColumnError(String);

impl FromStr for Column {
    type Err = ParseColumnError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseColumnError(text.to_owned());
        let (word, title) = text.split_once('=').ok_or_else(error)?;
        let (role, _, _) = ROLES.iter().find(|(_, known, _)| *known == word).ok_or_else(error)?;
        Ok(Self { role: *role, title: title.to_owned() })
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(ROLES.iter().find(|(role, _, _)| role == self).map_or("", |(_, word, _)| word))
    }
}

pub(super) fn read(path: &Path, text: &str, columns: &[Column], found: &mut Gathered) -> Result<(), HistoryError> {
    let mut rows = Rows { rest: text };
    let titles = rows.next().unwrap_or_default();
    let place = |role: Role| -> Result<Option<usize>, HistoryError> {
        if let Some(column) = columns.iter().find(|column| column.role == role) {
            let at = titles.iter().position(|title| *title == column.title);
            let known = titles.join(", ");
            return at
                .map(Some)
                .ok_or_else(|| failed(path, format!("it has no column `{}`, but {known}", column.title)));
        }
        let (_, _, names) = ROLES.iter().find(|(known, _, _)| *known == role).expect("every role is listed");
        Ok(titles.iter().position(|title| names.contains(&title.trim().to_lowercase().as_str())))
    };
    let (commit, date, name) = (place(Role::Commit)?, place(Role::Date)?, place(Role::Name)?);
    let (figure, unit, value) = (place(Role::Figure)?, place(Role::Unit)?, place(Role::Value)?);
    let Some(commit) = commit else {
        return Err(failed(
            path,
            format!("it has no column with the commit ({}): name it with --column commit=TITLE", titles.join(", ")),
        ));
    };
    let taken = [Some(commit), date, name, figure, unit, value];
    let file = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    for (number, row) in rows.enumerate() {
        let cell =
            |at: Option<usize>| at.and_then(|at| row.get(at)).map(|cell| cell.trim()).filter(|cell| !cell.is_empty());
        let Some(id) = cell(Some(commit)) else {
            if row.iter().all(|cell| cell.trim().is_empty()) {
                continue;
            }
            return Err(failed(path, format!("row {} has no commit", number + 2)));
        };
        let at = At { id: id.to_owned(), committed: cell(date).and_then(seconds), title: String::new() };
        let label = cell(name).unwrap_or(&file);
        let mut add = |figure: &str, unit: &str, value: &str| match value.parse::<f64>() {
            Ok(value) => {
                let commit = Some(at.clone());
                found.add(path, Measured { commit, suite: None, label, figure, unit, direction: None }, [value])
            }
            Err(_) => {
                found.left_out += 1;
                Ok(())
            }
        };
        if let Some(value) = value {
            add(
                cell(figure).unwrap_or("value"),
                cell(unit).unwrap_or_default(),
                cell(Some(value)).unwrap_or_default(),
            )?;
            continue;
        }
        for (at, title) in titles.iter().enumerate().filter(|(at, _)| !taken.contains(&Some(*at))) {
            let (figure, own) = titled(title);
            if let Some(value) = cell(Some(at)).filter(|value| value.parse::<f64>().is_ok()) {
                add(figure, own.or(cell(unit)).unwrap_or_default(), value)?;
            }
        }
    }
    Ok(())
}

/// Splits a title from the unit in it: `peak (MiB)`, `wall [s]`.
fn titled(title: &str) -> (&str, Option<&str>) {
    let title = title.trim();
    for (open, close) in [('(', ')'), ('[', ']')] {
        if let Some((name, unit)) = title.strip_suffix(close).and_then(|rest| rest.rsplit_once(open)) {
            return (name.trim(), Some(unit));
        }
    }
    (title, None)
}

/// A time in seconds since 1970.
fn seconds(text: &str) -> Option<i64> {
    if let Ok(seconds) = text.parse::<f64>() {
        return Some(seconds as i64);
    }
    let day = || humantime::parse_rfc3339_weak(&format!("{text} 00:00:00")).ok();
    let time = || humantime::parse_rfc3339_weak(&utc(text)?).ok();
    let at = time().or_else(day)?.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(at.as_secs()).ok()
}

/// The rows of a text, split into cells.
struct Rows<'a> {
    rest: &'a str,
}

impl Iterator for Rows<'_> {
    type Item = Vec<String>;

    fn next(&mut self) -> Option<Vec<String>> {
        if self.rest.is_empty() {
            return None;
        }
        let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
        let mut letters = self.rest.char_indices().peekable();
        while let Some((_, c)) = letters.next() {
            match c {
                '"' if quoted && letters.peek().is_some_and(|(_, next)| *next == '"') => {
                    cell.push('"');
                    letters.next();
                }
                '"' if quoted || cell.is_empty() => quoted = !quoted,
                ',' if !quoted => cells.push(std::mem::take(&mut cell)),
                '\r' if !quoted => {}
                '\n' if !quoted => break,
                c => cell.push(c),
            }
        }
        self.rest = letters.peek().map_or("", |(at, _)| &self.rest[*at..]);
        cells.push(cell);
        Some(cells)
    }
}
