//! [`Phase`]: the moments at which memory is counted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::places::Places;

/// A moment of training. What is alive differs: gradients are there from the first backward, the optimizer's state from
/// the first step, activations only between a forward and its backward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The model and the optimizer are made.
    Init,
    /// The first forward, at its end.
    FirstForward,
    /// The first backward.
    FirstBackward,
    /// The first step of the optimizer, which allocates its state.
    FirstStep,
    /// The peak of every iteration after the first.
    Steady,
}

impl Phase {
    /// All phases, in order.
    pub const ALL: [Self; 5] = [Self::Init, Self::FirstForward, Self::FirstBackward, Self::FirstStep, Self::Steady];

    /// The phase in words.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::FirstForward => "first forward",
            Self::FirstBackward => "first backward",
            Self::FirstStep => "step 1",
            Self::Steady => "step 2 and after",
        }
    }

    /// The phase of a model that generates, in words; `None` for those that it does not have.
    pub const fn generating(self) -> Option<&'static str> {
        match self {
            Self::Init => Some("loaded"),
            Self::FirstForward => Some("prompt"),
            Self::FirstBackward | Self::FirstStep => None,
            Self::Steady => Some("generation"),
        }
    }

    /// Its place in [`Self::ALL`].
    pub(super) const fn index(self) -> usize {
        self as usize
    }
}

/// What is alive in a phase, in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseTotal {
    /// The phase.
    pub phase: Phase,
    /// The sum of all rows.
    #[serde(flatten)]
    pub total: Places,
}
