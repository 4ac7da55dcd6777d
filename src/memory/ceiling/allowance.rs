//! [`Allowance`]: how much growth is accepted.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::unit::Unit;
use crate::bytes::ByteSize;

/// How much a figure may grow: a share of its previous value, an amount, or both. Only growth beyond every part is a
/// regression.
///
/// Both parts are useful: a share alone fails a figure of a few KiB for one more page, an amount alone lets a small
/// figure double. An amount of time may be combined with one of bytes; each figure is judged by the parts for its unit.
///
/// ```
/// use plimsoll_memory::ceiling::Allowance;
/// let allowance: Allowance = "5% | 1 MiB".parse()?;
/// assert_eq!(allowance.to_string(), "5% | 1 MiB");
/// assert_eq!("5%|1MiB|10us".parse::<Allowance>()?.to_string(), "5% | 1 MiB | 10us");
/// # Ok::<(), plimsoll_memory::ceiling::AllowanceError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", serde(try_from = "String", into = "String"))]
pub struct Allowance {
    percent: Option<f64>,
    bytes: Option<ByteSize>,
    time: Option<Duration>,
}

impl Allowance {
    /// Allows `percent` percent and `bytes`.
    ///
    /// # Errors
    /// [`AllowanceError::Percent`] if the share is negative or not a number.
    pub fn new(percent: f64, bytes: ByteSize) -> Result<Self, AllowanceError> {
        let percent = Some(checked(percent).ok_or_else(|| AllowanceError::Percent { text: percent.to_string() })?);
        Ok(Self { percent, bytes: Some(bytes), time: None })
    }

    /// The share, in percent of the previous value.
    pub fn percent(&self) -> Option<f64> {
        self.percent
    }

    /// The amount of bytes.
    pub fn bytes(&self) -> Option<ByteSize> {
        self.bytes
    }

    /// The amount of time.
    pub fn time(&self) -> Option<Duration> {
        self.time
    }

    /// How much a figure of `unit` with the previous value `before` may grow: the larger of the applicable parts,
    /// because both must be exceeded. `None` if no part applies.
    pub fn margin(&self, before: f64, unit: Unit) -> Option<f64> {
        // A share of the largest numbers is not infinite: JSON has no word for that.
        let share = self.percent.map(|percent| (before.abs() * percent / 100.0).min(f64::MAX));
        let amount = match unit {
            Unit::Bytes => self.bytes.map(|bytes| bytes.bytes() as f64),
            Unit::Nanoseconds => self.time.map(|time| time.as_nanos() as f64),
            Unit::Count => None,
        };
        match (share, amount) {
            (Some(share), Some(amount)) => Some(share.max(amount)),
            (one, other) => one.or(other),
        }
    }
}

fn checked(percent: f64) -> Option<f64> {
    // Drops the sign of a zero, so that formatting and parsing agree.
    (percent.is_finite() && percent >= 0.0).then_some(percent + 0.0)
}

impl fmt::Display for Allowance {
    /// Formats the allowance so that it can be parsed back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            self.percent.map(|percent| format!("{percent}%")),
            self.bytes.map(ByteSize::exact),
            self.time.map(|time| humantime::format_duration(time).to_string()),
        ];
        f.pad(&parts.into_iter().flatten().collect::<Vec<_>>().join(" | "))
    }
}

/// Why text is not a valid allowance.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AllowanceError {
    /// A part is neither a share nor an amount.
    #[error(
        "`{part}` is not part of an allowance: write a share such as `5%`, an amount such as `1 MiB` or `10us`, or several \
         with `|` between them, such as `5% | 1 MiB`"
    )]
    Part {
        /// The part.
        part: String,
    },
    /// A share is not a number of at least 0.
    #[error("`{text}` is not a share: write a number of at least 0 and `%`, such as `5%` or `0.5%`")]
    Percent {
        /// The text.
        text: String,
    },
    /// Two parts have the same unit.
    #[error("`{text}` has two {what}: keep one of them")]
    Twice {
        /// The text.
        text: String,
        /// `shares`, `amounts of bytes` or `times`.
        what: &'static str,
    },
}

impl FromStr for Allowance {
    type Err = AllowanceError;

