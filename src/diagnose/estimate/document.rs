//! [`Report`]: the document `plimsoll.estimate/1`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::convention::{Convention, ConventionFigure, accelerate_training};
use super::error::EstimateError;
use super::fit::{Fit, Limits};
use super::ladder::{Ladder, ladder};
use super::model::Model;
use super::phase::Phase;
use super::places::Places;
use super::row::Item;
use super::setup::Setup;
use super::total::Estimate;
use plimsoll_memory::bytes::ByteSize;

/// The value of `schema` in the documents that this version writes.
pub const SCHEMA: &str = "plimsoll.estimate/1";

/// An estimate, whether it fits, and what to do if it does not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// `plimsoll.estimate/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The estimate.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// The available memory.
    pub limits: Limits,
    /// Whether the estimate fits; absent without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fit: Option<Fit>,
    /// Possible changes, cheapest first.
    pub ladder: Ladder,
    /// The figures of each convention for the same setup.
    pub conventions: Vec<ConventionFigure>,
    /// The figure that `accelerate estimate-memory` prints for training with Adam: the maximum of its stages, not the
    /// peak.
    pub accelerate: ByteSize,
}

impl Report {
    /// Estimates `model` under `setup` and judges it by `limits`.
    ///
    /// # Errors
    /// As [`Estimate::of`].
    pub fn of(model: &Model, setup: &Setup, limits: &Limits) -> Result<Self, EstimateError> {
        let estimate = Estimate::of(model, setup)?;
        Ok(Self {
            schema: SCHEMA.to_owned(),
            fit: estimate.fit(limits),
            limits: *limits,
            ladder: ladder(model, setup, limits)?,
            conventions: Convention::ALL.iter().map(|&convention| figure(model, setup, convention)).collect(),
            accelerate: accelerate_training(model.parameters, setup.precision),
            estimate,
        })
    }
}

/// The fixed state of this setup by `convention`.
fn figure(model: &Model, setup: &Setup, convention: Convention) -> ConventionFigure {
    // Only Megatron has tensor and pipeline parallelism: the other conventions count the whole model.
    let whole = Setup {
        tensor_parallel: 1,
        pipeline_parallel: 1,
        virtual_stages: None,
        sequence_parallel: false,
        convention,
        ..*setup
    };
    let setup = if convention == Convention::Megatron { Setup { convention, ..*setup } } else { whole };
    let estimate = Estimate::of(model, &setup);
    let pieces = convention.pieces(setup.precision, super::state::optimizer(model, &setup));
    let host = |estimate: &Estimate| {
        let buffers = estimate.rows.iter().filter(|row| matches!(row.item, Item::Loading | Item::HostBuffers));
        let buffers: Vec<_> = buffers.collect();
        let at = |phase: Phase| {
            let fixed = estimate.rows.iter().filter(|row| row.group == super::row::Group::Fixed);
            fixed.chain(buffers.iter().copied()).fold(Places::NONE, |sum, row| sum + row.phases[phase.index()])
        };
        Phase::ALL.into_iter().map(|phase| at(phase).host).max().unwrap_or(ByteSize::ZERO)
    };
    ConventionFigure {
        convention,
        bytes_per_parameter: pieces.total(),
        device: estimate.as_ref().ok().map(|estimate| estimate.fixed.device),
        host: estimate.as_ref().ok().map(host).filter(|&host| host > ByteSize::ZERO),
    }
}
