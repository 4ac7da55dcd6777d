//! Fixed state: weights, gradients, optimizer, by the convention's bytes per parameter.

use super::arithmetic::at_rate;
use super::choices::{Offload, Precision, Tuning, ZeroStage};
use super::convention::{Convention, Pieces};
use super::count::Count;
use super::error::EstimateError;
use super::matrices::Matrices;
use super::megatron;
use super::model::Model;
use super::phase::Phase;
use super::places::Places;
use super::rate::Rate;
use super::row::{Group, Item, Row};
use super::setup::Setup;
use super::source::Source;
use plimsoll_memory::bytes::ByteSize;

/// Bytes of a parameter in 4 bits with double-quantised constants: 4.127 bits.
pub(super) const QLORA_BASE: Rate = Rate::fraction(516, 1000);

/// Exists from the start.
const ALWAYS: &[Phase] = &Phase::ALL;
/// Exists from the first backward pass on.
const FROM_BACKWARD: &[Phase] = &[Phase::FirstBackward, Phase::FirstStep, Phase::Steady];
/// Exists from the first optimizer step on.
const FROM_STEP: &[Phase] = &[Phase::FirstStep, Phase::Steady];

/// One piece of the state before it is sharded and placed.
struct Piece {
    item: Item,
    rate: Rate,
    sharded: bool,
    offload: Offload,
    phases: &'static [Phase],
    source: Source,
}

/// The rows of the fixed state, and the number of trained parameters.
pub(super) fn rows(model: &Model, setup: &Setup) -> Result<(Vec<Row>, u64), EstimateError> {
    if setup.inference {
        return Ok((generating(model, setup)?.into_iter().collect(), 0));
    }
    let pieces = setup.convention.pieces(setup.precision, optimizer(model, setup));
    let per_gpu = match setup.convention {
        Convention::Megatron => megatron::most_loaded_shard(model, setup)?,
        _ => model.parameters,
    };
    let (trained, adapter) = match setup.tuning {
        Tuning::Full => (per_gpu, false),
        Tuning::Lora { rank } | Tuning::Qlora { rank } => {
            let parts = setup.tensor_parallel.saturating_mul(setup.pipeline_parallel).max(1);
            let parameters = model.adapter_parameters(rank.max(1));
            (parameters.div_ceil(parts), true)
        }
    };
    let mut rows = Vec::new();
    if adapter {
        rows.extend(base(model, per_gpu, setup)?);
    }
    let source = if adapter { Source::LoraPaper } else { setup.convention.source() };
    for piece in trained_pieces(&pieces, setup, source) {
        rows.extend(place(&piece, trained, setup)?);
    }
    Ok((rows, trained))
}

/// Bytes of optimizer state per trained parameter.
pub(super) fn optimizer(model: &Model, setup: &Setup) -> Rate {
    let state = in_fp32(model, setup);
    // Everything in bf16: the state as well.
    let half = setup.convention.without_master(setup.precision) == Some(2) && setup.optimizer.follows_weights();
    if half { Rate::fraction(state.numerator(), state.denominator().saturating_mul(2)) } else { state }
}

fn in_fp32(model: &Model, setup: &Setup) -> Rate {
    let whole = model.matrices_or_assumed();
    let rank = match setup.tuning {
        Tuning::Full => return setup.optimizer.state(&whole, setup.optimizer_rank),
        Tuning::Lora { rank } | Tuning::Qlora { rank } => rank.max(1),
    };
    // Each matrix of an adapter has the rank as its shorter side.
    let (parameters, sides) = (model.adapter_parameters(rank), model.sides());
    let matrices = sides.saturating_mul(rank).min(parameters);
    let adapter =
        Matrices { parameters, matrices, sides, short: 0, long: sides, squares: whole.squares, table_sides: 0 };
    setup.optimizer.state(&adapter, Some(setup.optimizer_rank.unwrap_or(rank).min(rank)))
}

/// The row of the weights of a model that generates.
fn generating(model: &Model, setup: &Setup) -> Result<Option<Row>, EstimateError> {
    let whole =
        Row { item: Item::Weights, ..base(model, model.parameters, setup)?.ok_or(EstimateError::NoParameters)? };
    Ok(Some(if matches!(setup.tuning, Tuning::Qlora { .. }) || model.stored.is_some() {
        whole
    } else {
        Row { source: Source::HfAnatomy, ..whole }
    }))
}

