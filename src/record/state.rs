//! [`RunState`]: whether a run finished.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether a run finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// The run finished, whatever its verdicts.
    Complete,
    /// The run was interrupted, for example by Ctrl-C; the results of unreached entries say so.
    Interrupted,
    /// The run could not continue; the verdicts say why.
    Failed,
}
