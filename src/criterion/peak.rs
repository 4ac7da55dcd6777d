//! [`Peak`]: what is read of each iteration, and the loops around it.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::format::NOTHING;
use super::library::Bencher;
use super::library::measurement::Measurement;

use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::meter::Metric;

/// The peaks of iterations, in bytes, as criterion adds them up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PeakBytes {
    sum: f64,
    /// Whether each iteration was read by itself.
    each: bool,
}

impl PeakBytes {
    pub(super) const ZERO: Self = Self { sum: 0.0, each: false };

    pub(super) fn plus(&self, other: &Self) -> Self {
        Self { sum: self.sum + other.sum, each: self.each && other.each }
    }

    /// The sum for criterion.
    ///
    /// # Panics
    /// If one of criterion's own loops gave it: the figure would be too small by the number of iterations.
    pub(super) fn for_criterion(&self, metric: Metric) -> f64 {
        assert!(
            self.each,
            "{metric} is read of each iteration: call `iter_each` or `iter_each_with` (plimsoll::criterion::IterEach) in \
             place of criterion's own loops, which read it once for many iterations and divide"
        );
        self.sum
    }
}

/// `sum`, moved by less than a part in 10^12. Figures of memory are often all equal, and criterion's plots panic where a
/// benchmark whose samples do not differ is compared with itself (it divides by their deviation).
fn told_apart(sum: f64) -> f64 {
    static SAMPLES: AtomicU64 = AtomicU64::new(0);
    let step = SAMPLES.fetch_add(1, Ordering::Relaxed) % 4;
    sum * (1.0 + step as f64 * f64::EPSILON * 512.0)
}

/// A peak that is read of one iteration at a time.
pub(super) trait Peak: Measurement<Value = PeakBytes> + Sized {
    /// What it is.
    const METRIC: Metric;
    /// What stood as the iteration began.
    type Start;
    /// Iterations shorter than this are repeated for so long, and the largest peak of them counts for each.
    const SHORTEST_ITERATION: Duration = Duration::ZERO;

    /// Right before an iteration.
    fn begin() -> Self::Start;

    /// Right after it: its peak.
    fn reached(start: Self::Start) -> ByteSize;

    /// Runs `iterations` of criterion's, each on what `setup` gives; what they return is dropped after each was read.
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
                // More iterations may have run than were asked for: they made the last reading long enough.
                let count = count.min(iterations - done);
                sum += (highest.bytes() as f64).max(NOTHING) * count as f64;
                done += count;
            }
            PeakBytes { sum: told_apart(sum), each: true }
        });
    }
}

/// A measurement of criterion that reads a peak.
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
