//! How launches are timed: protocols, clocks, samples and their statistics.
//!
//! A [`Protocol`] says what is launched and what is timed, a [`Clock`] records the marks between which time passes, and
//! [`measure`] runs the one with the other, emptying a [`Cache`] where the protocol asks for it. Nothing but the launches and the marks stands inside a timed region, and a
//! mark is only resolved into time after the last launch, so that a clock on a device never makes the host wait inside it.
//! Nothing here knows what is launched.

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
