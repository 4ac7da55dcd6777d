//! [`IterEach`]: a loop that suits every measurement.

use super::library::measurement::{Measurement, WallTime};
use super::library::{BatchSize, Bencher, BenchmarkGroup, Criterion};

use super::cpu_time::CpuTime;
use super::heap::PeakHeap;
use super::peak::Peak;
use super::resident::{PeakAnon, PeakAnonGrowth, PeakRss, PeakRssGrowth};

/// A measurement that [`IterEach`] supports: criterion's wall time, processor time, and the peaks.
pub trait Measured: Measurement + Sized {
    /// The name that [`group`] adds to a benchmark's.
    const NAME: &'static str;

    /// Implements [`IterEach::iter_each`].
    fn run<O>(bencher: &mut Bencher<'_, Self>, routine: impl FnMut() -> O);

    /// Implements [`IterEach::iter_each_with`].
    fn run_with<I, O>(bencher: &mut Bencher<'_, Self>, setup: impl FnMut() -> I, routine: impl FnMut(I) -> O);
}

/// Benchmark loops that are correct for every [`Measured`] measurement.
pub trait IterEach {
    /// Measures `routine`.
    ///
    /// Times are those of criterion's `iter`. A peak is read for each iteration before its return value is dropped.
    fn iter_each<O>(&mut self, routine: impl FnMut() -> O);

    /// Measures `routine` on the output of `setup`, which runs unmeasured before each iteration.
    ///
    /// Times are those of criterion's `iter_batched` with one iteration per batch, so that only one input exists at a
    /// time; each reading of the clock adds some 0.3 µs.
    fn iter_each_with<I, O>(&mut self, setup: impl FnMut() -> I, routine: impl FnMut(I) -> O);
}

impl<M: Measured> IterEach for Bencher<'_, M> {
    fn iter_each<O>(&mut self, routine: impl FnMut() -> O) {
        M::run(self, routine);
    }

    fn iter_each_with<I, O>(&mut self, setup: impl FnMut() -> I, routine: impl FnMut(I) -> O) {
        M::run_with(self, setup, routine);
    }
}

/// Creates a group of benchmarks whose name includes the measurement: `reading` for wall time, `reading peak_heap` for
/// [`PeakHeap`].
///
/// Results of one benchmark by two measurements thus go to two folders, and `plimsoll bench-gate` knows their units.
pub fn group<'a, M: Measured>(criterion: &'a mut Criterion<M>, name: &str) -> BenchmarkGroup<'a, M> {
    if M::NAME == WallTime::NAME {
        criterion.benchmark_group(name)
    } else {
        criterion.benchmark_group(format!("{name} {}", M::NAME))
    }
}

macro_rules! adds_up {
    ($name:ident, $text:literal) => {
        impl Measured for $name {
            const NAME: &'static str = $text;

            fn run<O>(bencher: &mut Bencher<'_, Self>, routine: impl FnMut() -> O) {
                bencher.iter(routine);
            }

            fn run_with<I, O>(bencher: &mut Bencher<'_, Self>, setup: impl FnMut() -> I, routine: impl FnMut(I) -> O) {
                bencher.iter_batched(setup, routine, BatchSize::PerIteration);
            }
        }
    };
}
adds_up!(WallTime, "wall_time");
adds_up!(CpuTime, "cpu_time");

macro_rules! peaks {
    ($name:ident) => {
        impl Measured for $name {
            const NAME: &'static str = <Self as Peak>::METRIC.name();

            fn run<O>(bencher: &mut Bencher<'_, Self>, mut routine: impl FnMut() -> O) {
                Self::each(bencher, || (), |()| routine());
            }

            fn run_with<I, O>(bencher: &mut Bencher<'_, Self>, setup: impl FnMut() -> I, routine: impl FnMut(I) -> O) {
                Self::each(bencher, setup, routine);
            }
        }
    };
}
peaks!(PeakRss);
peaks!(PeakRssGrowth);
peaks!(PeakAnon);
peaks!(PeakAnonGrowth);
peaks!(PeakHeap);
