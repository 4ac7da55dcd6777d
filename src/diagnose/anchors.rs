//! The pieces of text that every line about an event contains: the scan looks for them at memory speed.

use std::ops::Range;
use std::sync::LazyLock;
use std::thread;

use super::literals::{Literals, WHOLE};
use super::telemetry::needles;

/// Rare words, few in number, that every wording of the families contains. Lines that contain one without being about
/// an event are recognised later, by their shape.
const ANCHORS: [&str; 151] = [
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
    "\u{5df2}\u{780d}\u{6389}",
    "\u{5f37}\u{5236}\u{7d42}\u{4e86}",
    "\u{c8fd}\u{c5c8}\u{c74c}",
    "Get\u{f6}tet",
    "rocessus arr",
    "Ucciso",
    "Morto",
    "\u{423}\u{431}\u{438}\u{442}\u{43e}",
    "Unicestwiony",
    "etaspace",
    "D\u{f6}dad",
    "Ge\u{eb}limineerd",
    "Dr\u{e6}bt",
    "Tapettu",
    "Terminado (",
    "\u{432}\u{435}\u{43a}\u{442}\u{43e}\u{440} ",
    "\u{5206}\u{914d}\u{5927}\u{5c0f}",
    "\u{30d9}\u{30af}\u{30c8}\u{30eb}\u{3092}",
    "nlarge memory",
    "esources exceeded",
    "SQL095",
    "ORA-27",
    "pool size exceeded",
    "verhead limit",
    "reate native",
    "ss limit",
    "em quota",
    "em budget",
    " ram",
    "swap_pager",
    "low swap",
    "end SIGTERM",
    "HEAP-EX",
    "array_new_length",
    "max_map_count",
    "xit_status=-2",
    "\"s_",
    "due to GC",
    "0x505",
    "lmk:",
    "JavaScript invalid",
    "dispatched on the",
    "ldele minne",
    "zone-map-ex",
    "(12: ",
    "maxResultSize",
    "system resources",
    "cannot map pages",
    "SIGBUS",
    "ignal",
    "kill -",
    "NOMEM",
    "NO_MEM",
    "stem resources exist",
    "800705a",
    "WinError",
    "0000017",
    "8007000",
    "eap ",
    "xhausted",
    "swap ",
    "us error",
    "shm",
    "/torch_",
    "hrashing",
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
    "low on resource: ",
    "mbedtls_ssl",
    "\"h_",
    "exceeded limit",
    "process-limit",
    "OF_RESOURCES",
    "Dst tensor is",
    "Data too large",
    "enomem",
    "shortage",
    "peicher",
    "emori",
    "em\u{f3}ri",
    "em\u{f2}ri",
    "\u{43f}\u{430}\u{43c}\u{44f}\u{442}",
    "\u{44f}\u{442}\u{44c}",
    "\u{43f}\u{430}\u{43c}\u{435}\u{442}",
    "ami\u{119}ci",
    "pam\u{11b}",
    "geheugen",
    "era minne",
    "ere minne",
    "hukommelse",
    "Muisti",
    "ellek",
    "\u{3bc}\u{3bd}\u{3ae}\u{3bc}",
    "\u{8a18}\u{61b6}\u{9ad4}",
    "\u{ba54}\u{baa8}\u{b9ac}",
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
    "n vecteur de",
    "n vector de tama",
    "n vettore di",
    "etor de tamanho",
    "ektor der Gr",
    "an the maximum num",
    "PGSP_",
    "PAGING SPACE",
    "ObjectStoreFull",
    "object store",
    "tack limit (",
    "sufficient m",
    "nsufficient M",
    "aging file",
    "x5af)",
    "eserve ",
    "mem limit",
    "VMEM",
    "size allowed",
];

/// Numbers of signals, exits and errors, matched as whole numbers.
const NUMBERS: [&str; 14] = [
    " 137",
    "=137",
    ":137",
    "(137",
    " -9",
    "=-9",
    ":-9",
    "(-9",
    "'-9",
    "1455",
    "rrno 12",
    "rrno=12",
    "rrno: 12",
    "s error 12",
];

