//! Megatron's theoretical footprint: the most loaded shard, and activations under tensor and pipeline parallelism.

use super::arithmetic::{bytes, product, sum};
use super::choices::{Attention, Precision};
use super::error::EstimateError;
use super::model::{Model, Shape};
use super::phase::Phase;
use super::places::Places;
use super::row::{Group, Item, Row};
use super::setup::Setup;
use super::source::Source;

const WHAT: &str = "Megatron's activations";

/// The parameters of the first pipeline stage: its share of the layers plus the whole embedding, divided among the
/// tensor parallel ranks.
pub(super) fn most_loaded_shard(model: &Model, setup: &Setup) -> Result<u64, EstimateError> {
    const WHAT: &str = "the most loaded shard";
    let (tensor, pipeline) = (setup.tensor_parallel, setup.pipeline_parallel);
    let shape = model.shape.unwrap_or(Shape::new(1, 1));
    let embedding = if pipeline > 1 { shape.embedding_parameters().min(model.parameters) } else { 0 };
    let outside = embedding.saturating_mul(if shape.untied { 2 } else { 1 }).min(model.parameters);
    // Rounded once: (rest / pipeline + embedding) / tensor.
    let numerator = sum(WHAT, &[u128::from(model.parameters - outside), product(WHAT, &[embedding, pipeline])?])?;
    Ok(bytes(WHAT, numerator, product(WHAT, &[tensor, pipeline])?)?.bytes())
}

/// Activations of the first pipeline stage. With sequence parallelism and selective recomputation a layer keeps s b h
/// (18 + 4 ffn/h), otherwise s b h (10 + 24/t); 5 % more are added for temporaries.
pub(super) fn activations(shape: &Shape, setup: &Setup, batch: u64, sequence: u64) -> Result<Vec<Row>, EstimateError> {
    let Shape { layers, hidden, ffn, .. } = *shape;
    let (tensor, pipeline) = (setup.tensor_parallel, setup.pipeline_parallel);
    let tokens = [batch, sequence];
    let scale = Scale::of(setup, &shape.given(batch, sequence))?;
    let selective = setup.sequence_parallel;
    let of = |factors: &[u64]| product(WHAT, &[&tokens[..], factors].concat());
    let (layer, layer_formula) = if setup.checkpointing {
        (of(&[hidden, 2, layers, tensor])?, "2 s b h x layers: full recomputation".to_owned())
    } else if selective {
        let layer = sum(WHAT, &[of(&[hidden, 18, layers])?, of(&[ffn, 4, layers])?])?;
        (layer, "s b h (18 + 4 ffn/h) x layers / t".to_owned())
    } else {
        let layer = sum(WHAT, &[of(&[hidden, 10, tensor, layers])?, of(&[hidden, 24, layers])?])?;
        (layer, "s b h (10 + 24/t) x layers".to_owned())
    };
    // Without sequence parallelism, the embedding's share is not divided among the tensor parallel ranks.
    let divided = if selective { 1 } else { tensor };
    let embedding = sum(WHAT, &[of(&[8, pipeline, divided])?, of(&[hidden, pipeline, divided])?])?;
    let mut rows = vec![
        scale.row(Item::Layers, layer, tensor, &layer_formula)?,
        scale.row(Item::Embedding, embedding, tensor, "8 s b p + s b h p")?,
    ];
    if setup.attention == Attention::Eager && !setup.checkpointing {
        let heads = shape.heads.unwrap_or_else(|| shape.assumed_heads());
        let scores = of(&[sequence, heads, 5, layers])?;
        rows.push(scale.row(Item::AttentionScores, scores, tensor, "5 b a s^2 x layers / t")?);
    }
    if let Some(vocabulary) = shape.logits().filter(|_| pipeline == 1) {
        let each = if selective { 4 } else { 2 };
        let logits = of(&[vocabulary, each])?;
        let input = of(&[hidden, each, divided])?;
        let formula = if selective { "4 s b (h + V) / t" } else { "2 s b (V/t + h)" };
        rows.push(scale.row(Item::Logits, sum(WHAT, &[logits, input])?, tensor, formula)?);
    }
    Ok(rows)
}

/// The factors of all rows.
struct Scale {
    numerator: u128,
    denominator: u128,
    words: String,
    given: String,
}

impl Scale {
    fn of(setup: &Setup, given: &str) -> Result<Self, EstimateError> {
        let (t, p) = (setup.tensor_parallel, setup.pipeline_parallel);
        let given = format!("{given}, t = {t}, p = {p}, m = {}", setup.accumulation);
        let mut scale = Self { numerator: 1, denominator: 1, words: String::new(), given };
        let pipeline = setup.pipeline_parallel;
        if let Some(stages) = setup.virtual_stages {
            // 1 + (p - 1) / (p v).
            let below = product(WHAT, &[pipeline, stages])?;
            scale.times(sum(WHAT, &[below, u128::from(pipeline - 1)])?, below, "(1 + (p - 1)/(p v))");
        } else if pipeline > 1 && setup.accumulation < pipeline {
            scale.times(u128::from(setup.accumulation), u128::from(pipeline), "m/p");
        }
        if !setup.sequence_parallel {
            scale.times(21, 20, "1.05");
        }
        if setup.precision == Precision::Fp32 {
            scale.times(2, 1, "2 (fp32)");
        }
        Ok(scale)
    }

    fn times(&mut self, numerator: u128, denominator: u128, words: &str) {
        self.numerator *= numerator;
        self.denominator *= denominator;
        self.words.push_str(" x ");
        self.words.push_str(words);
    }

    fn row(&self, item: Item, amount: u128, tensor: u64, formula: &str) -> Result<Row, EstimateError> {
        let numerator = amount.checked_mul(self.numerator).ok_or(EstimateError::TooLarge { what: WHAT })?;
        let amount = bytes(WHAT, numerator, self.denominator * u128::from(tensor))?;
        let phases = [Phase::FirstForward, Phase::FirstBackward, Phase::Steady];
        let formula = format!("{formula}{}; {}", self.words, self.given);
        let source = if item == Item::AttentionScores { Source::ActivationPaper } else { Source::MegatronCode };
        Ok(Row::new(Group::Activations, item, Places::on_device(amount), &phases, formula, source))
    }
}