/// The row of a base model that is not trained, with `parameters` on this GPU.
fn base(model: &Model, parameters: u64, setup: &Setup) -> Result<Option<Row>, EstimateError> {
    let (rate, source) = match (setup.tuning, model.stored) {
        (Tuning::Qlora { .. }, Some(stored)) => (stored.mean(model.parameters)?, Source::QloraPaper),
        (Tuning::Qlora { .. }, None) => (QLORA_BASE, Source::QloraPaper),
        (_, Some(stored)) => (stored.mean(model.parameters)?, Source::QuantizationConfig),
        (_, None) => (Rate::whole(setup.precision.element()), Source::LoraPaper),
    };
    let sharded = setup.zero == ZeroStage::Three;
    let offload = setup.offload_parameters;
    let row =
        place(&Piece { item: Item::BaseWeights, rate, sharded, offload, phases: ALWAYS, source }, parameters, setup)?;
    Ok(row.map(|row| match model.stored {
        Some(stored) => Row { formula: format!("{}; {}", row.formula, stored.words(model.parameters)), ..row },
        None => row,
    }))
}

fn trained_pieces(pieces: &Pieces, setup: &Setup, source: Source) -> [Piece; 5] {
    let shards = |stage: ZeroStage| setup.zero >= stage;
    let offloaded = setup.offload != Offload::None;
    // If there are also gradients in 16 bits, those in fp32 are the optimizer's copies of its own shard.
    let copies = if pieces.gradients16.is_zero() { ZeroStage::Two } else { ZeroStage::One };
    let gradients_leave = offloaded && shards(copies);
    // DeepSpeed creates the host's gradients together with the optimizer (`initialize_optimizer_states`).
    let gradients_from = if gradients_leave { ALWAYS } else { FROM_BACKWARD };
    let gradient_place = if gradients_leave { setup.offload } else { Offload::None };
    let piece = |item, rate, sharded, offload, phases| Piece { item, rate, sharded, offload, phases, source };
    // Gradients in 16 bits pass through buckets if those in fp32 are on the host; under ZeRO-3 they are counted with
    // the gathered layer.
    let pass = (offloaded && shards(ZeroStage::Two)) || shards(ZeroStage::Three);
    let gradients16 = if pass { Rate::ZERO } else { pieces.gradients16 };
    [
        piece(Item::Weights, pieces.weights, shards(ZeroStage::Three), setup.offload_parameters, ALWAYS),
        piece(
            Item::MasterWeights,
            pieces.master,
            offloaded || shards(setup.convention.master_stage()),
            setup.offload,
            ALWAYS,
        ),
        piece(Item::Gradients, pieces.gradients, shards(copies), gradient_place, gradients_from),
        piece(Item::Gradients16, gradients16, shards(ZeroStage::Two), Offload::None, FROM_BACKWARD),
        Piece {
            source: setup.optimizer.source().unwrap_or(source),
            ..piece(Item::Optimizer, pieces.optimizer, shards(ZeroStage::One), setup.offload, FROM_STEP)
        },
    ]
}

/// The row of a piece: its bytes on each GPU, or on each node if it is offloaded; `None` if it is empty.
fn place(piece: &Piece, parameters: u64, setup: &Setup) -> Result<Option<Row>, EstimateError> {
    const WHAT: &str = "the fixed state";
    if piece.rate.is_zero() {
        return Ok(None);
    }
    let rate = piece.rate;
    let count = Count(parameters);
    let (places, formula) = if piece.offload == Offload::None {
        let shards = if piece.sharded { setup.shards() } else { 1 };
        let bytes = at_rate(WHAT, parameters, rate, Rate::ONE, shards)?;
        let among = if shards > 1 { format!(" / {shards} GPUs") } else { String::new() };
        (Places::on_device(bytes), format!("{rate} B x {count}{among}"))
    } else {
        // DeepSpeed's ZeRO-2 estimator keeps the whole state on every node.
        let whole = setup.convention == Convention::Deepspeed && setup.zero < ZeroStage::Three;
        let nodes = if whole { 1 } else { setup.sharing_nodes() };
        let bytes = at_rate(WHAT, parameters, rate, Rate::ONE, nodes)?;
        let among = if nodes > 1 { format!(" / {nodes} nodes") } else { String::new() };
        let places = if piece.offload == Offload::Nvme { Places::on_nvme(bytes) } else { Places::on_host(bytes) };
        (places, format!("{rate} B x {count}{among}"))
    };
    let row = Row::new(Group::Fixed, piece.item, places, piece.phases, formula, piece.source);
    Ok(Some(Row { parameters: Some(parameters), ..row }))
}