/// Words that introduce the factors of the effective batch.
const FACTORS: [&str; 15] = [
    "atch size per device",
    "device_train_batch_size",
    "device-train-batch-size",
    "atch_size_per",
    "micro_batch_size",
    "micro-batch-size",
    "global_batch_size",
    "global-batch-size",
    "Total train batch size",
    "radient Accumulation steps",
    "radient_accumulation_steps",
    "radient-accumulation-steps",
    "world_size",
    "world size",
    "nproc_per_node",
];

/// The kinds of texts, as bits.
const EVENT: u8 = 1;
const FACTOR: u8 = 2;
const TELEMETRY: u8 = 4;
const EVERY: u8 = EVENT | FACTOR | TELEMETRY;

/// Every text to look for, in one search.
static ALL: LazyLock<Literals> = LazyLock::new(|| {
    Literals::new(&[(EVENT, &ANCHORS), (EVENT | WHOLE, &NUMBERS), (FACTOR, &FACTORS), (TELEMETRY, needles())])
});
static EVENTS: LazyLock<Literals> = LazyLock::new(|| Literals::new(&[(EVENT, &ANCHORS), (EVENT | WHOLE, &NUMBERS)]));

/// A longer line is treated as several: this many bytes around a hit are one line.
pub(super) const LONG: usize = 4 << 10;

/// The longest anchor in bytes: the overlap of two searches.
pub(super) const LONGEST_ANCHOR: usize = 40;

/// A line that may concern an event, a factor of the effective batch, or memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The line, without its end.
    pub(super) line: Range<usize>,
    /// Where the first text of each kind begins.
    pub(super) event: Option<usize>,
    pub(super) factor: Option<usize>,
    pub(super) telemetry: Option<usize>,
}

/// A span of at least this many bytes is searched by two threads: half of it takes longer than a thread takes to start.
const SHARED: usize = 256 << 10;

static HAS_TWO_PROCESSORS: LazyLock<bool> =
    LazyLock::new(|| thread::available_parallelism().is_ok_and(|processors| processors.get() > 1));

/// Calls `found` with every line in `span` of `bytes` that contains one of the texts, in order.
pub(super) fn lines(bytes: &[u8], span: Range<usize>, mut found: impl FnMut(Found)) {
    let Some(middle) = middle(bytes, &span) else { return lines_of(bytes, span, found) };
    thread::scope(|scope| {
        let search = || {
            let mut second = Vec::new();
            lines_of(bytes, middle..span.end, |one| second.push(one));
            second
        };
        let second = thread::Builder::new().spawn_scoped(scope, search);
        lines_of(bytes, span.start..middle, &mut found);
        match second.map(thread::ScopedJoinHandle::join) {
            Ok(Ok(second)) => second.into_iter().for_each(found),
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            // No more threads are allowed here.
            Err(_) => lines_of(bytes, middle..span.end, found),
        }
    });
}

/// Where the second half of `span` begins, with a line, if two threads are to search it.
fn middle(bytes: &[u8], span: &Range<usize>) -> Option<usize> {
    if span.len() < SHARED || !*HAS_TWO_PROCESSORS {
        return None;
    }
    let half = span.start + span.len() / 2;
    memchr::memrchr(b'\n', &bytes[span.start..half]).map(|at| span.start + at + 1)
}

/// Does the work of [`lines`] in this thread.
fn lines_of(bytes: &[u8], span: Range<usize>, mut found: impl FnMut(Found)) {
    // A text that begins within the span may end after it.
    let to = bytes.len().min(span.end + LONGEST_ANCHOR);
    let (mut at, mut before, mut search) = (span.start, 0, ALL.search(bytes));
    while let Some((first, kinds)) = search.find(at..to, EVERY).filter(|(hit, _)| *hit < span.end) {
        let line = line_of(bytes, first, before);
        let mut one = Found { line, event: None, factor: None, telemetry: None };
        let (mut hit, mut now, mut seen) = (first, kinds, 0);
        // Each kind is found at its first text, which begins within the span.
        loop {
            for (kind, place) in [(EVENT, &mut one.event), (FACTOR, &mut one.factor), (TELEMETRY, &mut one.telemetry)] {
                if now & kind != 0 {
                    place.get_or_insert(hit);
                }
            }
            seen |= now;
            let end = one.line.end.max(hit + 1).min(to);
            let next = if seen == EVERY { None } else { search.find(hit + 1..end, EVERY & !seen) };
            let Some(next) = next.filter(|(next, _)| *next < span.end) else { break };
            (hit, now) = next;
        }
        (at, before) = (one.line.end.max(first + 1), one.line.end);
        found(one);
    }
}

