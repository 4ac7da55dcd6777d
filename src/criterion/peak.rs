//! [`Peak`]: a reading taken for each iteration, and the loops around it.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::format::NOTHING;
use super::library::Bencher;
use super::library::measurement::Measurement;

use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::meter::Metric;

/// The sum of the peaks of iterations, in bytes, as criterion adds them up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PeakBytes {
    sum: f64,
    /// Whether each iteration was read separately.
    each: bool,
}

impl PeakBytes {
    pub(super) const ZERO: Self = Self { sum: 0.0, each: false };

    pub(super) fn plus(&self, other: &Self) -> Self {
        Self { sum: self.sum + other.sum, each: self.each && other.each }
    }

    /// The sum to report to criterion.
    ///
    /// # Panics
    /// If one of criterion's own loops produced it: the result would be too small by a factor of the number of
    /// iterations.
    pub(super) fn for_criterion(&self, metric: Metric) -> f64 {
        assert!(
            self.each,
            "{metric} is read at each iteration: call `iter_each` or `iter_each_with` (plimsoll::criterion::IterEach) instead of criterion's own loops, which read it once for many iterations and divide"
        );
        self.sum
    }
}

/// Changes `sum` by less than a part in 10^12. Memory figures are often all equal, and criterion's plots panic when
/// they compare samples without variance (they divide by the deviation).
fn made_distinct(sum: f64) -> f64 {
    static SAMPLES: AtomicU64 = AtomicU64::new(0);
    let step = SAMPLES.fetch_add(1, Ordering::Relaxed) % 4;
    sum * (1.0 + step as f64 * f64::EPSILON * 512.0)
}

/// A peak that is read for one iteration at a time.
pub(super) trait Peak: Measurement<Value = PeakBytes> + Sized {
    /// The metric.
    const METRIC: Metric;
    /// The state when the iteration began.
    type Start;
    /// Shorter iterations are repeated for this long, and the largest peak counts for each of them.
    const SHORTEST_ITERATION: Duration = Duration::ZERO;

    /// Called immediately before an iteration.
    fn begin() -> Self::Start;

    /// Called immediately after an iteration; returns its peak.
    fn reached(start: Self::Start) -> ByteSize;

    /// Runs `iterations` iterations, each on the output of `setup`, and drops each result after the reading.
    fn each<I, O>(bencher: &mut Bencher<'_, Self>, mut setup: impl FnMut() -> I, mut routine: impl FnMut(I) -> O) {
        bencher.iter_custom(|iterations| {
            let mut sum = 0.0;
            let mut done = 0;
            while done < iterations {
                let (mut highest, mut count, mut spent) = (ByteSize::ZERO, 0, Duration::ZERO);
                loop {
                    let input = black_box(setup());
                    let start = Self::begin();
                    let began = Instant::now();
                    let output = black_box(routine(input));
                    spent += began.elapsed();
                    highest = highest.max(Self::reached(start));
                    drop(output);
                    count += 1;
                    if spent >= Self::SHORTEST_ITERATION {
                        break;
                    }
                }
                // More iterations than requested may have run to make the last reading long enough.
                let count = count.min(iterations - done);
                sum += (highest.bytes() as f64).max(NOTHING) * count as f64;
                done += count;
            }
            PeakBytes { sum: made_distinct(sum), each: true }
        });
    }
}

/// Implements criterion's `Measurement` for a peak.
macro_rules! measure_peak {
    ($name:ident) => {
        impl super::library::measurement::Measurement for $name {
            type Intermediate = ();
            type Value = super::peak::PeakBytes;

            fn start(&self) {}

            fn end(&self, (): ()) -> Self::Value {
                Self::Value::ZERO
            }

            fn add(&self, a: &Self::Value, b: &Self::Value) -> Self::Value {
                a.plus(b)
            }

            fn zero(&self) -> Self::Value {
                Self::Value::ZERO
            }

            fn to_f64(&self, value: &Self::Value) -> f64 {
                value.for_criterion(<Self as super::peak::Peak>::METRIC)
            }

            fn formatter(&self) -> &dyn super::library::measurement::ValueFormatter {
                &super::format::ByteFormatter
            }
        }
    };
}
pub(super) use measure_peak;
