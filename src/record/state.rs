//! [`RunState`]: whether a run came to its end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether a run came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// The run went to its end, whatever its verdicts.
    Complete,
    /// The run was interrupted, as by Ctrl-C; the results of entries that were not reached say so.
    Interrupted,
    /// The run could not go on; the verdicts say why.
    Failed,
}
