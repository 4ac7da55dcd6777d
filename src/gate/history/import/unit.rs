//! Units as other tools write them.

use crate::record::{Direction, Unit};

/// What a unit counts, and how many bytes or nanoseconds it is. Other units stay as they are.
pub(super) fn of(text: &str) -> (Unit, f64) {
    // `ns/iter (+/- 3)`, `B/op`: the cost of one run of the benchmark.
    let unit = text.trim().split(['/', ' ', '(']).next().unwrap_or_default();
    let per_run = !text.contains('/') || ["/iter", "/op", "/run"].iter().any(|per| text.contains(per));
    if !per_run {
        return (Unit::Count, 1.0);
    }
    let scale = match unit {
        "ns" | "nanoseconds" | "nsec" => return (Unit::Nanoseconds, 1.0),
        "us" | "µs" | "μs" | "microseconds" | "usec" => return (Unit::Nanoseconds, 1e3),
        "ms" | "milliseconds" | "msec" => return (Unit::Nanoseconds, 1e6),
        "s" | "sec" | "secs" | "second" | "seconds" => return (Unit::Nanoseconds, 1e9),
        "min" | "minutes" => return (Unit::Nanoseconds, 6e10),
        "B" | "b" | "byte" | "bytes" | "Bytes" => 1.0,
        "kB" | "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "KiB" | "kiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        _ => return (Unit::Count, 1.0),
    };
    (Unit::Bytes, scale)
}

/// Whether more is better for a unit: more per time is, less of anything else.
pub(super) fn direction(text: &str) -> Direction {
    let text = text.trim().to_lowercase();
    let rate = ["/s", "/sec", "/second", "per second", "ops", "qps", "rps", "throughput"];
    if rate.iter().any(|rate| text.ends_with(rate)) { Direction::Higher } else { Direction::Lower }
}
