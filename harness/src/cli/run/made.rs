//! [`Made`]: what was run.

use std::time::{Duration, SystemTime};

use plimsoll::ByteSize;
use plimsoll::command::Repeats;
use plimsoll::record::Environment;

/// What was run.
pub struct Made {
    /// The runs that are recorded; at least one.
    pub repeats: Repeats,
    /// The start of the first run, warm-ups included.
    pub started: SystemTime,
    /// The time from then to the end of the last run.
    pub wall: Duration,
    /// Whether a terminating signal came, so that there are fewer runs than requested.
    pub interrupted: bool,
    /// Whether the guardian was killed, and the command with it.
    pub orphaned: bool,
    /// The machine, as it was during the first run.
    pub environment: Option<Environment>,
    /// Files in memory that no figure counts, if they matter.
    pub uncounted: Option<ByteSize>,
}

impl Made {
    /// Runs that nothing cut short.
    pub fn new(repeats: Repeats, started: SystemTime, wall: Duration) -> Self {
        Self { repeats, started, wall, interrupted: false, orphaned: false, environment: None, uncounted: None }
    }
}