/// The line of `hit` in `bytes` without its line end, within bounds, and starting at `earliest` or later.
fn line_of(bytes: &[u8], hit: usize, earliest: usize) -> Range<usize> {
    let from = earliest.max(hit.saturating_sub(LONG)).min(hit);
    let start = memchr::memrchr2(b'\n', b'\r', &bytes[from..hit]).map_or(from, |at| from + at + 1);
    let bound = bytes.len().min(hit + LONG);
    // An anchor may end with its line.
    start..memchr::memchr2(b'\n', b'\r', &bytes[hit..bound]).map_or(bound, |at| hit + at)
}

/// Whether `text` may describe an event.
pub(super) fn any(text: &str) -> bool {
    EVENTS.search(text.as_bytes()).find(0..text.len(), EVENT).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_anchor_is_searched_for_and_fits_into_the_overlap() {
        for anchor in ANCHORS.iter().chain(&NUMBERS).chain(&FACTORS).chain(needles()) {
            assert!(anchor.len() <= LONGEST_ANCHOR, "{anchor}");
        }
        for (texts, kind) in
            [(&ANCHORS[..], EVENT), (&NUMBERS[..], EVENT), (&FACTORS[..], FACTOR), (needles(), TELEMETRY)]
        {
            for text in texts {
                let (whole, mut found) = (format!("a\n{:40}{text} 1\nb", ""), Vec::new());
                lines(whole.as_bytes(), 0..whole.len(), |one| found.push(one));
                let place = match kind {
                    EVENT => found[0].event,
                    FACTOR => found[0].factor,
                    _ => found[0].telemetry,
                };
                // ` GB` begins with the last of the blanks.
                assert!(place.is_some_and(|place| place >= 41), "{text}: {found:?}");
            }
        }
    }

    #[test]
    fn two_threads_find_what_one_finds() {
        let line = |at: usize| match at % 97 {
            0 => "out of memory\n".to_owned(),
            13 => "mem=3GB\rKilled\n".to_owned(),
            29 => format!("{:5000}micro_batch_size 4\n", ""),
            _ => format!("step {at} loss 0.5\n"),
        };
        let text: String = (0..30_000).map(line).collect();
        let bytes = text.as_bytes();
        // Ends at which a text begins, and others.
        for span in [0..bytes.len(), 7..bytes.len() - 3, 100..100 + SHARED] {
            assert!(middle(bytes, &span).is_some() || !*HAS_TWO_PROCESSORS);
            let (mut two, mut one) = (Vec::new(), Vec::new());
            lines(bytes, span.clone(), |found| two.push(found));
            lines_of(bytes, span, |found| one.push(found));
            assert!(!one.is_empty() && two == one);
        }
        assert_eq!(middle(&vec![b'x'; SHARED], &(0..SHARED)), None, "one line");
    }

    #[test]
    fn a_line_is_given_once_with_the_first_hit_of_each_kind() {
        let text = b"out of memory: out of memory\nok\nKilled";
        let mut found = Vec::new();
        lines(text, 0..text.len(), |one| found.push((one.line, one.event, one.telemetry)));
        assert_eq!(found, [(0..28, Some(8), Some(7)), (32..38, Some(33), None)]);
        let (text, mut found) = (b"micro_batch_size 4 mem=3GB", Vec::new());
        lines(text, 0..text.len(), |one| found.push(one));
        assert_eq!(found, [Found { line: 0..26, event: None, factor: Some(0), telemetry: Some(19) }]);
    }
}
