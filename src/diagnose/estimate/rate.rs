//! [`Rate`]: exact bytes per parameter.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bytes per parameter, as a quotient of integers; a number in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    numerator: u64,
    denominator: u64,
}

impl Rate {
    /// Zero bytes per parameter.
    pub const ZERO: Self = Self::whole(0);

    /// One byte per parameter.
    pub const ONE: Self = Self::whole(1);

    /// `bytes` bytes per parameter.
    pub const fn whole(bytes: u64) -> Self {
        Self { numerator: bytes, denominator: 1 }
    }

    /// `numerator / denominator` bytes per parameter; a denominator of 0 counts as 1.
    pub const fn fraction(numerator: u64, denominator: u64) -> Self {
        Self { numerator, denominator: if denominator == 0 { 1 } else { denominator } }
    }

    /// The numerator.
    pub const fn numerator(self) -> u64 {
        self.numerator
    }

    /// The denominator, at least 1.
    pub const fn denominator(self) -> u64 {
        self.denominator
    }

    /// Whether the rate is zero.
    pub const fn is_zero(self) -> bool {
        self.numerator == 0
    }

    /// The rate as a number.
    pub fn value(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

/// `4`, `0.516`: only the digits needed, at most three.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:.3}", self.value());
        f.pad(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl Serialize for Rate {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.value())
    }
}

impl<'de> Deserialize<'de> for Rate {
    /// Rounded to the nearest millionth: rates are written with few digits.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(deserializer)?;
        Ok(Self::fraction((value * 1e6).round() as u64, 1_000_000))
    }
}

impl JsonSchema for Rate {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Rate".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "number", "minimum": 0, "description": "Bytes a parameter." })
    }
}
