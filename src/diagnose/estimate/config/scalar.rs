//! Scalars of YAML and Python.

use serde_json::Value;

/// A scalar of YAML or Python; an enum such as `<OptimizerNames.X: 'x'>` becomes its value.
pub(super) fn scalar(text: &str) -> Value {
    let text = text.trim();
    if let Some((_, value)) = text.strip_prefix('<').and_then(|text| text.trim_end_matches('>').rsplit_once(':')) {
        return scalar(value);
    }
    let bare = text.trim_matches(['"', '\'']);
    if bare.len() < text.len() {
        return Value::String(bare.to_owned());
    }
    match text.to_ascii_lowercase().as_str() {
        "" | "null" | "none" | "~" => Value::Null,
        "true" | "yes" | "on" => Value::Bool(true),
        "false" | "no" | "off" => Value::Bool(false),
        _ => {
            let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
            if let Some(inner) = inner {
                let items = inner.split(',').filter(|item| !item.trim().is_empty()).map(scalar);
                return Value::Array(items.collect());
            }
            serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
        }
    }
}
