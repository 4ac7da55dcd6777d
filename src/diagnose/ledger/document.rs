//! [`Ledger`]: the document `plimsoll.ledger/1`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cause::Ground;
use super::reading::{MemoryKind, Reading};
use super::stage::Stage;
use crate::estimate::{EstimateError, Item, Model, Setup};
use crate::telemetry::Position;
use crate::trend::{Finding, TrendVerdict};
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
    /// There is no reading to account.
    #[error(
        "no reading names a stage: give --reading init=BYTES --reading step1=BYTES, or a log whose labels name init, \
         forward, backward and step"
    )]
    NoReadings,
    /// A reading of one stage comes after one of a later stage.
    #[error("the reading of {stage} comes after one of {after}: give the readings in the order of training")]
    Order {
        /// The stage.
        stage: Stage,
        /// The later stage that precedes it.
        after: Stage,
    },
}

/// Bytes per parameter by stage, measured and expected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ledger {
    /// `plimsoll.ledger/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The model.
    pub model: Model,
    /// The training setup.
    pub setup: Setup,
    /// The kind of memory.
    pub place: MemoryKind,
    /// The measurements, in order.
    pub readings: Vec<Reading>,
    /// The changes between consecutive readings.
    pub movements: Vec<Movement>,
    /// Measured memory beyond the expected, in the order in which it appeared.
    pub excesses: Vec<Excess>,
    /// The total excess of each stage that has one.
    pub stages: Vec<StageExcess>,
    /// Total bytes per parameter measured.
    pub measured: f64,
    /// Total bytes per parameter expected.
    pub expected: f64,
    /// Bytes per parameter beyond the expected: measured minus expected.
    pub beyond: f64,
    /// Whether the excess is more than 5 % of the expected.
    pub exceeds: bool,
    /// Number of parameters to project excesses to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// Trends of the log, such as host-growth while data moves from device to host.
    pub findings: Vec<Finding>,
    /// The gravest verdict among the findings; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<TrendVerdict>,
}

/// The total excess of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageExcess {
    /// The stage.
    pub stage: Stage,
    /// Bytes per parameter.
    pub rate: f64,
    /// Bytes in total.
    pub bytes: ByteSize,
    /// Bytes at the projected number of parameters; absent if none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub projected: Option<ByteSize>,
}

/// The change from one reading to the next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Movement {
    /// The stage of the second reading.
    pub stage: Stage,
    /// The label of the second reading.
    pub label: String,
    /// Position in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// Bytes per parameter added, or removed if negative.
    pub measured: f64,
    /// Bytes per parameter expected to be added.
    pub expected: f64,
    /// The items that make up the expected bytes.
    pub items: Vec<ExpectedItem>,
}

/// State expected at a stage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExpectedItem {
    /// The content of the memory.
    pub item: Item,
    /// Bytes per parameter.
    pub rate: f64,
}

/// Measured memory beyond the expected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Excess {
    /// The name of the excess.
    pub name: String,
    /// The grounds for the name.
    pub ground: Ground,
    /// The stage at which it appeared.
    pub stage: Stage,
    /// The label at which it appeared.
    pub label: String,
    /// Position of that label in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// Bytes per parameter.
    pub rate: f64,
    /// Bytes in total.
    pub bytes: ByteSize,
    /// Bytes at the projected number of parameters; absent if none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub projected: Option<ByteSize>,
    /// Whether most of the excess disappeared at a later reading; absent if there is no later reading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub came_back: Option<bool>,
    /// Whether a later allocation of the same size reused it: `false` if another such excess was added, `true` if later
    /// steps added nothing; absent if no reading shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reused: Option<bool>,
}
