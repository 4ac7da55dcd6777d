//! Numbers and units within a line.

use super::super::prefix::boundary;
use super::figure::Figure;

/// A whole number from here on is an amount of bytes if its word names a kind of memory.
pub(super) const LEAST_BYTES: f64 = 1_048_576.0;

/// A number with its notation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number<'a> {
    pub(super) value: f64,
    /// Digits after the decimal point.
    pub(super) decimals: i32,
    /// The text after it.
    pub(super) rest: &'a str,
}

impl Number<'_> {
    /// The difference between two neighbouring numbers with this many decimals.
    pub(super) fn step(&self) -> f64 {
        10f64.powi(-self.decimals)
    }

    /// The amount in units of `unit` bytes, with the rounding of its notation.
    pub(super) fn figure(&self, unit: u64) -> Option<Figure> {
        Figure::rounded(self.value, unit, self.step())
    }
}

/// The number at the start of `text`, after optional spaces.
pub(super) fn number(text: &str) -> Option<Number<'_>> {
    let text = text.trim_start();
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let sign = usize::from(text.starts_with(['-', '+']));
    let whole = digits(&text[sign..]);
    let mut end = sign + whole;
    let mut decimals = 0;
    if text[end..].starts_with('.') {
        let fraction = digits(&text[end + 1..]);
        decimals = fraction as i32;
        end += if fraction > 0 { 1 + fraction } else { 0 };
    }
    if whole == 0 && decimals == 0 {
        return None;
    }
    // An exponent, as Python prints small and large floats.
    if text[end..].starts_with(['e', 'E']) {
        let signed = usize::from(text[end + 1..].starts_with(['-', '+']));
        let exponent = digits(&text[end + 1 + signed..]);
        if exponent > 0 {
            let power: i32 = text[end + 1..end + 1 + signed + exponent].parse().ok()?;
            decimals = decimals.saturating_sub(power);
            end += 1 + signed + exponent;
        }
    }
    let value = text[..end].parse::<f64>().ok().filter(|value| value.is_finite())?;
    Some(Number { value, decimals, rest: &text[end..] })
}

/// The number after the first `name` in `text`.
pub(super) fn after<'a>(text: &'a str, name: &str) -> Option<Number<'a>> {
    number(behind(text, name)?)
}

/// The text after the first `name` in `text`.
pub(super) fn behind<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.find(name).map(|at| &text[at + name.len()..])
}

/// The whole number after the first `name` in `text`.
pub(super) fn count(text: &str, name: &str) -> Option<u64> {
    whole(behind(text, name)?)
}

/// The whole number at the start of `text`, after optional spaces.
pub(super) fn whole(text: &str) -> Option<u64> {
    let text = text.trim_start();
    text[..text.bytes().take_while(u8::is_ascii_digit).count()].parse().ok()
}

/// The number that ends right before byte `end` of `text`, except for spaces.
pub(super) fn before(text: &str, end: usize) -> Option<Number<'_>> {
    let head = text[..end].trim_end();
    let start = head.bytes().rev().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    let written = &head[head.len() - start..];
    number(written.trim_start_matches('.'))
}

/// The unit at the start of `text`, in bytes, and the text after it. These texts write GB for 2^30.
pub(super) fn unit(text: &str) -> Option<(u64, &str)> {
    let text = text.trim_start();
    let letters = text.bytes().take_while(u8::is_ascii_alphabetic).count();
    let unit = match &text[..letters] {
        "B" | "bytes" | "byte" => 1,
        "KB" | "KiB" | "kB" => 1 << 10,
        "MB" | "MiB" => 1 << 20,
        "GB" | "GiB" => 1 << 30,
        "TB" | "TiB" => 1 << 40,
        _ => return None,
    };
    Some((unit, &text[letters..]))
}

/// The start of `text`, at most `bytes` long.
pub(super) fn cut(text: &str, bytes: usize) -> &str {
    &text[..boundary(text, bytes)]
}

/// A unit right after a number: `GB`, `GiB`, ` MB`, `G`, `MiB`, `bytes`.
pub(super) fn of_bytes(text: &str) -> Option<(u64, &str)> {
    let short = |letter: char, size: u64| {
        let rest = text.strip_prefix(letter)?;
        (!rest.starts_with(|c: char| c.is_alphanumeric() || c == '/')).then_some((size, rest))
    };
    let whole = unit(text).filter(|(_, rest)| !rest.starts_with("/s") && !rest.starts_with("ps"));
    whole.or_else(|| short('G', 1 << 30)).or_else(|| short('M', 1 << 20))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_read_with_their_digits() {
        for (text, value, decimals, rest) in [
            ("9.36 GB", 9.36, 2, " GB"),
            ("  24 GB", 24.0, 0, " GB"),
            ("-5MB", -5.0, 0, "MB"),
            ("1.5e3x", 1500.0, -2, "x"),
            ("1e-05", 1e-5, 5, ""),
            ("7.", 7.0, 0, "."),
            (".5", 0.5, 1, ""),
        ] {
            assert_eq!(number(text), Some(Number { value, decimals, rest }), "{text}");
        }
        for text in ["", "GB", "-", "e5", "."] {
            assert_eq!(number(text), None, "{text}");
        }
        assert_eq!(before("freed 43.82 GiB", 11).map(|n| n.value), Some(43.82));
    }

    proptest! {
        #[test]
        fn any_text_is_scanned(text in "\\PC{0,40}", end in 0usize..40) {
            let _ = (number(&text), whole(&text), unit(&text));
            if text.is_char_boundary(end) && end <= text.len() {
                let _ = before(&text, end);
            }
        }
    }
}
