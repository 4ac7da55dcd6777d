//! [`Isolated::argument`]: a limit on a test by name and text, as runners of other languages pass it.

use std::time::Duration;

use super::Isolated;
use crate::assert::HeapCounter;
use crate::bytes::ByteSize;
use crate::ceiling::{Ceiling, CeilingError};
use crate::meter::Metric;

/// The arguments that are not ceilings.
const OTHERS: [&str; 3] = ["enforce", "timeout", "sample_interval"];

/// Why an argument is invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// No argument has this name.
    #[error("`{name}` is not an argument: {}", meant(.name))]
    Unknown {
        /// The name.
        name: String,
    },
    /// Only a Rust program's allocator counts this.
    #[error("{name} is what the allocator of a Rust program counts: limit peak_anon or peak_anon_growth")]
    Heap {
        /// The figure to limit.
        name: String,
    },
    /// The limit is invalid, or given twice.
    #[error(transparent)]
    Ceiling(#[from] CeilingError),
    /// The value is neither `true` nor `false`.
    #[error("{name}: `{value}` is neither true nor false")]
    Bool {
        /// The argument.
        name: String,
        /// Its value.
        value: String,
    },
    /// The value is not a time.
    #[error("{name}: `{value}` is not a time: write a number and a unit, such as `10 ms`, `60 s` or `5 min`")]
    Time {
        /// The argument.
        name: String,
        /// Its value.
        value: String,
    },
}

impl Isolated {
    /// Applies an argument of `#[plimsoll::test]` by its name: `peak_rss` and `256 MiB`, `timeout` and `60 s`,
    /// `enforce` and `true`. Allocator counts are not available for tests of other languages.
    ///
    /// # Errors
    /// [`ArgumentError`] if the argument does not exist, the value is invalid, or a metric is limited twice.
    pub fn argument(&mut self, name: &str, value: &str) -> Result<(), ArgumentError> {
        let owned = || (name.to_owned(), value.to_owned());
        match name {
            "enforce" => {
                self.enforce = value.parse().map_err(|_| {
                    let (name, value) = owned();
                    ArgumentError::Bool { name, value }
                })?;
            }
            "timeout" | "sample_interval" => {
                let time = humantime::parse_duration(value).ok().filter(|time| *time > Duration::ZERO);
                let time = time.ok_or_else(|| {
                    let (name, value) = owned();
                    ArgumentError::Time { name, value }
                })?;
                if name == "timeout" {
                    self.timeout = Some(time);
                } else {
                    self.sample_interval = time;
                }
            }
            _ => self.limit_by_name(name, value)?,
        }
        Ok(())
    }

    fn limit_by_name(&mut self, name: &str, value: &str) -> Result<(), ArgumentError> {
        let metric = Metric::ALL.into_iter().find(|metric| metric.name() == name);
        let counted = name.parse::<HeapCounter>().is_ok();
        match metric {
            Some(metric) if metric.is_of_heap() => Err(ArgumentError::Heap { name: name.to_owned() }),
            None if counted => Err(ArgumentError::Heap { name: name.to_owned() }),
            None => Err(ArgumentError::Unknown { name: name.to_owned() }),
            Some(metric) => {
                let limit: Result<ByteSize, _> = value.parse();
                let limit = limit.map_err(|source| CeilingError::Limit { metric, source })?;
                Ok(self.ceilings.add(Ceiling { metric, limit })?)
            }
        }
    }
}

/// The argument that was probably meant, or all of them.
fn meant(name: &str) -> String {
    let metrics = Metric::ALL.into_iter().filter(|metric| !metric.is_of_heap()).map(Metric::name);
    let known: Vec<&str> = metrics.chain(OTHERS).collect();
    match crate::text::nearest(name, &known) {
        Some(known) => format!("did you mean `{known}`?"),
        None => format!("there are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test() -> Isolated {
        Isolated::new("package", "suite", "name")
    }

    #[test]
    fn arguments_are_taken_by_name() {
        let mut test = test();
        for (name, value) in [
            ("peak_rss", "256 MiB"),
            ("swap_growth", "0 B"),
            ("enforce", "true"),
            ("timeout", "60 s"),
            ("sample_interval", "1ms"),
        ] {
            test.argument(name, value).unwrap();
        }
        assert_eq!(test.ceilings, "peak_rss = 256 MiB, swap_growth = 0 B".parse().unwrap());
        assert!(test.enforce);
        assert_eq!(test.timeout, Some(Duration::from_secs(60)));
        assert_eq!(test.sample_interval, Duration::from_millis(1));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (name, value, says) in [
            ("peek_rss", "1 MiB", "`peek_rss` is not an argument: did you mean `peak_rss`?"),
            ("memory", "1 MiB", "`memory` is not an argument: there are peak_rss, peak_rss_growth, "),
            ("peak_heap", "1 MiB", "peak_heap is what the allocator of a Rust program counts: limit peak_anon"),
            ("allocations", "10", "allocations is what the allocator of a Rust program counts: limit peak_anon"),
            ("peak_rss", "1 XiB", "the limit of peak_rss: `1 XiB` is not an amount of bytes"),
            ("enforce", "1", "enforce: `1` is neither true nor false"),
            ("timeout", "soon", "timeout: `soon` is not a time: write a number and a unit, such as"),
            ("sample_interval", "0 s", "sample_interval: `0 s` is not a time"),
        ] {
            let error = test().argument(name, value).unwrap_err().to_string();
            assert!(error.starts_with(says), "{error}");
        }
        let mut test = test();
        test.argument("peak_rss", "1 MiB").unwrap();
        let error = test.argument("peak_rss", "2 MiB").unwrap_err().to_string();
        assert!(error.starts_with("peak_rss is limited twice"), "{error}");
    }
}
