//! The grammar of `plimsoll::ByteSize`, which this crate cannot depend on; a test of `plimsoll` holds the two together.

/// The bytes of an amount such as `256 MiB`, `1.5 GB` or `4096`; `None` where the text is none.
pub fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number = number.replace('_', "");
    let unit: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" | "byte" | "bytes" => 1,
        "k" | "ki" | "kib" => 1 << 10,
        "m" | "mi" | "mib" => 1 << 20,
        "g" | "gi" | "gib" => 1 << 30,
        "t" | "ti" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return None,
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(unit);
    }
    let value = number.parse::<f64>().ok()? * unit as f64;
    // 2^64 as f64; anything at or above it has no exact u64.
    (value.is_finite() && value < 18_446_744_073_709_551_616.0).then(|| value.round() as u64)
}
