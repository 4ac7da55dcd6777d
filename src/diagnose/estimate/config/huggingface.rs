//! The fields of a Hugging Face `config.json`.

use super::families;
use super::fields::Fields;
use super::quantized::{self, Quantized};
use super::settings::Settings;
use crate::estimate::error::EstimateError;

/// The settings in a `config.json`: parameters and widths of a known family; otherwise the widths, and the family's
/// name.
pub(super) fn settings(fields: Fields<'_>) -> Result<Settings, EstimateError> {
    let Quantized { format, unread } = quantized::read(fields);
    let unknown = match families::settings(fields, format)? {
        Ok(known) => return Ok(Settings { unread, ..known }),
        Err(unknown) => unknown,
    };
    // Models with several parts keep the decoder's fields separately.
    let parts = ["text_config", "llm_config", "language_config"].map(|part| fields.object(part));
    let inner = parts.into_iter().find(|part| part.value.is_object());
    let fields = if fields.value.get("hidden_size").is_some() { fields } else { inner.unwrap_or(fields) };
    let heads = fields.count(&["num_attention_heads", "n_head", "num_heads"])?;
    let hidden = fields.count(&["hidden_size", "n_embd", "d_model"])?;
    let head = fields.count(&["head_dim"])?.or_else(|| hidden?.checked_div(heads?));
    let wide = |heads: Option<u64>| heads?.checked_mul(head?);
    Ok(Settings {
        unknown: Some(unknown),
        unread: format.map(|_| not_counted(fields)).into_iter().chain(unread).collect(),
        layers: fields.count(&["num_hidden_layers", "n_layer", "num_layers"])?,
        hidden,
        heads,
        key_value: wide(fields.count(&["num_key_value_heads"])?.or(heads)),
        query: wide(heads),
        // Some families list it by layer.
        ffn: fields.count(&["intermediate_size", "n_inner", "ffn_dim", "d_ff"]).unwrap_or_default(),
        // A norm without a bias implies a gated MLP.
        gated: Some(fields.value.get("rms_norm_eps").is_some()),
        vocabulary: fields.count(&["vocab_size"])?,
        ..Settings::default()
    })
}

/// What to say of the quantized weights of an unknown family.
fn not_counted(fields: Fields<'_>) -> String {
    format!(
        "`quantization_config` of {}: which weights of this family are quantized is not known; they are counted at 2 B a \
         parameter",
        fields.path.display()
    )
}
