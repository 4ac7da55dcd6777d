//! [`PeakHeap`]: the peak heap of an iteration.

use super::peak::{Peak, measure_peak};
use plimsoll_memory::alloc::Scope;
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::meter::Metric;

/// The most bytes allocated at one time during an iteration, by all threads, beyond those allocated when it began. The
/// figure is exact, and equal in every run of code that allocates the same.
///
/// The program must use [`alloc::Tracking`](plimsoll_memory::alloc::Tracking) as its allocator; otherwise the benchmark
/// panics with advice.
#[derive(Clone, Copy, Debug, Default)]
pub struct PeakHeap;

measure_peak!(PeakHeap);

impl Peak for PeakHeap {
    const METRIC: Metric = Metric::PeakHeap;
    type Start = Scope;

    fn begin() -> Scope {
        match Scope::process() {
            Ok(scope) => scope,
            Err(error) => panic!("{error}"),
        }
    }

    fn reached(scope: Scope) -> ByteSize {
        scope.finish().peak
    }
}
