//! Memory as a measurement of criterion, so that its statistics, reports and baselines serve memory.
//!
//! The version of criterion is a part of its types: `the trait bound PeakHeap: Measurement is not satisfied` means that the
//! crate uses another than this module. Take the feature and the module of its own version.
//!
//! | criterion | feature | module |
//! |---|---|---|
//! | 0.8 | `criterion` | `plimsoll::criterion` |
//! | 0.7 | `criterion-0-7` | `plimsoll::criterion_0_7` |
//! | 0.6 | `criterion-0-6` | `plimsoll::criterion_0_6` |
//! | 0.5 | `criterion-0-5` | `plimsoll::criterion_0_5` |
//!
//! | measurement | figure of an iteration | source |
//! |---|---|---|
//! | [`PeakRss`] | the largest resident set of the process | the kernel's mark (`VmHWM`), reset before each: exact |
//! | [`PeakRssGrowth`] | the same above what stood as the iteration began | the same |
//! | [`PeakAnon`], [`PeakAnonGrowth`] | the same of anonymous memory, of which the kernel keeps no mark | sampled every 100 µs or so |
//! | [`PeakHeap`] | the most bytes allocated at one time, above those before | [`alloc::Tracking`](plimsoll_memory::alloc::Tracking): exact |
//! | [`CpuTime`] | the processor time of every thread of the process | `CLOCK_PROCESS_CPUTIME_ID`: exact |
//!
//! A benchmark runs over any of them, and over criterion's own `WallTime`, through [`IterEach`]:
//!
//! ```no_run
//! use criterion::{Criterion, criterion_group, criterion_main};
//! use plimsoll::criterion::{IterEach, Measured, PeakRssGrowth, group};
//!
//! fn squares<M: Measured>(c: &mut Criterion<M>) {
//!     let mut group = group(c, "squares");
//!     group.bench_function("1e6", |b| b.iter_each(|| (0..1_000_000u64).map(|n| n * n).collect::<Vec<_>>()));
//! }
//!
//! criterion_group!(time, squares);
//! criterion_group! {
//!     name = memory;
//!     config = Criterion::default().with_measurement(PeakRssGrowth);
//!     targets = squares
//! }
//! criterion_main!(time, memory);
//! ```
//!
//! What the figures mean:
//! - **A peak does not add up.** Criterion reads what it measures before and after many iterations and divides: right for
//!   time, wrong for a peak. Here a peak is read of each iteration, and the sum is given to criterion, so that its mean is
//!   the mean peak and its regression over the iterations is a straight line through nothing. Criterion's own loops
//!   (`Bencher::iter` and the like) cannot do that, and a measurement of a peak panics with advice if one is used.
//! - **What earlier iterations freed is given back** to the system before each (`malloc_trim` of glibc), and what was
//!   built by a setup stands before the iteration begins. What an allocator keeps all the same is hidden from the growth
//!   of the next iteration: glibc keeps the top of the arenas of threads other than the main one
//!   (`MALLOC_MMAP_THRESHOLD_=131072` in the environment sends every block of that size back at once), jemalloc and
//!   mimalloc keep pages for a while. There, measure the heap.
//! - **An anonymous peak is sampled**: iterations shorter than 2 ms are repeated for that long, and the largest sample of
//!   them counts for each.
//! - **A peak of nothing** is told to criterion as a billionth of a byte, for it drops a benchmark that measured 0. Peaks
//!   that are all equal are told apart by less than a part in 10^12, for its plots panic on them.
//! - **Throughput** is input per memory (`elem/MiB`, `B/B`): more is better, as criterion's reports take it.
//! - **Units for machines** are bytes (`B`) and nanoseconds (`ns`), as they stand in `sample.json` and `estimates.json`.
//!   Those files do not name a unit: [`group`] puts the measurement's name into the benchmark's, from which
//!   `plimsoll bench-gate` takes it, and which keeps the results of two measurements in two folders.

use ::criterion as library;

use library::Throughput;

#[path = "mod.rs"]
mod measurements;

#[doc(inline)]
pub use measurements::*;

use measurements::Amount;

impl From<&Throughput> for Amount {
    fn from(throughput: &Throughput) -> Self {
        match *throughput {
            Throughput::Bytes(bytes) => Self::Bytes(bytes),
            Throughput::BytesDecimal(bytes) => Self::DecimalBytes(bytes),
            Throughput::Bits(bits) => Self::Bits(bits),
            Throughput::Elements(elements) | Throughput::ElementsAndBytes { elements, .. } => Self::Elements(elements),
        }
    }
}
