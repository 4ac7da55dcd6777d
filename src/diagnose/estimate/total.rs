//! [`Estimate`]: the rows for a model in a setup, and their sums by phase.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::choices::{Precision, Tuning};
use super::convention::Convention;
use super::error::EstimateError;
use super::model::Model;
use super::optimizer::Optimizer;
use super::phase::{Phase, PhaseTotal};
use super::places::Places;
use super::row::{Group, Item, Row};
use super::setup::{BatchFactors, Setup};
use super::{activations, inference, state, temporaries};
use plimsoll_memory::bytes::ByteSize;

/// What training a model should cost.
///
/// ```
/// use plimsoll_diagnose::estimate::{Estimate, Model, Setup};
/// let estimate = Estimate::of(&Model::new(4_000_000_000), &Setup::default())?;
/// assert_eq!(estimate.fixed.device.bytes(), 72_000_000_000);
/// # Ok::<(), plimsoll_diagnose::estimate::EstimateError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The model.
    pub model: Model,
    /// The training setup.
    pub setup: Setup,
    /// The number of trained parameters: all, or those of the adapter; in Megatron's convention, those of the most
    /// loaded shard.
    pub trained_parameters: u64,
    /// Bytes per trained parameter by the convention, before sharding and offloading.
    pub bytes_per_parameter: f64,
    /// Every amount, with its formula.
    pub rows: Vec<Row>,
    /// The fixed state in the steady phase: weights, gradients, optimizer.
    pub fixed: Places,
    /// The peak of the activations; absent if batch or sequence is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activations: Option<Places>,
    /// The peak of the temporaries.
    pub temporaries: Places,
    /// The total of each phase, in order.
    pub phases: Vec<PhaseTotal>,
    /// The maximum over all phases, for each place.
    pub peak: Places,
    /// The phase with the most device memory.
    pub peak_phase: Phase,
    /// The factors of the effective batch; absent if the micro-batch is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchFactors>,
    /// What no row contains, and how to add it.
    pub not_counted: Vec<String>,
    /// Assumptions, and limits of what the figures mean.
    pub notes: Vec<String>,
}

impl Estimate {
    /// Estimates `model` under `setup`.
    ///
    /// # Errors
    /// If the two contradict each other, the convention has no formula, or an amount exceeds 16 EiB.
    pub fn of(model: &Model, setup: &Setup) -> Result<Self, EstimateError> {
        model.check()?;
        setup.check()?;
        let (mut rows, trained_parameters) = state::rows(model, setup)?;
        let known = setup.batch.is_some() && setup.sequence.is_some();
        if setup.inference {
            rows.extend(inference::rows(model, setup)?);
        } else {
            rows.extend(state::deepspeed(model, setup, &rows)?);
            rows.extend(state::gathered(model, setup)?);
            rows.extend(activations::rows(model, setup)?);
            rows.extend(temporaries::rows(model, setup)?);
        }
        rows.sort_by_key(|row| (row.group, row.item));

        let total = |phase: Phase| sum(&rows, phase).ok_or(EstimateError::TooLarge { what: "the estimate" });
        let phases = Phase::ALL.into_iter().map(|phase| Ok(PhaseTotal { phase, total: total(phase)? }));
        let phases = phases.collect::<Result<Vec<_>, EstimateError>>()?;
        let peak = phases.iter().fold(Places::NONE, |peak, phase| peak.max(phase.total));
        // The last of equal phases: the peak that remains.
        let peak_phase = phases.iter().max_by_key(|phase| phase.total.device).map_or(Phase::Steady, |peak| peak.phase);
        let of_group = |group: Group| rows.iter().filter(move |row| row.group == group);
        let peak_of = |group| of_group(group).fold(Places::NONE, |sum, row| sum + row.peak);
        let fixed = of_group(Group::Fixed).fold(Places::NONE, |sum, row| sum + row.phases[Phase::Steady.index()]);
        let (activations, temporaries) = (peak_of(Group::Activations), peak_of(Group::Temporaries));
        Ok(Self {
            model: *model,
            setup: *setup,
            trained_parameters,
            bytes_per_parameter: match setup.inference {
                true => fixed.device.bytes() as f64 / model.parameters as f64,
                false => setup.convention.pieces(setup.precision, state::optimizer(model, setup)).total(),
            },
            fixed,
            activations: known.then_some(activations),
            temporaries,
            peak,
            peak_phase,
            batch: setup.batch_factors(),
            not_counted: not_counted(model, setup),
            notes: notes(model, setup).into_iter().chain(beside(setup, &rows, peak)).collect(),
            phases,
            rows,
        })
    }

