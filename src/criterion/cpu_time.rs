//! [`CpuTime`]: processor time.

use std::time::Duration;

use super::library::measurement::{Measurement, ValueFormatter};
use rustix::time::{ClockId, clock_gettime};

use super::format::CpuTimeFormatter;

/// The processor time of every thread of the process, user and system together.
///
/// Processor time is additive, so all of criterion's own loops measure it correctly. Waiting costs nothing and other
/// threads count: for a program that waits for the disk or uses several processors, it is more informative than wall
/// time.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuTime;

fn now() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

impl Measurement for CpuTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        now()
    }

    fn end(&self, start: Duration) -> Duration {
        now().saturating_sub(start)
    }

    fn add(&self, a: &Duration, b: &Duration) -> Duration {
        *a + *b
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &CpuTimeFormatter
    }
}
