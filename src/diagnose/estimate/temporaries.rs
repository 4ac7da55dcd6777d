//! Temporaries: memory that exists only for a moment of the backward pass.

use super::activations::{layer, scores};
use super::arithmetic::{bytes, product, sum};
use super::choices::{Attention, Tuning};
use super::convention::Convention;
use super::error::EstimateError;
use super::family::Kept;
use super::model::{Model, Shape};
use super::phase::Phase;
use super::places::Places;
use super::row::{Group, Item, Row};
use super::setup::Setup;
use super::source::Source;
use plimsoll_memory::bytes::ByteSize;

const WHAT: &str = "the temporaries";

/// A row of the backward pass.
fn row(item: Item, amount: ByteSize, formula: impl Into<String>, source: Source) -> Row {
    let phases = [Phase::FirstBackward, Phase::Steady];
    Row::new(Group::Temporaries, item, Places::on_device(amount), &phases, formula.into(), source)
}

/// The rows of the temporaries.
pub(super) fn rows(model: &Model, setup: &Setup) -> Result<Vec<Row>, EstimateError> {
    let mut rows = Vec::new();
    if let (Some(batch), Some(sequence)) = (setup.batch, setup.sequence) {
        let shape = model.shape_or_assumed();
        rows.extend(match Kept::of(&shape, setup) {
            Some(kept) => measured(kept, &shape, setup, [batch, sequence])?,
            None => by_formula(&shape, setup, [batch, sequence])?,
        });
    }
    if let (Tuning::Qlora { .. }, Some(matrix)) = (setup.tuning, model.largest_linear()) {
        let amount = bytes(WHAT, product(WHAT, &[matrix, setup.precision.element()])?, 1)?;
        rows.push(row(Item::Dequantized, amount, "2 B x the largest matrix", Source::QloraPaper));
    }
    if let Some(buckets) = setup.buckets {
        let elements = sum(WHAT, &[u128::from(buckets.reduce), u128::from(buckets.allgather)])?;
        let (factor, formula) = match buckets.overlap {
            true => (9, "2 B x (reduce_bucket_size + allgather_bucket_size) x 4.5 (overlap_comm)"),
            false => (2, "2 B x (reduce_bucket_size + allgather_bucket_size)"),
        };
        let amount = bytes(WHAT, elements.checked_mul(factor).ok_or(EstimateError::TooLarge { what: WHAT })?, 1)?;
        rows.push(row(Item::Buckets, amount, formula, Source::HfDeepspeedGuide));
    }
    Ok(rows)
}

/// The temporaries of the literature.
fn by_formula(shape: &Shape, setup: &Setup, [batch, sequence]: [u64; 2]) -> Result<Vec<Row>, EstimateError> {
    let mut rows = Vec::new();
    if setup.checkpointing {
        let mut again = layer(shape, setup, batch, sequence, 1)?;
        let mut formula = "s b h (18 + 4 ffn/h) of one layer".to_owned();
        if setup.attention == Attention::Eager {
            again += scores(shape, setup, batch, sequence, 1)?;
            formula.push_str(", 5 b a s^2 of its scores");
        }
        let again = bytes(WHAT, u128::from(again.bytes()), u128::from(setup.tensor_parallel))?;
        rows.push(row(Item::RecomputedLayer, again, formula, Source::ActivationPaper));
    }
    // Megatron's footprint counts only the logits, plus 5 % for temporaries.
    if let Some(vocabulary) = shape.logits().filter(|_| setup.convention != Convention::Megatron) {
        let gradient = bytes(WHAT, product(WHAT, &[batch, sequence, vocabulary, 4])?, 1)?;
        rows.push(row(Item::LogitsGradient, gradient, "4 s b V", Source::MegatronCode));
    }
    Ok(rows)
}

/// The temporaries of a family that was measured: the backward pass begins with two gradients as large as the logits in
/// fp32, of the loss and of the logits. A layer that is computed again exists later, when the logits are gone.
fn measured(kept: &Kept, shape: &Shape, setup: &Setup, [batch, sequence]: [u64; 2]) -> Result<Vec<Row>, EstimateError> {
    let logits = product(WHAT, &[batch, sequence, shape.logits().unwrap_or(0), 4])?;
    let mut rows = Vec::new();
    if logits > 0 {
        let amount = bytes(WHAT, logits.saturating_mul(2), 1)?;
        rows.push(row(Item::LogitsGradient, amount, "8 s b V, of the loss and of the logits", Source::Autograd));
    }
    if setup.checkpointing {
        let one = [batch, sequence, 1];
        let mut again = kept.layer.of(shape, one)?;
        let mut formula = format!("s b ({}) of one layer", kept.layer.words(shape));
        if let Some(scores) = kept.layer.scores(shape, one)? {
            again = again.checked_add(scores).ok_or(EstimateError::TooLarge { what: WHAT })?;
            formula.push_str(&format!(", {} of its scores", kept.layer.score_words()));
        }
        let beyond = again.saturating_sub(bytes(WHAT, logits.saturating_mul(3), 1)?);
        formula.push_str(", beyond the logits' 12 s b V");
        rows.extend((beyond > ByteSize::ZERO).then(|| row(Item::RecomputedLayer, beyond, formula, Source::Autograd)));
    }
    Ok(rows)
}