/// What DeepSpeed's estimators add to the state: the layer that ZeRO-3 gathers, copies of the model during loading, and
/// half as much again on the host.
pub(super) fn deepspeed(model: &Model, setup: &Setup, fixed: &[Row]) -> Result<Vec<Row>, EstimateError> {
    const WHAT: &str = "DeepSpeed's buffers";
    let mut rows = Vec::new();
    if setup.convention != Convention::Deepspeed {
        return Ok(rows);
    }
    let parameters = model.parameters;
    let (largest, _) = model.gathered();
    let source = Source::DeepspeedCode;
    let offloaded = setup.offload != Offload::None;
    // Copies in fp32, one per process: of the whole model, or of the largest layer if the model is created sharded.
    let sharded_init = setup.zero == ZeroStage::Three && setup.zero_init;
    let processes = if offloaded && setup.zero < ZeroStage::Three { setup.world() } else { setup.gpus };
    let (copied, of) = match (sharded_init, offloaded) {
        (true, false) => (largest, "the largest layer"),
        (true, true) => (0, ""),
        (false, _) => (parameters, "parameters"),
    };
    let copies = at_rate(WHAT, copied, Rate::whole(4), Rate::ONE, 1)?;
    let copies = copies.bytes().checked_mul(processes).ok_or(EstimateError::TooLarge { what: WHAT })?;
    let at = |phase: Phase| fixed.iter().map(|row| row.phases[phase.index()].host).sum::<ByteSize>();
    let loading = ByteSize::new(copies).saturating_sub(at(Phase::Init));
    if loading > ByteSize::ZERO {
        let formula = format!("4 B x {} {of} x {processes} processes, beyond the state", Count(copied));
        let places = Places::on_host(loading);
        rows.push(Row::new(Group::Temporaries, Item::Loading, places, &[Phase::Init], formula, source));
    }
    let formula = "half of the host's bytes (additional_buffer_factor 1.5)".to_owned();
    let mut buffers = Row::new(Group::Temporaries, Item::HostBuffers, Places::NONE, &[], formula, source);
    for phase in Phase::ALL {
        let loading = if phase == Phase::Init { loading } else { ByteSize::ZERO };
        let half = (at(phase) + loading).bytes().div_ceil(2);
        buffers.set(phase, Places::on_host(ByteSize::new(half)));
    }
    rows.extend((buffers.peak.host > ByteSize::ZERO).then_some(buffers));
    Ok(rows)
}

/// The layer that ZeRO-3 gathers: its weights and gradients in the precision of computation.
pub(super) fn gathered(model: &Model, setup: &Setup) -> Result<Option<Row>, EstimateError> {
    if setup.zero < ZeroStage::Three {
        return Ok(None);
    }
    let (largest, assumed) = model.gathered();
    let rate = if setup.precision == Precision::Fp32 { 8 } else { 4 };
    let bytes = at_rate("the gathered layer", largest, Rate::whole(rate), Rate::ONE, 1)?;
    let guess = if assumed { " (assumed; --largest-layer)" } else { "" };
    let formula = format!("{rate} B x {} of the largest layer{guess}", Count(largest));
    let phases = [Phase::FirstForward, Phase::FirstBackward, Phase::FirstStep, Phase::Steady];
    // DeepSpeed's estimators count it as fixed state.
    let group = if setup.convention == Convention::Deepspeed { Group::Fixed } else { Group::Temporaries };
    let row = Row::new(group, Item::GatheredLayer, Places::on_device(bytes), &phases, formula, Source::DeepspeedCode);
    Ok(Some(row))
}
