//! Amounts of memory in the notation of messages.

use plimsoll_memory::bytes::ByteSize;

/// Sizes from here on mean unknown or unlimited, or are garbage: no processor addresses as much.
const UNKNOWN: u64 = 1 << 56;

/// Whether no machine has a size like `text`, such as a difference that went below zero.
pub(super) fn beyond(text: &str) -> bool {
    let digits =
        text.chars().take_while(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | ' ')).any(|c| c.is_ascii_digit());
    digits && bytes(text).is_none()
}

/// The bytes of `0x10000`.
pub(super) fn hexadecimal(text: &str) -> Option<ByteSize> {
    let bytes = u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()?;
    (bytes < UNKNOWN).then(|| ByteSize::new(bytes))
}

/// The bytes of `text`: a number and a unit, `1.50 GiB`, `256 bytes`, `711. MiB`, `16.0G`, `123,456kB`. Units are
/// binary in every spelling: allocators, kernels and Ray all divide by 1024. `None` for sizes that no machine has, and
/// for texts that are not an amount.
pub(super) fn bytes(text: &str) -> Option<ByteSize> {
    let text: String = text.chars().filter(|c| !matches!(c, ',' | ' ')).collect();
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" | "byte" | "bytes" => 0,
        "k" | "kb" | "ki" | "kib" => 10,
        "m" | "mb" | "mi" | "mib" | "megabytes" => 20,
        "g" | "gb" | "gi" | "gib" => 30,
        "t" | "tb" | "ti" | "tib" => 40,
        "p" | "pb" | "pib" => 50,
        "e" | "eb" | "eib" => 60,
        _ => return None,
    };
    let bytes = match number.parse::<u64>() {
        Ok(whole) => whole.checked_mul(1 << shift)?,
        Err(_) => {
            let value = number.parse::<f64>().ok()? * (1u64 << shift) as f64;
            if value >= UNKNOWN as f64 {
                return None;
            }
            value.round() as u64
        }
    };
    (bytes < UNKNOWN).then(|| ByteSize::new(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_those_of_the_text_and_the_unknown_is_absent() {
        for (text, expected) in [
            ("2.00 MiB", Some(2 << 20)),
            ("1024.00 KiB", Some(1 << 20)),
            ("0 bytes", Some(0)),
            ("711. MiB", Some(711 << 20)),
            ("5.93 GB", Some(6_367_289_016)),
            ("16.0G", Some(16 << 30)),
            ("16Gi", Some(16 << 30)),
            ("26,184,840kB", Some(26_184_840 << 10)),
            ("17179869184.00 GiB", None),
            ("18446744073709551615 bytes", None),
            ("99999999999999999999 bytes", None),
            ("9007199254740988kB", None),
            ("1.2.3 GiB", None),
            ("MiB", None),
        ] {
            assert_eq!(bytes(text).map(ByteSize::bytes), expected, "{text}");
        }
    }
}
