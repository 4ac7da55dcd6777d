//! Writes ceilings as a table of a TOML file that may hold other things.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use plimsoll::gate::Proposal;
use toml_edit::{DocumentMut, Item, Table, TomlError, value};

use crate::replace::replace;

/// Why ceilings cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum CeilingsTomlError {
    /// The file is not valid TOML; writing to it would lose its content.
    #[error("{} is not valid TOML and was not changed: {source}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and column.
        source: TomlError,
    },
    /// `ceilings`, or its entry for the command, is not a table.
    #[error("{}: `{key}` is not a table, and the file was not changed: rename it, or give another --label", path.display())]
    NoTable {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
    },
    /// The file cannot be read or written.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// `read` or `write`.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

/// Only the table `[ceilings.LABEL]`.
pub fn fresh(label: &str, proposal: &Proposal) -> String {
    let mut document = DocumentMut::new();
    put(&mut document, label, proposal).expect("an empty document has nothing in the way");
    document.to_string()
}

/// Puts the table into `file`, which is created if missing; a table of the same name is replaced, all else stays.
///
/// # Errors
/// [`CeilingsTomlError`]; the file is then as it was.
pub fn write(file: &Path, label: &str, proposal: &Proposal) -> Result<(), CeilingsTomlError> {
    let io = |what| move |source| CeilingsTomlError::Io { what, path: file.to_owned(), source };
    let text = match fs::read_to_string(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        read => read.map_err(io("read"))?,
    };
    let mut document: DocumentMut =
        text.parse().map_err(|source| CeilingsTomlError::Parse { path: file.to_owned(), source })?;
    put(&mut document, label, proposal).map_err(|key| CeilingsTomlError::NoTable { path: file.to_owned(), key })?;
    replace(file, document.to_string().as_bytes()).map_err(io("write"))
}

/// The key of the conflicting value.
fn put(document: &mut DocumentMut, label: &str, proposal: &Proposal) -> Result<(), String> {
    let all = document.entry("ceilings").or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let all = all.as_table_mut().ok_or("ceilings")?;
    if all.get(label).is_some_and(|item| !item.is_table()) {
        return Err(format!("ceilings.{label}"));
    }
    let mut table = Table::new();
    for ceiling in &proposal.ceilings {
        if proposal.ceilings().get(ceiling.metric).is_none() {
            continue;
        }
        let mut limit = value(ceiling.limit.exact());
        if let Some(limit) = limit.as_value_mut() {
            let range = if ceiling.smallest == ceiling.largest {
                ceiling.largest.to_string()
            } else {
                format!("{} to {}", ceiling.smallest, ceiling.largest)
            };
            limit.decor_mut().set_suffix(format!(" # {range} in {} runs", proposal.runs));
        }
        table.insert(ceiling.metric.name(), limit);
    }
    // Keep what is above the table, such as a user's comment.
    if let Some(before) = all.get(label).and_then(Item::as_table) {
        *table.decor_mut() = before.decor().clone();
        table.set_position(before.position());
    }
    all.insert(label, Item::Table(table));
    Ok(())
}
