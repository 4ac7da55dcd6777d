//! [`Observer`]: follows a run.

use std::time::Instant;

use crate::record::{EntryResult, Record};

/// The parts of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Every entry is launched once and judged.
    Validate,
    /// The validation worker is ended and its memory awaited.
    Release,
    /// Every entry is timed, batch by batch.
    Profile,
    /// Every entry is timed with two kernels in turns.
    Versus,
}

impl Phase {
    /// The name of the phase in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Validate => "validate",
            Self::Release => "release",
            Self::Profile => "profile",
            Self::Versus => "versus",
        }
    }
}

/// Follows the progress of a run, and may stop it.
pub trait Observer {
    /// A phase begins, over this many entries.
    fn phase(&mut self, _phase: Phase, _entries: usize) {}

    /// An entry was judged or timed.
    fn entry(&mut self, _phase: Phase, _result: &EntryResult) {}

    /// When to pass the known facts to [`Observer::keep`]; `None` if never.
    fn keeps(&self) -> Option<Instant> {
        None
    }

    /// The known facts, as a record that is marked as incomplete.
    fn keep(&mut self, _so_far: &Record) {}

    /// Whether the run should stop before the next entry. Earlier results are kept, and the record says so.
    fn cancelled(&self) -> bool {
        false
    }
}

/// An observer that does nothing.
impl Observer for () {}
