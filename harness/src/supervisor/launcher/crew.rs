//! [`Crew`]: the workers of all launchers of a run.

use std::cell::{Cell, RefCell};

/// The workers of all launchers of a run.
#[derive(Debug, Default)]
pub struct Crew {
    started: Cell<u32>,
    /// Their process ids, while they run.
    running: RefCell<Vec<u32>>,
}

impl Crew {
    /// Takes in a worker that has started, and gives it its number, from 1.
    pub(super) fn enter(&self, pid: u32) -> u32 {
        self.running.borrow_mut().push(pid);
        self.started.set(self.started.get() + 1);
        self.started.get()
    }

    /// Ends whatever a worker that has ended left behind. The others are spared, and what they have started.
    pub(super) fn leave(&self, pid: u32) {
        let mut running = self.running.borrow_mut();
        running.retain(|other| *other != pid);
        plimsoll::command::end_children_but(&running);
    }
}
