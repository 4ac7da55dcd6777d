//! [`Ledger`]: the document `plimsoll.ledger/1`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cause::Ground;
use super::reading::{Place, Reading};
use super::stage::Stage;
use crate::estimate::{EstimateError, Item, Model, Setup};
use crate::telemetry::Position;
use crate::trend::{Finding, Verdict};
use plimsoll_memory::bytes::ByteSize;

/// The value of `schema` in the documents that this version writes.
pub const SCHEMA: &str = "plimsoll.ledger/1";

/// Why there is no ledger.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The setup cannot be estimated.
    #[error(transparent)]
    Estimate(#[from] EstimateError),
    /// There is nothing to account.
    #[error(
        "no reading names a stage: give --reading init=BYTES --reading step1=BYTES, or a log whose labels name init, \
         forward, backward and step"
    )]
    NoReadings,
    /// Readings of one stage stand behind those of a later one.
    #[error("the reading of {stage} stands behind one of {after}: give them in the order of training")]
    Order {
        /// The stage.
        stage: Stage,
        /// The stage before it.
        after: Stage,
    },
}

/// Bytes a parameter by stage, measured beside expected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ledger {
    /// `plimsoll.ledger/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// What was trained.
    pub model: Model,
    /// How.
    pub setup: Setup,
    /// Whose memory.
    pub place: Place,
    /// What was measured, in order.
    pub readings: Vec<Reading>,
    /// From reading to reading.
    pub movements: Vec<Movement>,
    /// What was measured beyond the expected, in the order in which it appeared.
    pub excesses: Vec<Excess>,
    /// The sum of the excesses of each stage that has any.
    pub stages: Vec<StageExcess>,
    /// Bytes a parameter that were measured in all.
    pub measured: f64,
    /// Bytes a parameter that were expected in all.
    pub expected: f64,
    /// Bytes a parameter beyond the expected: measured less expected.
    pub beyond: f64,
    /// Whether that is more than a twentieth of the expected.
    pub exceeds: bool,
    /// The parameters at which excesses are projected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// What the log's trends say beside it, such as host-growth on the way from device to host.
    pub findings: Vec<Finding>,
    /// The gravest of them; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

/// What a stage has beyond the expected, in all.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageExcess {
    /// The stage.
    pub stage: Stage,
    /// Bytes a parameter.
    pub rate: f64,
    /// In all.
    pub bytes: ByteSize,
    /// At the projected number of parameters; absent if none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub projected: Option<ByteSize>,
}

/// From one reading to the next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Movement {
    /// The stage of the second.
    pub stage: Stage,
    /// Its label.
    pub label: String,
    /// Where it stands in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// Bytes a parameter that came, or went if negative.
    pub measured: f64,
    /// Bytes a parameter that were expected to come.
    pub expected: f64,
    /// What they are.
    pub items: Vec<ExpectedItem>,
}

/// What is expected at a stage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExpectedItem {
    /// What it holds.
    pub item: Item,
    /// Bytes a parameter.
    pub rate: f64,
}

/// What was measured beyond the expected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Excess {
    /// What it is.
    pub name: String,
    /// On what ground it is called so.
    pub ground: Ground,
    /// When it appeared.
    pub stage: Stage,
    /// The label at which it appeared.
    pub label: String,
    /// Where that stands in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// Bytes a parameter.
    pub rate: f64,
    /// In all.
    pub bytes: ByteSize,
    /// At the projected number of parameters; absent if none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub projected: Option<ByteSize>,
    /// Whether a later reading is nearer to the expected by most of it; absent if there is no later reading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub came_back: Option<bool>,
    /// Whether a later allocation of its size used it again: `false` if one of that size came on top, `true` if
    /// later steps came and grew nothing; absent if no reading shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reused: Option<bool>,
}
