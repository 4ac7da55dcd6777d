//! [`Side`]: a kernel of a run and its results.

use crate::record::{EntryResult, Rows};

use super::launcher::Launcher;

/// A kernel of a run, with what became of each entry under it.
pub(super) struct Side<'a> {
    pub launcher: &'a mut dyn Launcher,
    /// Who gives the outputs that its audited launches are held to: the same kernel, in a process that times nothing.
    pub witness: Option<&'a mut dyn Launcher>,
    pub results: Rows<EntryResult>,
}
