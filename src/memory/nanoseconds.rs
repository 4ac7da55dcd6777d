//! Times as records keep them.

use std::time::Duration;

/// A time in whole nanoseconds, at most the 584 years that fit 64 bits.
pub fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
