//! [`Unit`]: what a figure is an amount of.

use serde::{Deserialize, Serialize};

/// The unit of a figure's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Nanoseconds,
    /// Something else that is counted, such as page faults: what it may grow by can only be a share.
    Count,
}
