//! The pieces of text without which a line tells no event: what the scan looks for at the speed of memory.

use std::sync::LazyLock;

use aho_corasick::packed::{Config, MatchKind, Searcher};

use super::telemetry::needles;

/// Each is as rare in logs as it can be and still stands in every wording of its family. Where a wording may be wrapped
/// in the middle, another anchor lies on the other side.
const ANCHORS: [&str; 98] = [
    // Devices and allocators.
    "ut of memory",
    "ut Of Memory",
    "ut of Memory",
    "UT_OF_ME",
    "UT_OF_DEVICE_MEMORY",
    "ried to alloc",
    "an out of mem",
    "emoryError",
    "llocation on device",
    "ALLOC_FAILED",
    "ErrorMemoryAllocation",
    "OutOfMemory",
    "OOM when alloc",
    "hile trying to alloc",
    "ttempting to reserve",
    "hbm capacity",
    "nvalid buffer size",
    "for the cache blocks",
    "stored in KV cache",
    "ot enough memory.",
    "calloc async",
    "GPU memory utilization",
    "KV cache memory",
    "annot allocate",
    "an't allocate memory",
    "not enough memory",
    "nable to allocate",
    "ailed to allocate",
    "bad_alloc",
    "memory allocation of",
    "malloc of size",
    "os error 12",
    "posix_memalign",
    "posix_fallocate",
    "inned host memory",
    "rror 2 ",
    "out_of_memory",
    "heap space",
    // The kernel, managers of jobs, containers and services.
    "oom-kill",
    "oom_kill",
    "OOMKill",
    "OOM kill",
    "OOM Kill",
    "OOM-kill",
    "memory: usage ",
    "low on resource",
    "low memory!",
    "ending SIGTERM to",
    "ttempting to kill",
    "emory limit",
    "emory resource limit",
    "emory budget",
    "space Allocation of",
    "MEMLIMIT",
    "exceeded limit",
    "NT DUE TO",
    " DUE TO ",
    "CANCELLED AT",
    "TERM_RUNLIMIT",
    "memory usage threshold",
    "System memory low",
    // SIGKILL without a sender.
    "Killed",
    "killed",
    "KILLED",
    "已杀死",
    "SIGKILL",
    "ignal 9",
    "ignal: 9",
    "ode 137",
    "ode: 137",
    "ode=137",
    "ode\":137",
    "ode\": 137",
    "it Code:",
    "xit 137",
    "tatus 137",
    "tatus: 137",
    "aging file is too small",
    "all available RAM",
    "tatus=137",
    "(137)",
    "rror 137",
    "ode -9",
    "ode: -9",
    "ode = -9",
    "ode  : -9",
    "ode=-9",
    "tatus -9",
    "tatus=9/KILL",
    "KeyboardInterrupt",
    "WORKER TIMEOUT",
    // Shared memory.
    "us error",
    "SIGBUS",
    "shared memory",
    "dev/shm",
    "file </torch_",
    "object </torch_",
    "oom-killer",
];

/// What tells the factors of the effective batch.
const FACTORS: [&str; 12] = [
    "atch size per device",
    "atch_size_per",
    "micro_batch_size",
    "micro-batch-size",
    "global_batch_size",
    "global-batch-size",
    "Total train batch size",
    "radient Accumulation steps",
    "radient_accumulation_steps",
    "world_size",
    "world size",
    "nproc_per_node",
];

/// A packed searcher is fast up to 64 patterns.
const SHARE: usize = 52;

static EVENTS: LazyLock<Vec<Searcher>> = LazyLock::new(|| ANCHORS.chunks(SHARE).filter_map(searcher).collect());
/// What stands beside events: factors of the batch, then telemetry. One search finds both.
static BESIDE: LazyLock<Option<Searcher>> = LazyLock::new(|| searcher(&[&FACTORS, needles()].concat()));

/// The longest anchor fits into so many bytes: the overlap of two searches.
pub(super) const LONGEST_ANCHOR: usize = 40;

fn searcher(patterns: &[&str]) -> Option<Searcher> {
    let mut builder = Config::new().match_kind(MatchKind::LeftmostFirst).builder();
    builder.extend(patterns).build()
}

/// Adds the places in `bytes` where an anchor begins to `places`, in order.
pub(super) fn find(bytes: &[u8], places: &mut Vec<usize>) {
    for searcher in EVENTS.iter() {
        places.extend(searcher.find_iter(bytes).map(|found| found.start()));
    }
    places.sort_unstable();
}

/// What stands beside events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beside {
    /// A factor of the effective batch.
    Factor,
    /// A line of telemetry.
    Telemetry,
}

/// Calls `found` with the places in `bytes` where something beside events is told, in order.
pub(super) fn find_beside(bytes: &[u8], mut found: impl FnMut(usize, Beside)) {
    let Some(searcher) = BESIDE.as_ref() else { return };
    for place in searcher.find_iter(bytes) {
        let factor = place.pattern().as_usize() < FACTORS.len();
        found(place.start(), if factor { Beside::Factor } else { Beside::Telemetry });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_anchor_is_searched_for_and_fits_into_the_overlap() {
        assert_eq!(EVENTS.len(), ANCHORS.len().div_ceil(SHARE));
        for anchor in ANCHORS.iter().chain(&FACTORS).chain(needles()) {
            assert!(anchor.len() <= LONGEST_ANCHOR, "{anchor}");
        }
        for anchor in ANCHORS {
            let mut places = Vec::new();
            find(format!("{:40}{anchor}", "").as_bytes(), &mut places);
            assert!(places.iter().any(|place| *place >= 40), "{anchor}");
        }
        let beside = FACTORS.iter().map(|text| (text, Beside::Factor));
        for (text, expected) in beside.chain(needles().iter().map(|text| (text, Beside::Telemetry))) {
            let mut found = Vec::new();
            find_beside(format!("{:40}{text}", "").as_bytes(), |place, what| found.push((place, what)));
            assert_eq!(found, [(40, expected)], "{text}");
        }
    }
}
