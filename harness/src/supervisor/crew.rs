//! [`Crew`]: the workers of a process that starts nothing else.

use std::sync::{Mutex, PoisonError};

/// The workers of a process that starts nothing else.
#[derive(Debug, Default)]
pub struct Crew {
    /// Their process ids, while they run.
    running: Mutex<Vec<u32>>,
}

impl Crew {
    /// Adds the processes of a worker that has started.
    pub(super) fn enter(&self, family: &[u32]) {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).extend(family);
    }

    /// Ends the processes that a finished worker left behind, but not other workers and their processes.
    pub(super) fn leave(&self, family: &[u32]) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|other| !family.contains(other));
        plimsoll::command::end_children_but(&running);
    }
}
