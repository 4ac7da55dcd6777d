//! [`RelativeError`]: how precisely a mean must be known.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A relative standard error of a mean, above 0 and below 1: 0.005 for half a per cent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "f64", into = "f64")]
#[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
pub struct RelativeError(f64);

/// A number or text that is not a relative error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a relative error: write a part of the mean, such as `0.5%` or `0.005`, above 0 and below 1")]
pub struct RelativeErrorError(String);

impl RelativeError {
    /// Half a percent, which nvbench uses too (for the deviation, not the error of the mean).
    pub const DEFAULT: Self = Self(0.005);

    /// # Errors
    /// [`RelativeErrorError`] if `value` is not above 0 and below 1.
    pub fn new(value: f64) -> Result<Self, RelativeErrorError> {
        if value > 0.0 && value < 1.0 { Ok(Self(value)) } else { Err(RelativeErrorError(value.to_string())) }
    }

    /// The number.
    pub const fn get(self) -> f64 {
        self.0
    }
}

/// The type has total equality, because it never holds NaN.
impl Eq for RelativeError {}

impl Hash for RelativeError {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

impl TryFrom<f64> for RelativeError {
    type Error = RelativeErrorError;

    fn try_from(value: f64) -> Result<Self, Self::Error> {
        Self::new(value)
    }
}

impl From<RelativeError> for f64 {
    fn from(error: RelativeError) -> Self {
        error.0
    }
}

impl FromStr for RelativeError {
    type Err = RelativeErrorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || RelativeErrorError(text.to_owned());
        let value = match text.strip_suffix('%') {
            Some(percent) => percent.trim_end().parse::<f64>().map_err(|_| refused())? / 100.0,
            None => text.parse().map_err(|_| refused())?,
        };
        Self::new(value).map_err(|_| refused())
    }
}

impl fmt::Display for RelativeError {
    /// Writes the value in percent, with the fewest digits that distinguish it from its neighbours.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A hundred times a number may end in a spurious digit: 0.07 is 7 %, not 7.000000000000001 %.
        let percent = format!("{:.10}", self.0 * 100.0);
        let percent = percent.trim_end_matches('0').trim_end_matches('.');
        if percent == "0" { write!(f, "{:e}", self.0) } else { write!(f, "{percent}%") }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn is_written_in_per_cent_or_as_a_part() {
        for (text, value, shown) in
            [("0.5%", 0.005, "0.5%"), ("0.005", 0.005, "0.5%"), ("7 %", 0.07, "7%"), ("1e-14", 1e-14, "1e-14")]
        {
            let error: RelativeError = text.parse().unwrap();
            assert_eq!((error.get(), error.to_string().as_str()), (value, shown));
        }
        for text in ["0", "1", "100%", "-0.1", "nan", "%", "", "0.5 percent"] {
            let refused = text.parse::<RelativeError>().unwrap_err();
            assert!(refused.to_string().starts_with(&format!("`{text}` is not a relative error")), "{refused}");
        }
        assert!(serde_json::from_str::<RelativeError>("1.0").is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics_and_every_error_is_read_back_from_json(text in "[0-9.eE%-]{0,12}", value in 1e-12f64..1.0) {
            let _ = text.parse::<RelativeError>();
            let error = RelativeError::new(value).unwrap();
            prop_assert_eq!(serde_json::from_value::<RelativeError>(serde_json::to_value(error).unwrap()).unwrap(), error);
        }
    }
}
