//! Timing of launches: protocols, clocks, samples and their statistics.
//!
//! A [`Protocol`] says what is launched and what is timed, a [`Clock`] records marks, and [`measure`] runs the protocol
//! with the clock, emptying a [`Cache`] if the protocol asks for it. A timed region contains only the launches and the
//! marks, and marks are resolved into times after the last launch, so a clock on a device never makes the host wait
//! inside it. Nothing here knows what is launched.

mod cache;
mod clock;
mod measure;
mod protocol;
mod relative_error;
mod statistics;
mod until;

pub use cache::{Cache, CpuCache, Flush};
pub use clock::{Clock, ClockError, CpuClock};
pub use measure::{MeasureError, Samples, measure};
pub use plimsoll_memory::nanoseconds;
pub use protocol::{DEFAULT_LAUNCHES, DEFAULT_WARMUP, Protocol};
pub use relative_error::{RelativeError, RelativeErrorError};
pub use statistics::Statistics;
pub use until::{MOST_LAUNCHES, Stop};
