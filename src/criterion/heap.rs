//! [`PeakHeap`]: the heap of an iteration.

use super::peak::{Peak, measure_peak};
use plimsoll_memory::alloc::Scope;
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::meter::Metric;

/// The most bytes that were allocated at one time during an iteration, by every thread, above those that were allocated as
/// it began: exact, and the same in every run of code that allocates the same.
///
/// The program's allocator has to be [`alloc::Tracking`](plimsoll_memory::alloc::Tracking); a benchmark of one that is not panics with
/// advice.
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
