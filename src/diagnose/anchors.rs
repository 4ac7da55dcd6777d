//! The pieces of text without which a line gives no event: what the scan looks for at the speed of memory.

use std::sync::LazyLock;

use aho_corasick::packed::{Config, MatchKind, Searcher};

use super::telemetry::needles;

/// Few and rare in logs, so that one packed search finds them all: what every wording of the families has in it. Lines
/// that hold one and say nothing are told apart afterwards, by their shape.
const ANCHORS: [&str; 63] = [
    "emory",
    "MEMORY",
    "ut of\n",
    "lloc",
    "ALLOC",
    "OOM",
    "oom",
    "illed",
    "KILL",
    "Killing",
    "\u{5df2}\u{6740}\u{6b7b}",
    "SIGBUS",
    "ignal 9",
    "ignal: 9",
    "kill -",
    " 137",
    "=137",
    ":137",
    "(137",
    "-9",
    "ENOMEM",
    "WinError",
    "1455",
    "0000017",
    "8007000",
    "heap ",
    "Heap ",
    "xhausted",
    "swap ",
    "us error",
    "dev/shm",
    "</torch_",
    "VRAM",
    "vram",
    "rror R1",
    "JETSAM",
    "stored in KV",
    "hbm ",
    "ttempting to",
    "nvalid buffer size",
    " DUE TO ",
    "CANCELLED AT",
    "LIMIT",
    "KeyboardInterrupt",
    "WORKER TIMEOUT",
    "timed out. ",
    "\"h_",
    "exceeded limit",
    "all available RAM",
    "severe (41)",
    "ABEND",
    "OF_ME+",
    "ending SIGTERM to",
    "enough space",
    "array exceeds",
    "OF_ME,",
    "atch size found",
    "ORA-0",
    "ircuit",
    "(2 vs. 0",
    "NRT_RESOURCE",
    "ObjectStoreFull",
    "object store",
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

static EVENTS: LazyLock<Option<Searcher>> = LazyLock::new(|| searcher(&ANCHORS));
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
    let found = EVENTS.iter().flat_map(|searcher| searcher.find_iter(bytes));
    places.extend(found.map(|found| found.start()));
}

/// Whether `text` may tell an event.
pub(super) fn any(text: &str) -> bool {
    EVENTS.as_ref().is_some_and(|searcher| searcher.find(text).is_some())
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
        assert!(EVENTS.is_some() && BESIDE.is_some());
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
