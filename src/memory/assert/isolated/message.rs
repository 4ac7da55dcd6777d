//! What the process of a test reports to its parent.

use crate::alloc::HeapReadings;

/// The environment variable that names the test to the process that is to run it.
pub(super) const CHILD: &str = "PLIMSOLL_TEST";

/// The longest panic message that is reported.
pub(super) const LONGEST_PANIC: usize = 1 << 20;

/// A line of the channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Message {
    /// The body is to begin.
    Ready,
    /// A phase is to begin.
    Phase {
        /// Its name.
        name: String,
    },
    /// The body is over.
    Done {
        /// How it ended.
        outcome: Outcome,
        /// What it allocated, or why that is not known.
        heap: Result<HeapReadings, String>,
    },
    /// The body ended otherwise than reported before, or it does not begin: its runner knows more.
    Outcome {
        /// How it ended.
        outcome: Outcome,
    },
}

/// How a body ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Outcome {
    /// The body returned a value that stands for success.
    Returned,
    /// The body returned an error, which it has printed.
    Failed,
    /// The body panicked.
    Panicked {
        /// The message, if it was a text.
        message: String,
    },
    /// The body raised an exception, which its runner shows.
    Raised {
        /// The exception in a line.
        message: String,
    },
    /// The body failed as its runner expected, which is not a failure.
    ExpectedFailure {
        /// Why it is expected to fail.
        message: String,
    },
    /// The test was skipped: there is nothing to judge.
    Skipped,
}
