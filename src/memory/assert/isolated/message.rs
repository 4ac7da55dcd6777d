//! The messages from the process of a test to its parent.

use crate::alloc::HeapReadings;

/// The environment variable that names the test to run.
pub(super) const CHILD: &str = "PLIMSOLL_TEST";

/// The longest panic message that is sent.
pub(super) const LONGEST_PANIC: usize = 1 << 20;

/// A message, one line on the channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Message {
    /// The body is about to begin.
    Ready,
    /// A phase is about to begin.
    Phase {
        /// Its name.
        name: String,
    },
    /// The body has ended.
    Done {
        /// How it ended.
        outcome: Outcome,
        /// What it allocated, or why that is not known.
        heap: Result<HeapReadings, String>,
    },
    /// A correction of how the body ended, or the news that it does not begin, from a runner that knows more.
    Outcome {
        /// How it ended.
        outcome: Outcome,
    },
}

/// How a body ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Outcome {
    /// The body returned a value that means success.
    Returned,
    /// The body returned an error, which it has printed.
    Failed,
    /// The body panicked.
    Panicked {
        /// The message, if it was a text.
        message: String,
    },
    /// The body raised an exception, which its runner prints.
    Raised {
        /// The exception on one line.
        message: String,
    },
    /// The body failed as its runner expected, so it counts as a success.
    ExpectedFailure {
        /// Why it is expected to fail.
        message: String,
    },
    /// The test was skipped: there is nothing to judge.
    Skipped,
}
