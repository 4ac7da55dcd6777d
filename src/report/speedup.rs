//! Wording for speedups.

use super::terminal::number;
use crate::record::Speedup;

/// The ratio: `1.234x`.
pub(crate) fn ratio(speedup: &Speedup) -> String {
    format!("{:.3}x", speedup.ratio)
}

/// The confidence interval of the ratio; absent if there are too few pairs.
pub(crate) fn between(speedup: &Speedup) -> Option<String> {
    speedup.interval.map(|interval| format!("{:.3} to {:.3}", interval.low, interval.high))
}

/// The speedup and its method as a sentence without a full stop.
pub(crate) fn sentence(speedup: &Speedup, other: &str) -> String {
    let known = match (speedup.interval, between(speedup)) {
        (Some(interval), Some(between)) => {
            format!("{between} with {} % confidence", number(interval.confidence * 100.0))
        }
        _ => "too few pairs for an interval".to_owned(),
    };
    format!("{:.3} times as fast as {other}: {known}; {} pairs, {}", speedup.ratio, speedup.pairs, speedup.method)
}
