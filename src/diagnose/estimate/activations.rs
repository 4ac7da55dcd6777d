//! Activations: what the forward pass keeps for the backward pass.

use super::arithmetic::{bytes, product, sum};
use super::choices::{Attention, Precision};
use super::convention::Convention;
use super::error::EstimateError;
use super::family::Kept;
use super::megatron;
use super::model::{Model, Shape};
use super::phase::Phase;
use super::places::Places;
use super::row::{Group, Item, Row};
use super::setup::Setup;
use super::source::Source;
use plimsoll_memory::bytes::ByteSize;

const WHAT: &str = "the activations";

/// Between a forward pass and its backward pass.
const IN_FLIGHT: [Phase; 3] = [Phase::FirstForward, Phase::FirstBackward, Phase::Steady];

/// The rows of the activations; empty if batch or sequence is unknown.
pub(super) fn rows(model: &Model, setup: &Setup) -> Result<Vec<Row>, EstimateError> {
    let (Some(batch), Some(sequence)) = (setup.batch, setup.sequence) else { return Ok(Vec::new()) };
    let shape = model.shape_or_assumed();
    if setup.convention == Convention::Megatron {
        return megatron::activations(&shape, setup, batch, sequence);
    }
    if let Some(kept) = Kept::of(&shape, setup) {
        return measured(kept, &shape, setup, [batch, sequence]);
    }
    let width = if setup.precision == Precision::Fp32 { " x 2 (fp32)" } else { "" };
    let given = shape.given(batch, sequence);
    let row = |item, amount: ByteSize, formula: String, source| {
        let formula = format!("{formula}{width}; {given}");
        Row::new(Group::Activations, item, Places::on_device(amount), &IN_FLIGHT, formula, source)
    };
    let layers = shape.layers;
    let mut rows = Vec::new();
    if setup.checkpointing {
        let kept = scaled(setup, &[product(WHAT, &[batch, sequence, shape.hidden, 2, layers])?])?;
        let formula = format!("2 s b h x {layers} layers, the inputs only");
        rows.push(row(Item::Layers, kept, formula, Source::ActivationPaper));
    } else {
        let kept = layer(&shape, setup, batch, sequence, layers)?;
        let formula = format!("s b h (18 + 4 ffn/h) x {layers} layers");
        rows.push(row(Item::Layers, kept, formula, Source::ActivationPaper));
        if setup.attention == Attention::Eager {
            let kept = scores(&shape, setup, batch, sequence, layers)?;
            let formula = format!("5 b a s^2 x {layers} layers");
            rows.push(row(Item::AttentionScores, kept, formula, Source::ActivationPaper));
        }
    }
    if let Some(vocabulary) = shape.logits() {
        // Logits and the output layer's input are kept in fp32 at any precision.
        let logits = product(WHAT, &[batch, sequence, vocabulary, 4])?;
        let input = product(WHAT, &[batch, sequence, shape.hidden, 4])?;
        let kept = Places::on_device(bytes(WHAT, sum(WHAT, &[logits, input])?, 1)?);
        let formula = format!("4 s b (h + V); {given}");
        rows.push(Row::new(Group::Activations, Item::Logits, kept, &IN_FLIGHT, formula, Source::MegatronCode));
    }
    Ok(rows)
}

/// The rows of a family that was measured.
fn measured(kept: &Kept, shape: &Shape, setup: &Setup, [batch, sequence]: [u64; 2]) -> Result<Vec<Row>, EstimateError> {
    let given = shape.given(batch, sequence);
    let row = |item, amount: ByteSize, formula: String| {
        let formula = format!("{formula}; {given}");
        Row::new(Group::Activations, item, Places::on_device(amount), &IN_FLIGHT, formula, Source::Autograd)
    };
    let tokens = [batch, sequence, shape.layers];
    let layers = if setup.checkpointing { &kept.checkpoint } else { &kept.layer };
    let mut formula = format!("s b ({}) x {} layers", layers.words(shape), shape.layers);
    let mut amount = layers.of(shape, tokens)?;
    if let Some(mask) = layers.mask([batch, sequence])? {
        amount = amount.checked_add(mask).ok_or(EstimateError::TooLarge { what: WHAT })?;
        formula.push_str(&format!(" + {}, the mask", layers.mask_words()));
    }
    let mut rows = vec![row(Item::Layers, amount, formula)];
    if let Some(scores) = layers.scores(shape, tokens)? {
        let formula = format!("{} x {} layers", layers.score_words(), shape.layers);
        rows.push(row(Item::AttentionScores, scores, formula));
    }
    let (ends, logits) = kept.outside.apart();
    for (item, widths) in [(Item::Embedding, ends), (Item::Logits, logits)] {
        let amount = widths.of(shape, [batch, sequence, 1])?;
        if amount > ByteSize::ZERO {
            rows.push(row(item, amount, format!("s b ({})", widths.words(shape))));
        }
    }
    Ok(rows)
}

/// Memory kept by `layers` layers, without attention scores: s b h (18 + 4 ffn/h) in 16 bits.
pub(super) fn layer(
    shape: &Shape,
    setup: &Setup,
    batch: u64,
    sequence: u64,
    layers: u64,
) -> Result<ByteSize, EstimateError> {
    let attention = product(WHAT, &[batch, sequence, shape.hidden, 18, layers])?;
    let mlp = product(WHAT, &[batch, sequence, shape.ffn, 4, layers])?;
    scaled(setup, &[attention, mlp])
}

/// The attention scores of `layers` layers: 5 b a s^2 in 16 bits.
pub(super) fn scores(
    shape: &Shape,
    setup: &Setup,
    batch: u64,
    sequence: u64,
    layers: u64,
) -> Result<ByteSize, EstimateError> {
    let heads = shape.heads.unwrap_or_else(|| shape.assumed_heads());
    scaled(setup, &[product(WHAT, &[batch, heads, sequence, sequence, layers, 5])?])
}

/// The sum of `terms`, given for 16-bit elements, in the precision of `setup`.
fn scaled(setup: &Setup, terms: &[u128]) -> Result<ByteSize, EstimateError> {
    let terms = sum(WHAT, terms)?;
    let factor = u128::from(setup.precision.element() / 2);
    bytes(WHAT, terms.checked_mul(factor).ok_or(EstimateError::TooLarge { what: WHAT })?, 1)
}
