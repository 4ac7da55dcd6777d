//! [`Protocol`]: the launches before and inside a timed region.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::relative_error::RelativeError;

/// The default number of warm-up launches per entry: KernelForge's number.
pub const DEFAULT_WARMUP: u32 = 25;
/// The default number of timed launches per entry: KernelForge's number.
pub const DEFAULT_LAUNCHES: NonZeroU32 = NonZeroU32::new(100).unwrap();

/// How the launches of one entry are timed. The protocol is applied to each entry by itself, so a timing does not
/// depend on which entries are resident together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "lowercase", deny_unknown_fields)]
pub enum Protocol {
    /// KernelForge's protocol: warm-up launches, then all launches in one timed region, of which the mean is kept.
    KernelForge {
        /// Launches before the timed region.
        warmup: u32,
        /// Launches in the timed region.
        launches: NonZeroU32,
    },
    /// Warm-up launches, then each launch timed by itself and kept.
    Samples {
        /// Launches before the first timed one.
        warmup: u32,
        /// Timed launches.
        launches: NonZeroU32,
    },
    /// The `samples` protocol with a cold cache: before every timed launch, outside of the timed region, a write larger
    /// than the cache (the last-level cache of the CPU, the L2 of a GPU) empties it. The results say what was written.
    Cold {
        /// Launches before the first timed one, with whatever they leave in the cache.
        warmup: u32,
        /// Timed launches.
        launches: NonZeroU32,
    },
    /// The `samples` protocol, until the mean is precise enough, the time is over or 10000 launches were timed. The
    /// results say which ended it.
    Until {
        /// Launches before the first timed one.
        warmup: u32,
        /// The fewest timed launches, if the time allows them.
        launches: NonZeroU32,
        /// The relative standard error of the mean at which the measurement ends: the sample standard deviation of the
        /// durations, over their mean and the square root of their number.
        relative_error: RelativeError,
        /// The nanoseconds that the timed launches together may take.
        time_ns: u64,
    },
}

impl Protocol {
    /// KernelForge's protocol with KernelForge's numbers.
    pub const fn kernelforge() -> Self {
        Self::KernelForge { warmup: DEFAULT_WARMUP, launches: DEFAULT_LAUNCHES }
    }

    /// The `samples` protocol, with KernelForge's numbers.
    pub const fn samples() -> Self {
        Self::Samples { warmup: DEFAULT_WARMUP, launches: DEFAULT_LAUNCHES }
    }

    /// The number of launches before the timed ones.
    pub const fn warmup(self) -> u32 {
        match self {
            Self::KernelForge { warmup, .. }
            | Self::Samples { warmup, .. }
            | Self::Cold { warmup, .. }
            | Self::Until { warmup, .. } => warmup,
        }
    }

    /// The number of timed launches; the fewest if their number is not known in advance.
    pub const fn launches(self) -> NonZeroU32 {
        match self {
            Self::KernelForge { launches, .. }
            | Self::Samples { launches, .. }
            | Self::Cold { launches, .. }
            | Self::Until { launches, .. } => launches,
        }
    }
}

impl Default for Protocol {
    fn default() -> Self {
        Self::kernelforge()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_written_as_in_the_worker_protocol() {
        let text = r#"{"name":"kernelforge","warmup":25,"launches":100}"#;
        assert_eq!(serde_json::to_string(&Protocol::default()).unwrap(), text);
        assert_eq!(serde_json::from_str::<Protocol>(text).unwrap(), Protocol::kernelforge());
        let text = r#"{"name":"samples","warmup":0,"launches":3}"#;
        let samples = Protocol::Samples { warmup: 0, launches: NonZeroU32::new(3).unwrap() };
        assert_eq!(serde_json::from_str::<Protocol>(text).unwrap(), samples);
        let text = r#"{"name":"cold","warmup":1,"launches":3}"#;
        let cold = Protocol::Cold { warmup: 1, launches: NonZeroU32::new(3).unwrap() };
        assert_eq!(serde_json::from_str::<Protocol>(text).unwrap(), cold);
        let text = r#"{"name":"until","warmup":1,"launches":3,"relative_error":0.005,"time_ns":2000000000}"#;
        let until = Protocol::Until {
            warmup: 1,
            launches: NonZeroU32::new(3).unwrap(),
            relative_error: RelativeError::DEFAULT,
            time_ns: 2_000_000_000,
        };
        assert_eq!(serde_json::to_string(&until).unwrap(), text);
        assert_eq!(serde_json::from_str::<Protocol>(text).unwrap(), until);
    }

    #[test]
    fn refuses_no_launches_and_unknown_names() {
        for text in [
            r#"{"name":"kernelforge","warmup":25,"launches":0}"#,
            r#"{"name":"adaptive","warmup":25,"launches":1}"#,
            r#"{"name":"samples","launches":1}"#,
            r#"{"name":"until","warmup":1,"launches":3}"#,
            r#"{"name":"until","warmup":1,"launches":3,"relative_error":0.0,"time_ns":1}"#,
        ] {
            assert!(serde_json::from_str::<Protocol>(text).is_err(), "{text}");
        }
    }
}
