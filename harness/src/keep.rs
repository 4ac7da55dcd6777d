//! [`Keeper`]: keeps the known facts of a run beside its record while the run goes on.

use std::path::Path;
use std::time::{Duration, Instant};

use plimsoll::elsewhere::is_address;
use plimsoll::record::{PartialRecord, Record};
use plimsoll::run::Observer;

/// Least time between two writes of the record so far.
const EVERY: Duration = Duration::from_secs(1);
/// Writing may take one part in this many of the time.
const PARTS: u32 = 500;

/// Writes `FILE.partial` again and again: what is known if the process is killed. An observer of a check, or a part of
/// one.
pub struct Keeper {
    partial: Option<PartialRecord>,
    next: Instant,
    /// Why the last attempt failed, if it did.
    problem: Option<String>,
}

impl Keeper {
    /// Keeps the record that will be at `record`, or nothing if no record is written.
    pub fn new(record: Option<&Path>) -> Self {
        // Do not upload to an object store every second.
        let record = record.filter(|path| !is_address(path));
        Self { partial: record.map(PartialRecord::beside), next: Instant::now() + EVERY, problem: None }
    }

    /// The path of the partial record, and the error of the last write, if it failed.
    pub fn kept(&self) -> Option<(&Path, Option<&str>)> {
        self.partial.as_ref().map(|partial| (partial.path(), self.problem.as_deref()))
    }

    /// Removes the partial record, once there is a whole one.
    pub fn remove(self) {
        if let Some(partial) = self.partial {
            partial.remove();
        }
    }
}

impl Observer for Keeper {
    fn keeps(&self) -> Option<Instant> {
        self.partial.as_ref().map(|_| self.next)
    }

    fn keep(&mut self, so_far: &Record) {
        let Some(partial) = &mut self.partial else { return };
        let began = Instant::now();
        self.problem = partial.write(so_far).err().map(|error| format!("{}: {error}", partial.path().display()));
        self.next = began + began.elapsed().saturating_mul(PARTS).max(EVERY);
    }
}
