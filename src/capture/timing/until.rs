//! The reason why a measurement of open length ended; [`plimsoll_statistics::stopping`] decides when.

use plimsoll_statistics::stopping::Reason;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The maximum number of timed launches, because a record keeps every sample.
pub const MOST_LAUNCHES: u32 = 10_000;

/// The reason why a measurement by [`Protocol::Until`](super::Protocol::Until) ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The relative standard error of the mean was reached.
    RelativeError,
    /// The timed launches used all the time allowed.
    Time,
    /// The limit of 10000 launches was reached.
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