    /// The memory in `phase`.
    pub fn at(&self, phase: Phase) -> Places {
        self.phases[phase.index()].total
    }
}

/// The sum of a phase; `None` if it exceeds 64 bits.
fn sum(rows: &[Row], phase: Phase) -> Option<Places> {
    let add = |sum: ByteSize, part: ByteSize| sum.checked_add(part);
    rows.iter().try_fold(Places::NONE, |sum, row| {
        let part = row.phases[phase.index()];
        Some(Places {
            device: add(sum.device, part.device)?,
            host: add(sum.host, part.host)?,
            nvme: add(sum.nvme, part.nvme)?,
        })
    })
}

fn not_counted(model: &Model, setup: &Setup) -> Vec<String> {
    let mut missing = Vec::new();
    let known = setup.batch.is_some() && setup.sequence.is_some();
    if setup.inference && !known {
        missing.push("the KV cache and what a prompt needs: give --batch and --seq".to_owned());
    } else if setup.inference {
        missing.push("memory that a server reserves in advance: vLLM takes 90 % of the device by default".to_owned());
    } else if !known {
        missing.push("activations and temporaries of the backward pass: give --batch and --seq".to_owned());
    } else if model.shape.is_none_or(|shape| shape.vocabulary.is_none()) {
        missing.push("logits and their gradient, which are large if the vocabulary is: give --vocab".to_owned());
    }
    missing.push(
        "the CUDA context and NCCL (0.5 to 2 GiB per GPU, which the verdict counts), and the allocator's rounding"
            .to_owned(),
    );
    missing
}

/// What the peak would be less if gradients were not there together with activations: PyTorch's `zero_grad()` frees them,
/// and loops differ in whether it is called before or after the forward pass.
fn beside(setup: &Setup, rows: &[Row], peak: Places) -> Option<String> {
    let alone = setup.accumulation == 1 && setup.world() == 1 && setup.convention == Convention::Hf;
    let of = |wanted: &dyn Fn(&Row) -> bool| -> ByteSize {
        rows.iter().filter(|row| wanted(row)).map(|row| row.phases[Phase::Steady.index()].device).sum()
    };
    let gradients = of(&|row| row.item == Item::Gradients);
    let less = gradients.min(of(&|row| row.group != Group::Fixed));
    let matters = alone && less.bytes() > peak.device.bytes() / 20;
    matters.then(|| {
        format!(
            "gradients and activations are counted together; if zero_grad() is called before the forward pass, the peak \
             is up to {less} lower"
        )
    })
}

/// Fewer parameters than this are probably a number whose unit was forgotten.
const FEW_PARAMETERS: u64 = 10_000;

fn notes(model: &Model, setup: &Setup) -> Vec<String> {
    let mut notes = Vec::new();
    let shape = model.shape_or_assumed();
    let uses_shape = setup.batch.is_some() || setup.tuning != Tuning::Full;
    if model.parameters < FEW_PARAMETERS {
        notes
            .push(format!("{0} parameters are very few: write {0}B for billions, {0}M for millions", model.parameters));
    }
    if shape.assumed && uses_shape {
        let (layers, hidden) = (shape.layers, shape.hidden);
        notes.push(format!(
            "layers and width are assumed, {layers} x {hidden}: give --layers and --hidden, or --config"
        ));
    }
    if setup.inference {
        return notes;
    }
    if model.stored.is_some() && setup.tuning == Tuning::Full {
        notes.push(
            "the file's weights are quantized, and quantized weights are not trained: they are counted as unquantized"
                .to_owned(),
        );
    }
    if setup.precision == Precision::Fp16Mixed {
        notes.push("fp16 needs loss scaling, and at a small batch its second copy of the weights can cost more than its activations save; bf16 needs no scaling".to_owned());
    }
    if setup.optimizer.needs_matrices() && model.matrices.is_none() && model.shape.is_none() {
        notes.push(format!(
            "the state of {} is taken for the matrices of a usual decoder of this size: give --config, or --layers and --hidden",
            setup.optimizer
        ));
    }
    if setup.optimizer == Optimizer::Adam8bit {
        notes.push("8-bit Adam keeps tensors below 4096 elements in fp32, and 8 B of constants per block in addition to its 2 B a parameter".to_owned());
    }
    if setup.convention == Convention::Hf && matches!(setup.optimizer, Optimizer::Adam) {
        notes.push("a fused optimizer is assumed; torch's foreach Adam needs the bytes of its parameters once more during a step".to_owned());
    }
    notes
}
