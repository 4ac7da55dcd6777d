//! [`Made`]: what was run.

use std::time::{Duration, SystemTime};

use plimsoll::command::Repeats;

/// What was run.
pub struct Made {
    /// The runs that are recorded; at least one.
    pub repeats: Repeats,
    /// When the first of all began, those of the warm-up included.
    pub started: SystemTime,
    /// From then to the end of the last.
    pub wall: Duration,
    /// Whether a signal that ends a process came, so that there are fewer runs than were asked for.
    pub interrupted: bool,
    /// Whether the guardian was killed, and the command with it.
    pub orphaned: bool,
}
