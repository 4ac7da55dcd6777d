//! What is known of a run while it goes on, kept beside its record.

use std::path::Path;
use std::time::{Duration, Instant};

use plimsoll::elsewhere::is_address;
use plimsoll::record::{PartialRecord, Record};

/// Least time between two writes of the record so far.
const EVERY: Duration = Duration::from_secs(1);
/// One part in so many of the time may go into it.
const PARTS: u32 = 500;

/// Writes `FILE.partial` again and again.
pub struct Keeper {
    partial: Option<PartialRecord>,
    next: Instant,
    /// Why the last attempt failed, if it did.
    problem: Option<String>,
}

impl Keeper {
    /// For the record that is to be at `record`; keeps nothing if there is to be none.
    pub fn new(record: Option<&Path>) -> Self {
        // Nothing is sent to an object store every second.
        let record = record.filter(|path| !is_address(path));
        Self { partial: record.map(PartialRecord::beside), next: Instant::now() + EVERY, problem: None }
    }

    /// When it is to be written again, if it is kept at all.
    pub fn due(&self) -> Option<Instant> {
        self.partial.as_ref().map(|_| self.next)
    }

    /// Writes what `record` gives.
    pub fn keep(&mut self, record: impl FnOnce() -> Record) {
        if self.partial.is_some() {
            self.write(&record());
        }
    }

    /// Writes `record`.
    pub fn write(&mut self, record: &Record) {
        let Some(partial) = &mut self.partial else { return };
        let began = Instant::now();
        self.problem = partial.write(record).err().map(|error| format!("{}: {error}", partial.path().display()));
        self.next = began + began.elapsed().saturating_mul(PARTS).max(EVERY);
    }

    /// Where it is kept, and why it could not be written the last time, if it could not.
    pub fn kept(&self) -> Option<(&Path, Option<&str>)> {
        self.partial.as_ref().map(|partial| (partial.path(), self.problem.as_deref()))
    }

    /// Removes it.
    pub fn remove(self) {
        if let Some(partial) = self.partial {
            partial.remove();
        }
    }
}
