//! What ended a measurement of unknown length: [`plimsoll_statistics::stopping`] says when.

use plimsoll_statistics::stopping::Reason;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most launches that are timed, whatever else is asked for: a record keeps every sample.
pub const MOST_LAUNCHES: u32 = 10_000;

/// What ended a measurement by [`Protocol::Until`](super::Protocol::Until).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The relative standard error of the mean was reached.
    RelativeError,
    /// The timed launches had taken the time that they may.
    Time,
    /// There were 10000 launches.
    Launches,
}

impl From<Reason> for Stop {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::RelativeError => Self::RelativeError,
            Reason::Time => Self::Time,
            Reason::Most => Self::Launches,
        }
    }
}
