//! Generation: what a model keeps of earlier tokens, and what it computes at once.

use super::arithmetic::{bytes, product, sum};
use super::cache::Cache;
use super::error::EstimateError;
use super::model::Model;
use super::phase::Phase;
use super::places::Places;
use super::row::{Group, Item, Row};
use super::setup::Setup;
use super::source::Source;

const WHAT: &str = "the KV cache";

/// While a prompt is read, and afterwards.
const ALIVE: [Phase; 2] = [Phase::FirstForward, Phase::Steady];

/// The rows of a model that generates, without its weights; empty if batch or sequence is unknown.
pub(super) fn rows(model: &Model, setup: &Setup) -> Result<Vec<Row>, EstimateError> {
    let (Some(batch), Some(sequence)) = (setup.batch, setup.sequence) else { return Ok(Vec::new()) };
    let (cache, element) = (model.kept(), setup.precision.element());
    let row = |group, item, amount, phases: &[Phase], formula| {
        Row::new(group, item, Places::on_device(amount), phases, formula, Source::OwnCount)
    };
    let too_large = EstimateError::TooLarge { what: WHAT };
    let elements = cache.elements(batch, sequence).and_then(|elements| elements.checked_mul(u128::from(element)));
    let kept = bytes(WHAT, elements.ok_or(too_large)?, 1)?;
    let shape = model.shape_or_assumed();
    // The stream and its norm, plus the widest part of a layer: queries, keys and values, or the MLP's two inner
    // widths.
    let widest = sum(WHAT, &[shape.query, shape.key_value, shape.key_value].map(u128::from))?;
    let widest = widest.max(u128::from(shape.ffn) * if shape.gated { 3 } else { 2 });
    let tokens = product(WHAT, &[batch, sequence, element])?;
    let inner =
        tokens.checked_mul(widest + 3 * u128::from(shape.hidden)).ok_or(EstimateError::TooLarge { what: WHAT })?;
    let words = format!("{element} B x s b (3 h + the widest part of a layer); s = {sequence}, b = {batch}");
    let mut rows = vec![
        row(Group::Activations, Item::Cache, kept, &ALIVE, formula(&cache, element, batch, sequence)),
        row(Group::Temporaries, Item::Prefill, bytes(WHAT, inner, 1)?, &[Phase::FirstForward], words),
    ];
    if let Some(vocabulary) = shape.logits() {
        let logits = bytes(WHAT, product(WHAT, &[batch, vocabulary, 4])?, 1)?;
        let words = format!("4 B x b V of the last token; b = {batch}, V = {vocabulary}");
        rows.push(row(Group::Temporaries, Item::Logits, logits, &ALIVE, words));
    }
    Ok(rows)
}

fn formula(cache: &Cache, element: u64, batch: u64, sequence: u64) -> String {
    let Cache { full, windowed, window, fixed } = *cache;
    let mut parts = Vec::new();
    if full > 0 {
        parts.push(format!("{full} x {sequence} tokens"));
    }
    if windowed > 0 {
        parts.push(format!("{windowed} x {} tokens of a window of {window}", sequence.min(window)));
    }
    if fixed > 0 {
        parts.push(format!("{fixed} of states"));
    }
    format!("{element} B x {batch} sequences x ({})", parts.join(" + "))
}
