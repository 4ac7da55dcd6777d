//! [`merged`]: the output of `plimsoll merge`.

use std::io;
use std::path::Path;

use super::parts::parts;
use super::record::{closing, judgements};
use crate::merge::Merged;
use crate::record::Record;
use crate::report::parts::Parts;
use plimsoll_memory::text::{LABEL, Screen};
use plimsoll_memory::text::{clean, counted, labelled, short, styled};

/// Writes what `plimsoll merge` prints about a record that goes to `path`: its parts and its verdicts. The entries are
/// in the record.
///
/// # Errors
/// Fails if results that wait to be written cannot be read.
pub fn merged(merged: &Merged, path: &Path, screen: &Screen) -> io::Result<String> {
    let head: &Record = merged.head();
    let mut all = Parts::all([]);
    merged.parts().try_for_each(|part| part.map(|part| all.add(&part)))?;
    let heading = styled("plimsoll merge", screen.palette.heading);
    let mut text = format!(" {heading}  {}\n", clean(head.semantics.subject()));
    let parts_words = counted(all.rows.len(), "part", "parts");
    let line = |label: &str, value: &str| labelled(label, screen.palette.dim, value, LABEL, screen);
    if !merged.is_empty() {
        text.push_str(&line("entries", &format!("{} of {parts_words}", merged.len())));
    }
    text.push_str(&line("semantics", &short(&head.semantics_digest)));
    text.push('\n');
    text.push_str(&parts(&all, screen));
    text.push('\n');
    text.push_str(&judgements(head, screen));
    text.push_str(&closing(head, Some(path), screen));
    Ok(text)
}
