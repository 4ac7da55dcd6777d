//! [`Side`]: a kernel of a run and its results.

use crate::record::{EntryResult, Rows};

use super::launcher::Launcher;

/// A kernel of a run, with the result of each entry.
pub(super) struct Side<'a> {
    pub launcher: &'a mut dyn Launcher,
    /// The witness of its audited launches: the same kernel, in a process that times nothing.
    pub witness: Option<&'a mut dyn Launcher>,
    pub results: Rows<EntryResult>,
}
