//! Memory measurements for criterion, so that its statistics, reports and baselines work for memory.
//!
//! The version of criterion is part of its types: `the trait bound PeakHeap: Measurement is not satisfied` means that
//! the crate uses a different version from this module. Use the feature and module for the crate's version.
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
//! A benchmark written with [`IterEach`] works with any of them, and with criterion's own `WallTime`:
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
//! Meaning of the figures:
//! - **Peaks are not additive.** Criterion reads a measurement before and after many iterations and divides, which is
//!   correct for time and wrong for a peak. Here a peak is read for each iteration and criterion gets the sum, so that
//!   its mean is the mean peak and its regression over the iterations is a straight line through zero. Criterion's own
//!   loops (`Bencher::iter` and the like) cannot do that: with them, a measurement of a peak panics with advice.
//! - **Memory freed by earlier iterations is returned** to the system before each one (glibc's `malloc_trim`), and the
//!   output of a setup exists before the iteration begins. Memory that an allocator still keeps hides growth in the
//!   next iteration: glibc keeps the top of the arenas of threads other than the main one
//!   (`MALLOC_MMAP_THRESHOLD_=131072` in the environment makes it return every block of that size at once), and
//!   jemalloc and mimalloc keep pages for a while. With those, measure the heap.
//! - **Anonymous peaks are sampled**: iterations shorter than 2 ms are repeated for that long, and the largest sample
//!   counts for each of them.
//! - **A peak of zero** is reported to criterion as a billionth of a byte, because it drops a benchmark that measured
//!   0. Equal peaks are made to differ by less than a part in 10^12, because its plots panic on them.
//! - **Throughput** is input per memory (`elem/MiB`, `B/B`): more is better, as criterion's reports assume.
//! - **Machine units** are bytes (`B`) and nanoseconds (`ns`), as in `sample.json` and `estimates.json`. Those files
//!   name no unit: [`group`] adds the name of the measurement to the benchmark's, where `plimsoll bench-gate` finds it.
//!   Results of two measurements thus go to two folders.

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
