//! [`Outcome`]: what a judgement comes to.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::VerdictStatus;

/// What became of a figure since its baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The figure did not get worse by more than its allowance.
    Pass,
    /// The figure got better by more than its allowance.
    Improved,
    /// The figure got worse by more than its allowance.
    Fail,
    /// The figures are too few or too scattered to tell.
    Inconclusive,
    /// The two were measured of different things, or under conditions of which the figure depends.
    NotComparable,
}

impl Outcome {
    /// The exit code of a command that comes to this: 0 if nothing got worse, 1 if something did, 3 if that
    /// cannot be decided.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Pass | Self::Improved => 0,
            Self::Fail => 1,
            Self::Inconclusive | Self::NotComparable => 3,
        }
    }

    /// As a verdict: what may not be compared is inconclusive.
    pub const fn status(self) -> VerdictStatus {
        match self {
            Self::Pass | Self::Improved => VerdictStatus::Pass,
            Self::Fail => VerdictStatus::Fail,
            Self::Inconclusive | Self::NotComparable => VerdictStatus::Inconclusive,
        }
    }

    /// What several of them come to: a failure outweighs what cannot be decided, and that a pass.
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