    /// Parses up to one share, one amount of bytes and one time, in any order, separated by `|`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut allowance = Self { percent: None, bytes: None, time: None };
        for part in text.split('|').map(str::trim) {
            let twice = |what| AllowanceError::Twice { text: text.trim().to_owned(), what };
            if let Some(number) = part.strip_suffix('%') {
                let percent = number.trim_end().parse().ok().and_then(checked);
                let percent = percent.ok_or_else(|| AllowanceError::Percent { text: part.to_owned() })?;
                put(&mut allowance.percent, percent).map_err(|()| twice("shares"))?;
            } else if let Ok(bytes) = part.parse() {
                put(&mut allowance.bytes, bytes).map_err(|()| twice("amounts of bytes"))?;
            } else if let Ok(time) = humantime::parse_duration(part) {
                put(&mut allowance.time, time).map_err(|()| twice("times"))?;
            } else {
                return Err(AllowanceError::Part { part: part.to_owned() });
            }
        }
        Ok(allowance)
    }
}

fn put<T>(place: &mut Option<T>, value: T) -> Result<(), ()> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(()),
    }
}

impl TryFrom<String> for Allowance {
    type Error = AllowanceError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Allowance> for String {
    fn from(allowance: Allowance) -> Self {
        allowance.to_string()
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Allowance {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Allowance".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "How much a figure may grow, such as `5% | 1 MiB`: a regression exceeds every part."
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[cfg(feature = "schema")]
    #[test]
    fn parts_are_read_in_any_order() {
        for (text, printed) in [
            ("5% | 1 MiB", "5% | 1 MiB"),
            ("1MiB|5 %", "5% | 1 MiB"),
            (" 0.5% ", "0.5%"),
            ("64 MiB", "64 MiB"),
            ("1.5GiB", "1.5 GiB"),
            ("0%", "0%"),
            ("10us | 3%", "3% | 10us"),
            ("1000 B", "1000 B"),
        ] {
            assert_eq!(text.parse::<Allowance>().unwrap().to_string(), printed, "{text}");
        }
        let json = serde_json::to_string(&"5% | 1 MiB".parse::<Allowance>().unwrap()).unwrap();
        assert_eq!(json, r#""5% | 1 MiB""#);
        assert!(serde_json::from_str::<Allowance>(r#""5""%"#).is_err());
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, says) in [
            ("", "`` is not part of an allowance"),
            ("5% | ", "`` is not part of an allowance"),
            ("five", "`five` is not part of an allowance"),
            ("-5%", "`-5%` is not a share"),
            ("NaN%", "`NaN%` is not a share"),
            ("5% | 6%", "`5% | 6%` has two shares"),
            ("1 MiB | 2 MiB", "`1 MiB | 2 MiB` has two amounts of bytes"),
            ("1ms|1us", "`1ms|1us` has two times"),
        ] {
            let error = text.parse::<Allowance>().unwrap_err().to_string();
            assert!(error.starts_with(says), "{error}");
        }
    }

    #[test]
    fn every_part_that_applies_has_to_be_exceeded() {
        let mib = 1024.0 * 1024.0;
        let margin = |text: &str, before, unit| text.parse::<Allowance>().unwrap().margin(before, unit);
        assert_eq!(margin("5% | 1 MiB", 10.0 * mib, Unit::Bytes), Some(mib));
        assert_eq!(margin("5% | 1 MiB", 100.0 * mib, Unit::Bytes), Some(5.0 * mib));
        assert_eq!(margin("5% | 1 MiB", 100.0, Unit::Nanoseconds), Some(5.0));
        assert_eq!(margin("1 MiB", 100.0, Unit::Nanoseconds), None);
        assert_eq!(margin("1us", 100.0, Unit::Nanoseconds), Some(1000.0));
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(
            percent in prop::option::of(0.0f64..1e6), bytes in prop::option::of(any::<u64>()),
            time in prop::option::of((0u64..1 << 40, 0u32..1_000_000_000)),
        ) {
            let bytes = bytes.map(ByteSize::new);
            let allowance = Allowance { percent, bytes, time: time.map(|(s, ns)| Duration::new(s, ns)) };
            let read = allowance.to_string().parse::<Allowance>();
            if percent.is_none() && bytes.is_none() && time.is_none() {
                prop_assert!(read.is_err());
            } else {
                prop_assert_eq!(read.unwrap(), allowance);
            }
        }
        #[test]
        fn any_text_is_read_or_refused(text in "([0-9.]|%|\\|| |MiB|us|é|-|e9){0,12}") {
            let _ = text.parse::<Allowance>();
        }
    }
}
