//! Estimation: what training a model should cost, before it runs, on the device and on the host, phase by phase.
//!
//! A [`Model`] and a [`Setup`] make an [`Estimate`]: rows of fixed state (weights, master weights, gradients,
//! optimizer), activations and temporaries, each with its formula and the source of the formula. [`Limits`] judge it,
//! and [`ladder`] lists what to change if it does not fit, cheapest first.
//!
//! Tools count differently, and every [`Convention`] is one tool's way to count: bytes per parameter for Adam in mixed
//! precision are 18 by Hugging Face's anatomy of model memory, 16 by the ZeRO paper, 20 by DeepSpeed's code, 18 by
//! Megatron's. An estimate names its own convention and shows the results of the others.
//!
//! Invariants: arithmetic is exact in integers and checked, so that no input overflows; an amount that cannot be
//! computed is absent and named in [`Estimate::not_counted`], never 0; more parameters, tokens or bytes per parameter
//! never yield less memory.

mod activations;
mod arithmetic;
mod cache;
mod candidates;
mod choices;
pub mod config;
mod convention;
mod count;
mod document;
mod error;
mod family;
mod fit;
mod inference;
mod kept;
mod ladder;
mod matrices;
mod megatron;
mod model;
mod names;
mod optimizer;
mod phase;
mod places;
mod plan;
mod rate;
mod row;
mod rung;
pub mod schema;
mod setup;
mod source;
mod state;
mod stored;
mod temporaries;
mod total;

pub use cache::Cache;
pub use choices::{Attention, Offload, Precision, Tuning, ZeroStage};
pub use convention::{Convention, ConventionFigure, accelerate_training};
pub use count::{Count, ParseCountError};
pub use document::{Report, SCHEMA};
pub use error::EstimateError;
pub use family::Family;
pub use fit::{CONTEXT_LEAST, CONTEXT_MOST, Fit, FitVerdict, Limits};
pub use ladder::{Ladder, Step, ladder};
pub use matrices::Matrices;
pub use model::{MAX_WORLD, Model, Shape};
pub use names::ParseNameError;
pub use optimizer::Optimizer;
pub use phase::{Phase, PhaseTotal};
pub use places::Places;
pub use plan::{Change, Plan};
pub use rate::Rate;
pub use row::{Group, Item, Row};
pub use rung::{Effect, Rung};
pub use setup::{BatchFactors, Buckets, Setup};
pub use source::Source;
pub use stored::Stored;
pub use total::Estimate;

/// The former name of [`Effect`].
#[deprecated(note = "renamed to `Effect`: marks are those of a program's phases")]
pub type Mark = Effect;

/// The former name of [`FitVerdict`].
#[deprecated(note = "renamed to `FitVerdict`, as other verdicts are of other things")]
pub type Verdict = FitVerdict;
