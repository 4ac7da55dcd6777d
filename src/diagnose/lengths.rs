//! [`Stated`]: what a line says about the lengths of inputs.

use super::ascii::regex;

/// What a line says about the lengths of inputs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stated {
    /// The last one in the line.
    pub(super) length: Option<u64>,
    /// Whether inputs are packed or padded to one length.
    pub(super) packed: bool,
}

impl Stated {
    pub(super) fn of(text: &str) -> Self {
        let packed = regex!(
            r"(?i)\bpack(?:ing|ed)?[\x22']?\s*[:=]\s*[\x22']?true\b|--packing(?:\s+true|\s+--|\s*$)|pad_to_max_(?:len|length)[\x22']?\s*[:=]\s*true\b|padding[\x22']?\s*[:=]\s*[\x22']?max_length\b"
        );
        let length = regex!(
            r"(?i)\b(?:seq_?len(?:gth)?|max_?len(?:gth)?|num_tokens|longest|src_len|tgt_len|frames)\b\D{1,4}(\d{1,7})\b"
        );
        let last = length.captures_iter(text).last();
        Self { length: last.and_then(|found| found[1].parse().ok()), packed: packed.is_match(text) }
    }
}
