//! Families of models: their composition, from which parameters are counted by a `config.json`.
//!
//! A family is composed of blocks: attention of several kinds, MLPs, experts, state spaces, vision towers. The counts
//! equal those of transformers' own classes: `tests/python/parameter_counts.py` builds the classes on the meta device,
//! for public configurations and for random ones of every family. An unknown family is refused by name.

mod block;
mod classic;
mod counted;
mod decoder;
mod dims;
mod encoders;
mod heads;
mod hybrid;
mod layers;
mod multimodal;
mod names;
mod shared;
mod speech;
mod vision;

use super::adapter::Modules;
use super::fields::Fields;
use super::quantized::Format;
use super::settings::{Settings, Unknown};
use crate::estimate::error::EstimateError;
use crate::estimate::family::Family;
use crate::estimate::stored::Stored;
use counted::Counted;
use dims::Dims;

/// Why a model has no count.
enum Uncounted {
    /// The family of the model, or of one of its parts, is unknown.
    Family(String),
    /// The family is known; what `architectures` puts on top is not.
    Top,
    /// A field is missing or impossible.
    Refused(EstimateError),
}

impl Uncounted {
    fn family(name: &str) -> Self {
        Self::Family(name.to_owned())
    }
}

/// A text model of any known kind.
fn decoder_of(d: &Dims<'_>) -> Option<Result<Counted, EstimateError>> {
    // Qwen's decoders in vision and audio models equal those of its text models.
    let alias = match d.family {
        "qwen2_vl_text" | "qwen2_5_vl_text" | "qwen2_5_omni_text" => "qwen2",
        "qwen3_vl_text" => "qwen3",
        "qwen3_vl_moe_text" | "qwen3_omni_moe_text" => "qwen3_moe",
        _ => "",
    };
    let family = if alias.is_empty() { d.family } else { alias };
    let found = first_of(d, family, &[hybrid::of, shared::of, classic::of, decoder::of])?;
    Some(found.map(|found| names::on_decoder(family, found)))
}

/// A function that counts one group of families; `None` for a family of another group.
type Composition = fn(&Dims<'_>) -> Option<Counted>;

/// The count of the first group that knows `family`; fields that earlier groups missed are not errors of the file.
fn first_of(d: &Dims<'_>, family: &str, groups: &[Composition]) -> Option<Result<Counted, EstimateError>> {
    groups.iter().filter(|_| dims::is_known(family)).find_map(|of| {
        let own = d.named(family);
        let found = of(&own)?;
        Some(own.check().map(|()| found))
    })
}

fn whole(d: &Dims<'_>) -> Result<Counted, Uncounted> {
    if multimodal::FAMILIES.contains(&d.family) {
        let found = multimodal::of(d)?;
        // A model that speaks is named `Model` as a whole.
        let found = if multimodal::speaks(d) { Some(found) } else { heads::on_multimodal(d, found) };
        d.check().map_err(Uncounted::Refused)?;
        return found.ok_or(Uncounted::Top);
    }
    if let Some(found) = decoder_of(d) {
        let found = heads::on_decoder(d, found.map_err(Uncounted::Refused)?);
        d.check().map_err(Uncounted::Refused)?;
        return found.ok_or(Uncounted::Top);
    }
    match first_of(d, d.family, &[encoders::of, vision::of]) {
        Some(found) => found.map_err(Uncounted::Refused),
        None if encoders::FAMILIES.contains(&d.family) || vision::FAMILIES.contains(&d.family) => Err(Uncounted::Top),
        None => Err(Uncounted::family(d.family)),
    }
}

/// The settings in a `config.json` of a known family; the unknown family otherwise.
pub(super) fn settings(fields: Fields<'_>, format: Option<Format>) -> Result<Result<Settings, Unknown>, EstimateError> {
    let family = fields.text("model_type").unwrap_or("");
    let unknown = |family: String| Unknown { path: fields.path.to_owned(), family };
    let flat = flattened(fields, family);
    let fields = flat.as_ref().map_or(fields, |value| Fields { value, ..fields });
    let found = match whole(&Dims::new(fields, family)) {
        Ok(found) => found,
        Err(Uncounted::Family(part)) if part != family && !part.is_empty() => {
            return Ok(Err(unknown(format!("{part}` in `{family}"))));
        }
        Err(Uncounted::Family(_)) => return Ok(Err(unknown(family.to_owned()))),
        Err(Uncounted::Top) => {
            let named = fields.value.get("architectures").and_then(|named| named.get(0)?.as_str()).unwrap_or("");
            return Ok(Err(unknown(format!("{named}` of `{family}"))));
        }
        Err(Uncounted::Refused(error)) => return Err(error),
    };
    let narrow = |value: u128| u64::try_from(value).ok();
    let parameters = narrow(found.whole.all).ok_or(EstimateError::TooLarge { what: "the number of parameters" })?;
    let stored = format.map(|Format { rate, experts, towers }| {
        let of = if experts { found.whole.experts } else { found.whole.matrices };
        let of = if towers || experts { of } else { of.saturating_sub(found.towers) };
        Stored { parameters: narrow(of).unwrap_or(parameters), rate }
    });
    Ok(Ok(Settings {
        parameters: Some(parameters),
        stored,
        linear: narrow(found.whole.matrices.saturating_sub(found.towers)),
        no_logits: Some(!found.words),
        family: Family::named(family),
        active: narrow(found.active).filter(|&active| active > 0),
        largest_layer: narrow(found.whole.largest).filter(|&largest| largest > 0),
        modules: Some(Modules::new(family, found.whole.modules)),
        cache: found.cache,
        layers: narrow(found.layers),
        hidden: narrow(found.hidden),
        heads: narrow(found.heads).filter(|&heads| heads > 0),
        key_value: narrow(found.key_value),
        query: narrow(found.query),
        ffn: narrow(found.ffn).filter(|&ffn| ffn > 0),
        gated: Some(found.gated),
        vocabulary: found.vocabulary.and_then(narrow),
        untied: Some(found.untied),
        ..Settings::default()
    }))
}

/// Older vision models keep the decoder's fields at the top level: moves them into a part of their own.
fn flattened(fields: Fields<'_>, family: &str) -> Option<serde_json::Value> {
    let top = fields.value.as_object()?;
    let old =
        multimodal::FAMILIES.contains(&family) && !top.contains_key("text_config") && top.contains_key("hidden_size");
    if !old {
        return None;
    }
    let mut words = top.clone();
    words.remove("vision_config");
    words.remove("model_type");
    let mut whole = top.clone();
    whole.insert("text_config".to_owned(), words.into());
    Some(whole.into())
}
