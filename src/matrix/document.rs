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

/// Configurations beside a baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Matrix {
    /// `plimsoll.matrix/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The name of the configuration that the others are compared with.
    pub baseline: String,
    /// What a configuration may exceed it by; empty if nothing is judged.
    pub gate: Gate,
    /// How often each configuration is to be run.
    pub repeats: u32,
    /// A row a configuration, in the order of the plan.
    pub rows: Vec<Row>,
    /// Whether everything that is expected was found.
    pub outcome: Outcome,
    /// The outcome in a sentence.
    pub message: String,
}

/// A configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// What it is beside the baseline.
    pub verdict: Verdict,
    /// The verdict in words, with what there is to add.
    pub reading: String,
    /// How many runs its figures are of.
    pub runs: u32,
    /// How many of its runs failed.
    #[serde(default)]
    pub failed: u32,
    /// The label of the telemetry, where its logs have any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The figures, each over all runs.
    pub figures: BTreeMap<Figure, Change>,
    /// Allocated memory over all ranks, of the run where it differs most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocated_spread: Option<Spread>,
    /// Reserved memory over all ranks, of the run where it differs most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved_spread: Option<Spread>,
    /// What the gate is to find.
    pub expect: Expect,
    /// Whether it is within the gate; absent for the baseline, without a gate, and where a figure is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<bool>,
    /// What there is to know: why a run failed, what could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A figure of a configuration: bytes or nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// The median over the runs.
    pub value: u64,
    /// The least of a run.
    pub lowest: u64,
    /// The most of a run.
    pub highest: u64,
    /// The change against the baseline's, as a part of it; absent if that is unknown or 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// What the gate lets it grow by; absent if it is not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Allowance>,
    /// Whether it is near the baseline: within the gate, or within the usual allowance if it is not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near: Option<bool>,
}

/// What a configuration is beside the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The configuration is the baseline.
    Baseline,
    /// Allocated memory is above the baseline.
    Leak,
    /// Allocated memory is near the baseline, reserved is not: the cache is in pieces.
    Fragmentation,
    /// Both are near the baseline, at more time.
    Cured,
    /// Both are near the baseline, at no more time.
    Solved,
    /// The log has no telemetry; the meter read more memory than of the baseline.
    MoreMemory,
    /// The log has no telemetry; the meter read memory near the baseline, at more time.
    MoreTime,
    /// The log has no telemetry; the meter read memory and time near the baseline.
    Near,
    /// No run of it succeeded.
    Failed,
    /// A figure is missing, its own or of the baseline.
    Unknown,
}

impl fmt::Display for Verdict {
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
    /// The exit code of the command: 0 if everything that is expected was found, 1 if something else was, 3 if
    /// that cannot be decided.
    pub fn exit_code(&self) -> u8 {
        self.outcome.exit_code()
    }
}
