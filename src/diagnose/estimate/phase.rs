//! [`Phase`]: the moments at which memory is counted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::places::Places;

/// A moment of training. They differ in what exists: gradients from the first backward pass on, the optimizer state
/// from the first step on, activations only between a forward pass and its backward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The model and the optimizer are created.
    Init,
    /// The end of the first forward pass.
    FirstForward,
    /// The first backward pass.
    FirstBackward,
    /// The first step of the optimizer, which allocates the optimizer state.
    FirstStep,
    /// The peak of every iteration after the first.
    Steady,
}

impl Phase {
    /// All phases, in order.
    pub const ALL: [Self; 5] = [Self::Init, Self::FirstForward, Self::FirstBackward, Self::FirstStep, Self::Steady];

    /// The name of the phase in a report.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::FirstForward => "first forward",
            Self::FirstBackward => "first backward",
            Self::FirstStep => "step 1",
            Self::Steady => "step 2 and after",
        }
    }

    /// The name of the phase for a model that generates; `None` if it has no such phase.
    pub const fn generating(self) -> Option<&'static str> {
        match self {
            Self::Init => Some("loaded"),
            Self::FirstForward => Some("prompt"),
            Self::FirstBackward | Self::FirstStep => None,
            Self::Steady => Some("generation"),
        }
    }

    /// The index in [`Self::ALL`].
    pub(super) const fn index(self) -> usize {
        self as usize
    }
}

/// The total memory in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseTotal {
    /// The phase.
    pub phase: Phase,
    /// The sum of all rows.
    #[serde(flatten)]
    pub total: Places,
}
