//! [`ByteSize`]: an amount of memory or storage, with its unit in the type.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};
use std::str::FromStr;

/// An amount of bytes.
///
/// Displayed in binary units (`6.50 GiB`); parsed from binary (`256 MiB`, `1GiB`) and decimal (`1.5 GB`) amounts. Text
/// needs a unit, because whoever writes `16` may mean MiB; only `0` needs none. In JSON it is the exact integer number
/// of bytes.
///
/// ```
/// use plimsoll_memory::ByteSize;
/// let cap: ByteSize = "1.5 GiB".parse()?;
/// assert_eq!(cap.bytes(), 1_610_612_736);
/// assert_eq!(cap.to_string(), "1.50 GiB");
/// # Ok::<(), plimsoll_memory::bytes::ParseByteSizeError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(description = "An amount of bytes, exactly."))]
#[cfg_attr(feature = "schema", serde(transparent))]
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
    /// Zero bytes.
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

    /// Parses an amount like [`FromStr`], but usable in constants; `None` if it is invalid.
    ///
    /// ```
    /// use plimsoll_memory::ByteSize;
    /// const CAP: ByteSize = ByteSize::parse("1.5 GiB").expect("an amount");
    /// assert_eq!(CAP.bytes(), 1_610_612_736);
    /// ```
    pub const fn parse(text: &str) -> Option<Self> {
        /// More digits of a fraction cannot change an amount of bytes, so they are not read.
        const FRACTION: u32 = 18;
        let text = text.as_bytes().trim_ascii();
        let (mut at, mut digits, mut number) = (0, 0u32, 0u128);
        // The number of digits after the point.
        let mut fraction: Option<u32> = None;
        while at < text.len() {
            match text[at] {
                b'_' => {}
                b'.' if fraction.is_none() => fraction = Some(0),
                digit @ b'0'..=b'9' => {
                    digits += 1;
                    match fraction {
                        Some(FRACTION) => {}
                        behind => {
                            if let Some(behind) = behind {
                                fraction = Some(behind + 1);
                            }
                            number = number * 10 + (digit - b'0') as u128;
                            // 2^64 bytes with all digits of a fraction: anything larger is out of range.
                            if number > (1 << 64) * 10u128.pow(FRACTION) {
                                return None;
                            }
                        }
                    }
                }
                _ => break,
            }
            at += 1;
        }
        let name = text.split_at(at).1.trim_ascii();
        let Some(unit) = unit(name) else { return None };
        if digits == 0 || (name.is_empty() && number != 0) {
            return None;
        }
        let scale = match fraction {
            Some(behind) => 10u128.pow(behind),
            None => 1,
        };
        let Some(bytes) = number.checked_mul(unit as u128) else { return None };
        let bytes = (bytes + scale / 2) / scale;
        if bytes > u64::MAX as u128 { None } else { Some(Self(bytes as u64)) }
    }

    /// The number of bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }

    /// The amount without rounding, in the largest binary unit in which it needs at most two decimals: `1 MiB`, `1.5
    /// GiB`, `1000 B`. Parsing it gives the same amount.
    pub fn exact(self) -> String {
        let units = [("TiB", TIB), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB)];
        let short = |&(_, unit): &(&str, u64)| self.0 >= unit && ((self.0 % unit) * 100).is_multiple_of(unit);
        let (name, unit) = units.into_iter().find(short).unwrap_or(("B", 1));
        let (whole, hundredths) = (self.0 / unit, (self.0 % unit) * 100 / unit);
        match hundredths {
            0 => format!("{whole} {name}"),
            tenths if tenths.is_multiple_of(10) => format!("{whole}.{} {name}", tenths / 10),
            hundredths => format!("{whole}.{hundredths:02} {name}"),
        }
    }

    /// The difference, or zero if `other` is larger.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The sum, or `None` if it exceeds 2^64 - 1 bytes.
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
    /// Saturates at 2^64 - 1: no real amount of memory is that large, and a sum of hostile sizes must not panic.
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
                // The unit is chosen after rounding, so that 1023.999 KiB becomes 1.00 MiB.
                let units = [("KiB", KIB), ("MiB", MIB), ("GiB", GIB), ("TiB", TIB)];
                let fits = |unit: u64| (n as f64 / unit as f64) < 1023.995;
                let (name, unit) = units.into_iter().find(|&(_, u)| fits(u)).unwrap_or(("TiB", TIB));
                format!("{:.2} {name}", n as f64 / unit as f64)
            }
        };
        f.pad(&text)
    }
}

