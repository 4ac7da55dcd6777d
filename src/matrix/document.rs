//! [`Matrix`]: the table, the document `plimsoll.matrix/1`.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::figure::Figure;
use super::gate::Gate;
use super::plan::Expect;
use crate::gate::{Allowance, Outcome};
use plimsoll_diagnose::trend::Spread;

/// The identifier of the document.
pub const SCHEMA: &str = "plimsoll.matrix/1";

/// Configurations compared with a baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Matrix {
    /// `plimsoll.matrix/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The name of the configuration that the others are compared with.
    pub baseline: String,
    /// How far a configuration may exceed the baseline; empty if nothing is judged.
    pub gate: Gate,
    /// How often each configuration should run.
    pub repeats: u32,
    /// One row per configuration, in the order of the plan.
    pub rows: Vec<Row>,
    /// Whether every expectation was met.
    pub outcome: Outcome,
    /// The outcome as a sentence.
    pub message: String,
}

/// A configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// How it compares with the baseline.
    pub verdict: RowVerdict,
    /// The verdict in words, with remarks.
    pub reading: String,
    /// The number of runs behind its figures.
    pub runs: u32,
    /// How many of its runs failed.
    #[serde(default)]
    pub failed: u32,
    /// The label of the telemetry, if its logs have any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The figures over all runs.
    pub figures: BTreeMap<Figure, Change>,
    /// Allocated memory over all ranks, of the run with the largest difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocated_spread: Option<Spread>,
    /// Reserved memory over all ranks, of the run with the largest difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved_spread: Option<Spread>,
    /// The expected result of the gate.
    pub expect: Expect,
    /// Whether it passes the gate; absent for the baseline, without a gate, and if a figure is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<bool>,
    /// Remarks, such as why a run failed or what could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A figure of a configuration: bytes or nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// The median over the runs.
    pub value: u64,
    /// The smallest value of a run.
    pub lowest: u64,
    /// The largest value of a run.
    pub highest: u64,
    /// The change as a share of the baseline's value; absent if that is unknown or 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// The growth that the gate allows; absent if the figure is not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Allowance>,
    /// Whether the value is near the baseline's: within the gate's allowance, or within the default one if it is not
    /// judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near: Option<bool>,
}

/// How a configuration compares with the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RowVerdict {
    /// The configuration is the baseline.
    Baseline,
    /// Allocated memory is above the baseline.
    Leak,
    /// Allocated memory is near the baseline but reserved memory is not: the cache is fragmented.
    Fragmentation,
    /// Both are near the baseline, but steps take more time.
    Cured,
    /// Both are near the baseline, and steps take no more time.
    Solved,
    /// The log has no telemetry; the meter read more memory than for the baseline.
    MoreMemory,
    /// The log has no telemetry; the meter read memory near the baseline, but more time.
    MoreTime,
    /// The log has no telemetry; the meter read memory and time near the baseline.
    Near,
    /// No run of it succeeded.
    Failed,
    /// A figure of the configuration or of the baseline is missing.
    Unknown,
}

impl fmt::Display for RowVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Baseline => "baseline",
            Self::Leak => "leak",
            Self::Fragmentation => "fragmentation",
            Self::Cured => "cured",
            Self::Solved => "solved",
            Self::MoreMemory => "more memory",
            Self::MoreTime => "more time",
            Self::Near => "near the baseline",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        })
    }
}

impl Matrix {
    /// The exit code of the command: 0 if every expectation was met, 1 if one was not, 3 if undecided.
    pub fn exit_code(&self) -> u8 {
        self.outcome.exit_code()
    }
}
