//! The pieces of text without which a line gives no event: what the scan looks for at the speed of memory.

use std::ops::Range;
use std::sync::LazyLock;

use super::literals::Literals;
use super::telemetry::needles;

/// Few and rare in logs: what every wording of the families has in it. Lines
/// that hold one and are about no event are known afterwards, by their shape.
const ANCHORS: [&str; 76] = [
    "emory",
    "MEMORY",
    "ut of\n",
    "lloc",
    "ALLOC",
    "OOM",
    "oom",
    "illed",
    "KILL",
    "illing ",
    "\u{5df2}\u{6740}\u{6b7b}",
    "SIGBUS",
    "ignal",
    "kill -",
    " 137",
    "=137",
    ":137",
    "(137",
    " -9",
    "=-9",
    ":-9",
    "(-9",
    "'-9",
    "ENOMEM",
    "WinError",
    "1455",
    "0000017",
    "8007000",
    "eap ",
    "xhausted",
    "swap ",
    "us error",
    "shm",
    "</torch_",
    "RAM",
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
    "process-limit",
    "OF_RESOURCES",
    "Dst tensor is",
    "Data too large",
    "enomem",
    "shortage",
    "rrno 12",
    "rrno=12",
    "peicher",
    "moria",
    "moire",
    "\u{5185}\u{5b58}",
    "\u{30e1}\u{30e2}\u{30ea}",
    "severe (41)",
    "ABEND",
    "OF_ME",
    "ending SIGTERM to",
    "enough s",
    "array exceeds",
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

static EVENTS: LazyLock<Literals> = LazyLock::new(|| Literals::new(&ANCHORS));
/// What stands beside events: factors of the batch, then telemetry. One search finds both.
static BESIDE: LazyLock<Literals> = LazyLock::new(|| Literals::new(&[&FACTORS, needles()].concat()));
static FACTOR: LazyLock<Literals> = LazyLock::new(|| Literals::new(&FACTORS));

/// A line that is longer is taken for several: so much around a hit is one.
pub(super) const LONG: usize = 4 << 10;

/// The longest anchor fits into so many bytes: the overlap of two searches.
pub(super) const LONGEST_ANCHOR: usize = 40;

/// Calls `found` with every line in `span` of `bytes` in which an anchor begins, and the place of its first one.
pub(super) fn lines(bytes: &[u8], span: Range<usize>, mut found: impl FnMut(Range<usize>, usize)) {
    let mut at = span.start;
    // An anchor that begins within the span may end behind it.
    let to = bytes.len().min(span.end + LONGEST_ANCHOR);
    let mut before = 0;
    while at < span.end {
        let hit = EVENTS.find(bytes, at..to).map(|(hit, _)| hit);
        let Some(hit) = hit.filter(|hit| *hit < span.end) else { return };
        let line = line_of(bytes, hit, before);
        (at, before) = (line.end.max(hit + 1), line.end);
        found(line, hit);
    }
}

/// The line of `hit` in `bytes` without its end, within bounds, and not before `earliest`.
fn line_of(bytes: &[u8], hit: usize, earliest: usize) -> Range<usize> {
    let from = earliest.max(hit.saturating_sub(LONG)).min(hit);
    let start = memchr::memrchr2(b'\n', b'\r', &bytes[from..hit]).map_or(from, |at| from + at + 1);
    let bound = bytes.len().min(hit + LONG);
    // An anchor may end with the line.
    start..memchr::memchr2(b'\n', b'\r', &bytes[hit..bound]).map_or(bound, |at| hit + at)
}

/// Whether `text` may tell an event.
pub(super) fn any(text: &str) -> bool {
    EVENTS.find(text.as_bytes(), 0..text.len()).is_some()
}

/// A line in which something beside events may be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Beside {
    /// The line, without its end.
    pub(super) line: Range<usize>,
    /// Where it may tell a factor of the effective batch.
    pub(super) factor: Option<usize>,
    /// Where it may tell of memory.
    pub(super) telemetry: Option<usize>,
}

/// Calls `found` with every line in `span` of `bytes` in which something beside events may be told. Behind telemetry no
/// factor is looked for: see [`factor`].
pub(super) fn lines_beside(bytes: &[u8], span: Range<usize>, mut found: impl FnMut(Beside)) {
    let (mut at, mut before) = (span.start, 0);
    let find = |from: usize, to: usize| BESIDE.find(bytes, from..to).map(|(hit, index)| (hit, index < FACTORS.len()));
    let to = bytes.len().min(span.end + LONGEST_ANCHOR);
    while at < span.end {
        let Some((hit, is_factor)) = find(at, to).filter(|(hit, _)| *hit < span.end) else { return };
        let line = line_of(bytes, hit, before);
        (at, before) = (line.end.max(hit + 1), line.end);
        let mut one = Beside { line, factor: None, telemetry: None };
        *(if is_factor { &mut one.factor } else { &mut one.telemetry }) = Some(hit);
        if is_factor {
            // What tells a factor may tell of memory as well.
            let mut next = hit + 1;
            while let Some((other, is_factor)) = (next < one.line.end).then(|| find(next, one.line.end)).flatten() {
                if !is_factor {
                    one.telemetry = Some(other);
                    break;
                }
                next = other + 1;
            }
        }
        found(one);
    }
}

/// Where `line` may tell a factor of the effective batch.
pub(super) fn factor(line: &[u8]) -> Option<usize> {
    FACTOR.find(line, 0..line.len()).map(|(hit, _)| hit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_anchor_is_searched_for_and_fits_into_the_overlap() {
        for anchor in ANCHORS.iter().chain(&FACTORS).chain(needles()) {
            assert!(anchor.len() <= LONGEST_ANCHOR, "{anchor}");
        }
        for anchor in ANCHORS {
            let (text, mut hits) = (format!("{:40}{anchor}", ""), Vec::new());
            lines(text.as_bytes(), 0..text.len(), |_, hit| hits.push(hit));
            assert!(hits.iter().any(|hit| *hit >= 40), "{anchor}");
        }
        for (texts, is_factor) in [(&FACTORS[..], true), (needles(), false)] {
            for text in texts {
                let (whole, mut found) = (format!("a\n{:40}{text} 1\nb", ""), Vec::new());
                lines_beside(whole.as_bytes(), 0..whole.len(), |one| found.push(one));
                let hit = Some(42);
                let (factor, telemetry) = if is_factor { (hit, None) } else { (None, hit) };
                assert_eq!(found, [Beside { line: 2..44 + text.len(), factor, telemetry }], "{text}");
            }
        }
    }

    #[test]
    fn a_line_is_given_once_with_its_first_hit_and_factors_behind_telemetry_are_seen() {
        let text = b"out of memory: out of memory\nok\nKilled";
        let mut found = Vec::new();
        lines(text, 0..text.len(), |line, hit| found.push((line, hit)));
        assert_eq!(found, [(0..28, 8), (32..38, 33)]);
        let (text, mut found) = (b"micro_batch_size 4 mem=3GB", Vec::new());
        lines_beside(text, 0..text.len(), |one| found.push(one));
        assert_eq!(found, [Beside { line: 0..26, factor: Some(0), telemetry: Some(19) }]);
        assert_eq!(factor(b"mem=3GB micro_batch_size 4"), Some(8));
    }
}