/// The error for text that is not an amount of bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not an amount of bytes: write a number and its unit, such as `256 MiB`, `1.5GiB`, `2 GB` or `4096 B`"
)]
pub struct ParseByteSizeError {
    text: String,
}

impl ParseByteSizeError {
    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl FromStr for ByteSize {
    type Err = ParseByteSizeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text).ok_or_else(|| ParseByteSizeError { text: text.to_owned() })
    }
}

/// The bytes of a unit, ignoring case.
const fn unit(name: &[u8]) -> Option<u64> {
    let mut lower = [0; 5];
    if name.len() > lower.len() {
        return None;
    }
    let mut at = 0;
    while at < name.len() {
        lower[at] = name[at].to_ascii_lowercase();
        at += 1;
    }
    match lower.split_at(name.len()).0 {
        b"" | b"b" | b"byte" | b"bytes" => Some(1),
        b"k" | b"ki" | b"kib" => Some(KIB),
        b"m" | b"mi" | b"mib" => Some(MIB),
        b"g" | b"gi" | b"gib" => Some(GIB),
        b"t" | b"ti" | b"tib" => Some(TIB),
        b"kb" => Some(1_000),
        b"mb" => Some(1_000_000),
        b"gb" => Some(1_000_000_000),
        b"tb" => Some(1_000_000_000_000),
        _ => None,
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
    fn parses_binary_and_decimal_units() {
        for (text, bytes) in [
            ("4GiB", 4 * GIB),
            ("256 MiB", 256 * MIB),
            ("1.5 GB", 1_500_000_000),
            ("4_096 B", 4096),
            ("0", 0),
            ("2k", 2048),
            (" 0 B ", 0),
            ("0.3kb", 300),
            (".5 MiB", MIB / 2),
            ("2. KiB", 2048),
            ("1.0000000000000000000001 GiB", GIB),
            ("0.5 B", 1),
            ("18446744073709551615 B", u64::MAX),
            ("16777215.999999 TiB", 18_446_744_073_708_452_104),
        ] {
            assert_eq!(text.parse::<ByteSize>().unwrap().bytes(), bytes, "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_amount() {
        for text in [
            "",
            "MiB",
            "-1 MiB",
            "1 XiB",
            "1..2 GiB",
            "99999999999 TiB",
            "1e400 GiB",
            "NaN",
            ".",
            "_",
            "18446744073709551616 B",
            "16",
            "4_096",
        ] {
            assert!(text.parse::<ByteSize>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn plain_bytes_round_trip(n: u64) {
            prop_assert_eq!(format!("{n} B").parse::<ByteSize>().unwrap().bytes(), n);
            prop_assert_eq!(ByteSize::new(n).exact().parse::<ByteSize>().unwrap().bytes(), n);
        }
        #[test]
        fn fractions_are_the_nearest_amount(whole in 0u64..1 << 20, behind in 0u32..1_000_000, mib: bool) {
            let unit = if mib { MIB } else { 1_000_000 };
            let text = format!("{whole}.{behind:06} {}", if mib { "MiB" } else { "MB" });
            let exact = (whole as f64 + f64::from(behind) / 1e6) * unit as f64;
            let parsed = text.parse::<ByteSize>().unwrap().bytes() as f64;
            prop_assert!((parsed - exact).abs() <= 0.51, "{text}: {parsed}, {exact}");
        }
        #[test]
        fn any_text_parses_or_is_refused(text in ".{0,20}") {
            let _ = text.parse::<ByteSize>();
        }
    }
}
