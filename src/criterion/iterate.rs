//! [`IterEach`]: one loop for every measurement.

use super::library::measurement::{Measurement, WallTime};
use super::library::{BatchSize, Bencher, BenchmarkGroup, Criterion};

use super::cpu_time::CpuTime;
use super::heap::PeakHeap;
use super::peak::Peak;
use super::resident::{PeakAnon, PeakAnonGrowth, PeakRss, PeakRssGrowth};

/// A measurement that [`IterEach`] runs over: criterion's wall time, processor time, and the peaks.
pub trait Measured: Measurement + Sized {
    /// Its name, as [`group`] puts it into a benchmark's.
    const NAME: &'static str;

    /// What [`IterEach::iter_each`] does.
    fn run<O>(bencher: &mut Bencher<'_, Self>, routine: impl FnMut() -> O);

    /// What [`IterEach::iter_each_with`] does.
    fn run_with<I, O>(bencher: &mut Bencher<'_, Self>, setup: impl FnMut() -> I, routine: impl FnMut(I) -> O);
}

/// The loops of a benchmark that is right for every [`Measured`].
pub trait IterEach {
    /// Measures `routine`.
    ///
    /// Times are those of criterion's `iter`. A peak is read of each iteration, before what it returns is dropped.
    fn iter_each<O>(&mut self, routine: impl FnMut() -> O);

    /// Measures `routine` on what `setup` gives, which is made anew for each iteration and not measured.
    ///
    /// Times are those of criterion's `iter_batched` with a batch an iteration, so that one input is held at a time; each
    /// reading of the clock adds some 0.3 µs.
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

/// A group of benchmarks whose name tells what is measured: `reading` for wall time, `reading peak_heap` for
/// [`PeakHeap`].
///
/// So results of one benchmark by two measurements lie in two folders, and `plimsoll bench-gate` knows their units.
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
