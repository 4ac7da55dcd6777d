//! [`Outcome`]: the result of a judgement.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::VerdictStatus;

/// The result of comparing a figure with its baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The figure did not get worse by more than its allowance.
    Pass,
    /// The figure got better by more than its allowance.
    Improved,
    /// The figure got worse by more than its allowance.
    Fail,
    /// There are too few figures, or they scatter too much, to decide.
    Inconclusive,
    /// The two measured different things, or differ in a condition that affects the figure.
    NotComparable,
}

impl Outcome {
    /// The exit code for this outcome: 0 if nothing got worse, 1 if something did, 3 if undecided.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Pass | Self::Improved => 0,
            Self::Fail => 1,
            Self::Inconclusive | Self::NotComparable => 3,
        }
    }

    /// The outcome as a verdict status: figures that cannot be compared are inconclusive.
    pub const fn status(self) -> VerdictStatus {
        match self {
            Self::Pass | Self::Improved => VerdictStatus::Pass,
            Self::Fail => VerdictStatus::Fail,
            Self::Inconclusive | Self::NotComparable => VerdictStatus::Inconclusive,
        }
    }

    /// The overall outcome: a failure outweighs an undecided result, which outweighs a pass.
    pub fn of_all(outcomes: impl IntoIterator<Item = Self>) -> Self {
        let weight = |outcome: &Self| match outcome {
            Self::Pass => 0,
            Self::Improved => 1,
            Self::NotComparable => 2,
            Self::Inconclusive => 3,
            Self::Fail => 4,
        };
        outcomes.into_iter().max_by_key(weight).unwrap_or(Self::Pass)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Pass => "pass",
            Self::Improved => "improved",
            Self::Fail => "fail",
            Self::Inconclusive => "inconclusive",
            Self::NotComparable => "not comparable",
        })
    }
}
