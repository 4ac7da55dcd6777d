//! [`ByteSize`]: an amount of memory or storage, with its unit in the type.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An amount of bytes.
///
/// Printed in binary units (`6.50 GiB`), parsed from binary (`256 MiB`, `1GiB`), decimal (`1.5 GB`) and plain
/// (`4096`) amounts. In JSON it is the exact integer number of bytes.
///
/// ```
/// use plimsoll::ByteSize;
/// let cap: ByteSize = "1.5 GiB".parse()?;
/// assert_eq!(cap.bytes(), 1_610_612_736);
/// assert_eq!(cap.to_string(), "1.50 GiB");
/// # Ok::<(), plimsoll::bytes::ParseByteSizeError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ByteSize(u64);

/// One kibibyte, mebibyte, gibibyte and tebibyte, in bytes.
pub const KIB: u64 = 1 << 10;
/// 2^20 bytes.
pub const MIB: u64 = 1 << 20;
/// 2^30 bytes.
pub const GIB: u64 = 1 << 30;
/// 2^40 bytes.
pub const TIB: u64 = 1 << 40;

impl ByteSize {
    /// No bytes at all.
    pub const ZERO: Self = Self(0);

    /// `bytes` bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// `n` MiB.
    pub const fn mib(n: u64) -> Self {
        Self(n * MIB)
    }

    /// `n` GiB.
    pub const fn gib(n: u64) -> Self {
        Self(n * GIB)
    }

    /// The number of bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }

    /// The amount without rounding, in the largest binary unit that it is a whole number of: `1 MiB`, `1536 MiB`,
    /// `1000 B`. It reads back as the same amount.
    pub fn exact(self) -> String {
        let units = [("TiB", TIB), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB)];
        let whole = units.into_iter().find(|&(_, unit)| self.0 >= unit && self.0.is_multiple_of(unit));
        let (name, unit) = whole.unwrap_or(("B", 1));
        format!("{} {name}", self.0 / unit)
    }

    /// The difference, or zero where `other` is larger.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The sum, or `None` where it exceeds 2^64 - 1 bytes.
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }
}

impl From<u64> for ByteSize {
    fn from(bytes: u64) -> Self {
        Self(bytes)
    }
}

impl Add for ByteSize {
    type Output = Self;
    /// Saturates at 2^64 - 1: no real amount of memory reaches it, and a sum of hostile sizes must not panic.
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for ByteSize {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for ByteSize {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0 {
            n if n < KIB => format!("{n} B"),
            n => {
                // The unit is chosen after rounding, so that 1023.999 KiB reads 1.00 MiB.
                let units = [("KiB", KIB), ("MiB", MIB), ("GiB", GIB), ("TiB", TIB)];
                let fits = |unit: u64| (n as f64 / unit as f64) < 1023.995;
                let (name, unit) = units.into_iter().find(|&(_, u)| fits(u)).unwrap_or(("TiB", TIB));
                format!("{:.2} {name}", n as f64 / unit as f64)
            }
        };
        f.pad(&text)
    }
}

/// A text that is no amount of bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an amount of bytes: write a number and a unit, such as `256 MiB`, `1.5GiB`, `2 GB` or `4096`")]
pub struct ParseByteSizeError {
    text: String,
}

impl FromStr for ByteSize {
    type Err = ParseByteSizeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseByteSizeError { text: text.to_owned() };
        let trimmed = text.trim();
        let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(split);
        let number = number.replace('_', "");
        let unit: u64 = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" | "byte" | "bytes" => 1,
            "k" | "ki" | "kib" => KIB,
            "m" | "mi" | "mib" => MIB,
            "g" | "gi" | "gib" => GIB,
            "t" | "ti" | "tib" => TIB,
            "kb" => 1_000,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            "tb" => 1_000_000_000_000,
            _ => return Err(error()),
        };
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(unit).map(Self).ok_or_else(error);
        }
        let value = number.parse::<f64>().map_err(|_| error())? * unit as f64;
        // 2^64 as f64; anything at or above it has no exact u64.
        if value.is_finite() && value < 18_446_744_073_709_551_616.0 {
            Ok(Self(value.round() as u64))
        } else {
            Err(error())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn prints_in_binary_units() {
        for (bytes, text) in
            [(0, "0 B"), (1023, "1023 B"), (1024, "1.00 KiB"), (MIB - 1, "1.00 MiB"), (GIB + GIB / 2, "1.50 GiB")]
        {
            assert_eq!(ByteSize::new(bytes).to_string(), text);
        }
        assert_eq!(format!("{:>10}", ByteSize::mib(1)), "  1.00 MiB");
    }

    #[test]
    fn parses_binary_decimal_and_plain() {
        for (text, bytes) in [
            ("4GiB", 4 * GIB),
            ("256 MiB", 256 * MIB),
            ("1.5 GB", 1_500_000_000),
            ("4_096", 4096),
            ("2k", 2048),
            (" 0 B ", 0),
        ] {
            assert_eq!(text.parse::<ByteSize>().unwrap().bytes(), bytes, "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_amount() {
        for text in ["", "MiB", "-1 MiB", "1 XiB", "1..2 GiB", "99999999999 TiB", "1e400 GiB", "NaN"] {
            assert!(text.parse::<ByteSize>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn plain_bytes_round_trip(n: u64) {
            prop_assert_eq!(n.to_string().parse::<ByteSize>().unwrap().bytes(), n);
            prop_assert_eq!(ByteSize::new(n).exact().parse::<ByteSize>().unwrap().bytes(), n);
        }
        #[test]
        fn any_text_parses_or_is_refused(text in ".{0,20}") {
            let _ = text.parse::<ByteSize>();
        }
    }
}
