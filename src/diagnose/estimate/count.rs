//! [`Count`]: a number of things in everyday notation: `4e9`, `7B`, `124M`, `2048`.

use std::fmt;
use std::str::FromStr;

/// A positive whole number, written with an exponent or one of the suffixes K, M, B, G and T (powers of 1000).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count(pub u64);

/// A text that is not a count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a count: write a whole number of at least 1, such as 4e9, 7B, 124M or 2048")]
pub struct ParseCountError {
    text: String,
}

impl FromStr for Count {
    type Err = ParseCountError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text.trim()).map(Self).ok_or_else(|| ParseCountError { text: text.to_owned() })
    }
}

/// The number, computed in integers: 8.0305e9 has no exact binary fraction.
fn parse(text: &str) -> Option<u64> {
    let (body, mut exponent) = match text.char_indices().last()? {
        (at, 'k' | 'K') => (&text[..at], 3),
        (at, 'm' | 'M') => (&text[..at], 6),
        (at, 'b' | 'B' | 'g' | 'G') => (&text[..at], 9),
        (at, 't' | 'T') => (&text[..at], 12),
        _ => (text, 0),
    };
    let (mantissa, written) = match body.split_once(['e', 'E']) {
        Some((mantissa, digits)) => (mantissa, digits.strip_prefix('+').unwrap_or(digits)),
        None => (body, "0"),
    };
    if !written.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    exponent += written.parse::<i32>().ok().filter(|&e| e <= 30)?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits: String = whole.chars().filter(|&c| c != '_').chain(fraction.chars()).collect();
    if digits.is_empty() || digits.len() > 38 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let scale = exponent - i32::try_from(fraction.len()).ok()?;
    let factor = 10u128.checked_pow(u32::try_from(scale).ok()?)?;
    let count = digits.parse::<u128>().ok()?.checked_mul(factor)?;
    u64::try_from(count).ok().filter(|&count| count > 0)
}

/// `4.00e9` from a million up, otherwise the number itself.
impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 1_000_000 { f.pad(&self.0.to_string()) } else { f.pad(&format!("{:.2e}", self.0 as f64)) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn counts_are_read_exactly() {
        for (text, count) in [
            ("4e9", 4_000_000_000),
            ("7B", 7_000_000_000),
            ("8.0305e9", 8_030_500_000),
            ("8030527488", 8_030_527_488),
            ("124.5M", 124_500_000),
            ("1e15", 1_000_000_000_000_000),
            ("4_096", 4096),
            ("1.50e1", 15),
        ] {
            assert_eq!(text.parse::<Count>(), Ok(Count(count)), "{text}");
        }
    }

    #[test]
    fn what_is_no_count_is_refused() {
        for text in ["", "0", "-4", "1.5", "4e", "e9", "4e9x", "1e40", "NaN", ".", "1e-3", "4.2e0", "é"] {
            assert!(text.parse::<Count>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,24}") {
            let _ = text.parse::<Count>();
        }

        #[test]
        fn whole_numbers_round_trip(count in 1u64..) {
            prop_assert_eq!(count.to_string().parse::<Count>(), Ok(Count(count)));
        }
    }
}
