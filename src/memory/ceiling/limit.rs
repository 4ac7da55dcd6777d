//! [`Ceiling`] and [`Ceilings`], and how they are written.

use std::fmt;
use std::str::FromStr;

use crate::bytes::{ByteSize, ParseByteSizeError};
use crate::meter::{Metric, ParseMetricError, Watch};

/// A limit on a metric: a maximum, or for a floor, the minimum that must remain.
///
/// ```
/// use plimsoll_memory::ceiling::Ceiling;
/// let ceiling: Ceiling = r#"peak_rss = "256 MiB""#.parse()?;
/// assert_eq!(ceiling.to_string(), "peak_rss <= 256.00 MiB");
/// # Ok::<(), plimsoll_memory::ceiling::CeilingError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct Ceiling {
    /// The limited metric.
    pub metric: Metric,
    /// The limit; an equal reading passes.
    pub limit: ByteSize,
}

impl fmt::Display for Ceiling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.metric, self.metric.relation(), self.limit)
    }
}

/// Why text is not a valid ceiling.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CeilingError {
    /// There is no `=`.
    #[error("`{text}` is not a ceiling: write a metric, `=` and an amount, such as `peak_rss = \"256 MiB\"`")]
    Form {
        /// The text.
        text: String,
    },
    /// The text before the `=` is not a metric.
    #[error(transparent)]
    Metric(#[from] ParseMetricError),
    /// The text after the `=` is not an amount.
    #[error("the limit of {metric}: {source}")]
    Limit {
        /// The metric to limit.
        metric: Metric,
        /// What is wrong with the amount.
        source: ParseByteSizeError,
    },
    /// A metric is limited twice.
    #[error("{metric} is limited twice, to {first} and to {second}: keep one of them")]
    Twice {
        /// The limited metric.
        metric: Metric,
        /// The first limit.
        first: ByteSize,
        /// The second.
        second: ByteSize,
    },
}

impl FromStr for Ceiling {
    type Err = CeilingError;

    /// Parses `peak_rss = "256 MiB"`, also without quotes or blanks.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (metric, limit) =
            text.split_once('=').ok_or_else(|| CeilingError::Form { text: text.trim().to_owned() })?;
        let metric: Metric = metric.parse()?;
        let limit = limit.trim();
        let bare = limit.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(limit);
        let limit = bare.parse().map_err(|source| CeilingError::Limit { metric, source })?;
        Ok(Self { metric, limit })
    }
}

/// Ceilings in the order given, at most one per metric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(try_from = "Vec<Ceiling>", into = "Vec<Ceiling>"))]
pub struct Ceilings(Vec<Ceiling>);

impl Ceilings {
    /// Creates an empty set of ceilings.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a ceiling.
    ///
    /// # Errors
    /// [`CeilingError::Twice`] if its metric already has one.
    pub fn add(&mut self, ceiling: Ceiling) -> Result<(), CeilingError> {
        match self.get(ceiling.metric) {
            Some(first) => Err(CeilingError::Twice { metric: ceiling.metric, first, second: ceiling.limit }),
            None => {
                self.0.push(ceiling);
                Ok(())
            }
        }
    }

    /// The limit of a metric.
    pub fn get(&self, metric: Metric) -> Option<ByteSize> {
        self.0.iter().find(|ceiling| ceiling.metric == metric).map(|ceiling| ceiling.limit)
    }

    /// Every ceiling.
    pub fn iter(&self) -> impl Iterator<Item = Ceiling> + '_ {
        self.0.iter().copied()
    }

    /// Whether there are no ceilings.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What a meter must check in every sample, so that a runaway process can be stopped at once.
    pub fn watches(&self) -> Vec<Watch> {
        self.iter().map(|Ceiling { metric, limit }| Watch { metric, limit }).collect()
    }
}

impl TryFrom<Vec<Ceiling>> for Ceilings {
    type Error = CeilingError;

    fn try_from(list: Vec<Ceiling>) -> Result<Self, Self::Error> {
        let mut ceilings = Self::new();
        list.into_iter().try_for_each(|ceiling| ceilings.add(ceiling))?;
        Ok(ceilings)
    }
}

impl From<Ceilings> for Vec<Ceiling> {
    fn from(ceilings: Ceilings) -> Self {
        ceilings.0
    }
}

impl FromStr for Ceilings {
    type Err = CeilingError;

    /// Parses ceilings separated by commas or newlines; empty text means none.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut ceilings = Self::new();
        for one in text.split([',', '\n']).filter(|one| !one.trim().is_empty()) {
            ceilings.add(one.parse()?)?;
        }
        Ok(ceilings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[cfg(feature = "schema")]
    #[test]
    fn ceilings_are_read_as_they_are_written() {
        let ceilings: Ceilings =
            "peak_rss = \"256 MiB\", swap-growth=0 B\navailable_floor = \"1.5 GiB\",".parse().unwrap();
        let written: Vec<String> = ceilings.iter().map(|ceiling| ceiling.to_string()).collect();
        assert_eq!(written, ["peak_rss <= 256.00 MiB", "swap_growth <= 0 B", "available_floor >= 1.50 GiB"]);
        assert_eq!(ceilings.get(Metric::SwapGrowth), Some(ByteSize::ZERO));
        assert_eq!(ceilings.watches()[0], Watch { metric: Metric::PeakRss, limit: ByteSize::mib(256) });
        let json = serde_json::to_string(&ceilings).unwrap();
        assert_eq!(serde_json::from_str::<Ceilings>(&json).unwrap(), ceilings);
        assert!("".parse::<Ceilings>().unwrap().is_empty());
        let each: Vec<String> = Metric::ALL.iter().map(|metric| format!("{metric} = 1 MiB")).collect();
        assert_eq!(each.join(",").parse::<Ceilings>().unwrap().iter().count(), Metric::ALL.len());
    }

    #[cfg(feature = "schema")]
    #[test]
    fn what_is_wrong_is_said() {
        for (text, says) in [
            (
                "256 MiB",
                "`256 MiB` is not a ceiling: write a metric, `=` and an amount, such as `peak_rss = \"256 MiB\"`",
            ),
            ("peak = 1 MiB", "`peak ` is not a metric of memory"),
            ("peak_rss = 1 XiB", "the limit of peak_rss: `1 XiB` is not an amount of bytes"),
            ("peak_rss = 1 MiB, peak-rss = 2 MiB", "peak_rss is limited twice, to 1.00 MiB and to 2.00 MiB"),
        ] {
            let error = text.parse::<Ceilings>().unwrap_err().to_string();
            assert!(error.starts_with(says), "{error}");
        }
        let twice = r#"[{"metric": "peak_rss", "limit": 1}, {"metric": "peak_rss", "limit": 1}]"#;
        assert!(serde_json::from_str::<Ceilings>(twice).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(peak_rss|swap|,|=|\"|[0-9]| MiB|\n|é){0,12}") {
            if let Ok(ceilings) = text.parse::<Ceilings>() {
                prop_assert!(ceilings.iter().count() <= 1);
            }
        }
    }
}
