//! What `architectures` puts on top of a model: its output layer, a classifier, or nothing.

use super::block::{Block, NOTHING, linear, weight};
use super::counted::Counted;
use super::dims::Dims;
use crate::estimate::config::adapter::Kind;

/// The top of a model, by the end of its class's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Top {
    /// The output layer of the family's usual training: tokens for a decoder, masked tokens for an encoder.
    Words,
    /// An output layer for the next token, which is not the usual one of the family.
    Causal,
    /// Nothing.
    Bare,
    /// The encoder of an encoder and a decoder, alone.
    Encoder,
    /// A label for each sequence.
    Sequence,
    /// A label for each token.
    Token,
    /// The start and the end of an answer.
    Span,
    /// A score for each of several sequences.
    Choice,
    /// BERT's output layer and a classifier of pairs.
    PreTraining,
    /// The classifier of pairs alone.
    Next,
    /// A label for each image.
    Image,
    /// The pixels of masked patches.
    MaskedImage,
    /// The maps of features alone.
    Backbone,
    /// A label for each recording.
    Audio,
}

/// Ends of names of classes; the longest first.
const ENDS: [(&str, Top); 17] = [
    ("ForSequenceClassification", Top::Sequence),
    ("ForTokenClassification", Top::Token),
    ("ForQuestionAnswering", Top::Span),
    ("ForMultipleChoice", Top::Choice),
    ("ForNextSentencePrediction", Top::Next),
    ("ForImageClassification", Top::Image),
    ("ForMaskedImageModeling", Top::MaskedImage),
    ("ForAudioClassification", Top::Audio),
    ("ForConditionalGeneration", Top::Words),
    ("ForPreTraining", Top::PreTraining),
    ("ForCausalLM", Top::Causal),
    ("ForMaskedLM", Top::Words),
    ("WithLMHeadModel", Top::Words),
    ("LMHeadModel", Top::Causal),
    ("EncoderModel", Top::Encoder),
    ("Backbone", Top::Backbone),
    ("Model", Top::Bare),
];

/// Classes that end like a bare model and are more, or less.
const NOT_BARE: [&str; 6] = ["DoubleHeadsModel", "TextModel", "VisionModel", "AudioModel", "ChatModel", "RewardModel"];

/// The top that `architectures` names, [`Top::Words`] if it names none; `None` for another class.
pub(super) fn top(d: &Dims<'_>) -> Option<Top> {
    let Some(name) = d.architecture() else { return Some(Top::Words) };
    // The same models for other frameworks.
    let name = name.strip_prefix("TF").or_else(|| name.strip_prefix("Flax")).unwrap_or(name);
    let (_, top) = ENDS.iter().find(|(end, _)| name.ends_with(end))?;
    // A decoder that is a part elsewhere is the whole of its own file.
    let whole = name.ends_with("TextModel") && d.family.ends_with("_text");
    let other = *top == Top::Bare && !whole && NOT_BARE.iter().any(|end| name.ends_with(end));
    (!other).then_some(*top)
}

/// `found`, a decoder with its towers and its output layer, with the top that `architectures` names; `None` for a class
/// that is not counted, such as the decoder alone.
pub(super) fn on_multimodal(d: &Dims<'_>, found: Counted) -> Option<Counted> {
    if top(d)? == Top::Causal { None } else { on_decoder(d, found) }
}

/// `found`, a decoder with its output layer, with the top that `architectures` names; `None` for a class that is not
/// counted.
pub(super) fn on_decoder(d: &Dims<'_>, found: Counted) -> Option<Counted> {
    let read = found.read;
    let labels = d.labels();
    let other = match top(d)? {
        Top::Words | Top::Causal | Top::PreTraining => return Some(found),
        Top::Bare => NOTHING,
        Top::Sequence => linear(read, labels, false).named("score"),
        Top::Token => linear(read, labels, true).named("score"),
        Top::Span => linear(read, 2, true).named("qa_outputs"),
        _ => return None,
    };
    Some(without_words(found, other))
}

/// `found` with `other` instead of its output layer.
fn without_words(found: Counted, other: Block) -> Counted {
    let rows = found.vocabulary.unwrap_or(0);
    let words = weight(rows, found.read).when(found.untied) + found.output_bias;
    let mut whole = found.whole + other.of_kind(Kind::Classifier);
    whole.modules.retain(|module| module.kind != Kind::Output);
    whole.all = whole.all.saturating_sub(words.all);
    Counted { whole, untied: false, output_bias: NOTHING, words: false, ..found }
}
