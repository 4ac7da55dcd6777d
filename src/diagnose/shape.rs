//! [`Shapes`]: what lines of one shape contained so far, so that the thousandth of them costs no more than a look.
//!
//! The shape of a line is the line without its numbers. Lines that differ only in their numbers report the same thing:
//! the first ones are read, the others are counted.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::LazyLock;

use foldhash::fast::{FixedState, RandomState};
use memchr::memmem::Finder;

/// How many lines of a shape with events are read.
const TELLING: u32 = 1024;
/// How many lines with events are read at that rate, about as many as incidents are kept apart; after them, fewer lines
/// of each shape are read.
const PATIENT: u64 = 2048;
const IMPATIENT: u32 = 24;
/// How many lines of a shape, all of them with events, show that the form of the next one needs no judgement.
const KNOWN: u32 = 32;
/// How many lines of a shape without events are read.
const SILENT: u32 = 24;
/// How many lines of a shape are read that might hold a memory figure and never did: a figure of zero is no
/// information, a later one may be.
const UNMEASURED: u32 = 256;
/// How many lines of a shape with memory figures are read; after them, one stretch of the input in several, and in twice
/// as many each time that their number has doubled: a flood of figures is read ever more rarely.
const MEASURED: u32 = 8192;
const STRETCH: u64 = 16 << 10;
const STRETCHES: u64 = 8;
/// How many shapes are kept apart.
const SHAPES: usize = 1 << 15;

/// The shape of `line`: a hash that ignores its numbers, except those with a meaning.
pub(super) fn of(line: &[u8]) -> u64 {
    const LONGEST_SHAPE: usize = 600;
    let line = &line[..line.len().min(LONGEST_SHAPE)];
    // Two numbers that are compared with each other: the limit and the use of AWS Lambda.
    static COMPARED: LazyLock<Finder> = LazyLock::new(|| Finder::new("Memory Used"));
    if COMPARED.find(line).is_some() {
        return FixedState::default().hash_one(line);
    }
    let mut shape = [0u8; LONGEST_SHAPE];
    let (mut length, mut at) = (0, 0);
    while at < line.len() {
        let start = line[at..].iter().position(u8::is_ascii_digit).map_or(line.len(), |next| at + next);
        shape[length..length + start - at].copy_from_slice(&line[at..start]);
        length += start - at;
        at = start;
        if at == line.len() {
            break;
        }
        // A name with digits, such as a hexadecimal identifier, counts as one number.
        while at < line.len() && line[at].is_ascii_alphanumeric() {
            at += 1;
        }
        let number = &line[start..at];
        let fraction = line.get(at) == Some(&b'.') || (start > 0 && line[start - 1] == b'.');
        let meant: &[u8] = match number {
            _ if fraction || is_clock(line, start..at) => b"1",
            _ if carries_meaning(number) => number,
            [b'0', b'x', ..] => &number[..number.len().min(10)],
            _ if number.len() < 4 && !number.iter().all(u8::is_ascii_digit) => number,
            _ => b"1",
        };
        shape[length..length + meant.len()].copy_from_slice(meant);
        length += meant.len();
    }
    FixedState::default().hash_one(&shape[..length])
}

/// Whether the number at `place` is part of a time of day: minutes and seconds would each make a shape.
fn is_clock(line: &[u8], place: Range<usize>) -> bool {
    let digit = |at: Option<usize>| at.and_then(|at| line.get(at)).is_some_and(u8::is_ascii_digit);
    let colon = |at: Option<usize>| at.and_then(|at| line.get(at)) == Some(&b':');
    let before = |back: usize| place.start.checked_sub(back);
    let behind = colon(Some(place.end)) && digit(Some(place.end + 1));
    place.len() == 2 && (behind || (colon(before(1)) && digit(before(2))))
}

/// Whether `number` is a signal, an exit code or an error number that this crate knows.
fn carries_meaning(number: &[u8]) -> bool {
    if number.len() > 4 || (number.len() > 1 && number[0] == b'0') || !number.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let value = number.iter().fold(0, |value, digit| value * 10 + u32::from(digit - b'0'));
    matches!(value, 0 | 2 | 9 | 12 | 14 | 15 | 41 | 137 | 701 | 802 | 1037 | 1038 | 1455)
}

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    read: u32,
    tells: bool,
    /// Whether a line without an event was read.
    mixed: bool,
    /// The incident that the last line belonged to.
    incident: Option<u64>,
}

/// What is known of the shapes in an input.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    seen: HashMap<u64, Seen, RandomState>,
    /// The number of lines read that reported an event.
    told: u64,
}

/// What to do with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Read,
    /// Skip it: the line reports no event.
    Silent,
    /// Count it: earlier lines of its shape reported the same thing, about this incident if all of them did.
    Counted(Option<u64>),
}

impl Shapes {
    /// What to do with a line of `shape`.
    pub(super) fn next(&self, shape: u64) -> Next {
        let most = if self.told < PATIENT { TELLING } else { IMPATIENT };
        match self.seen.get(&shape) {
            Some(seen) if seen.tells && seen.read >= most => Next::Counted(seen.incident),
            Some(seen) if !seen.tells && seen.read >= SILENT => Next::Silent,
            _ => Next::Read,
        }
    }

    /// Whether to read the line at `offset` of `shape` for memory figures. The series keep only a few of very many
    /// lines: lines close together are read together because some reports take several lines.
    pub(super) fn measures(&self, shape: u64, offset: u64) -> bool {
        match self.seen.get(&shape) {
            Some(seen) if !seen.tells => seen.read < UNMEASURED,
            Some(seen) => {
                let doubled = (seen.read / MEASURED).max(1).ilog2();
                seen.read < MEASURED || (offset / STRETCH).is_multiple_of(STRETCHES << doubled)
            }
            None => true,
        }
    }

    /// Records that a line of `shape` was read for memory figures.
    pub(super) fn measured(&mut self, shape: u64, tells: bool) {
        match self.seen.get_mut(&shape) {
            Some(seen) => {
                seen.read = seen.read.saturating_add(1);
                seen.tells |= tells;
            }
            None => self.read(shape, tells, None),
        }
    }

    /// Records that a line of `shape` was read, and which incident it belonged to, if any.
    pub(super) fn read(&mut self, shape: u64, tells: bool, incident: Option<u64>) {
        self.told += u64::from(tells);
        if self.seen.len() >= SHAPES && !self.seen.contains_key(&shape) {
            return;
        }
        let seen = self.seen.entry(shape).or_default();
        seen.incident = if seen.read == 0 || seen.incident == incident { incident } else { None };
        seen.read += 1;
        seen.tells |= tells;
        seen.mixed |= !tells;
    }

    /// Whether many lines of `shape` were read, and all of them reported events.
    pub(super) fn is_known(&self, shape: u64) -> bool {
        self.seen.get(&shape).is_some_and(|seen| seen.read >= KNOWN && !seen.mixed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_differ_in_numbers_alone_are_one_shape_and_meaning_stays() {
        let same = |a: &str, b: &str| of(a.as_bytes()) == of(b.as_bytes());
        assert!(same("[rank31]: tried 2.00 GiB of 79.15 GiB", "[rank7]: tried 12.25 GiB of 80.00 GiB"));
        assert!(same("pod 8f5d11aa", "pod 77aa0911"));
        assert!(same("10:12:33 INFO mem=3.1 GB", "09:41:15 INFO mem=4.2 GB"));
        assert!(!same("exit:12", "exit:13") && !same("1:137", "1:138"));
        for (a, b) in [("exit code 0", "exit code 137"), ("oom_kill 0", "oom_kill 3"), ("h264: full", "vp9: full")] {
            assert!(!same(a, b), "{a} and {b}");
        }
    }

    #[test]
    fn of_very_many_figures_some_stretches_are_read() {
        let mut shapes = Shapes::default();
        for _ in 0..MEASURED {
            assert!(shapes.measures(1, STRETCH));
            shapes.measured(1, true);
        }
        let read = (0..STRETCHES * 4).filter(|stretch| shapes.measures(1, stretch * STRETCH)).count();
        assert_eq!(read, 4);
        for _ in 0..3 * MEASURED {
            shapes.measured(1, true);
        }
        let read = (0..STRETCHES * 16).filter(|stretch| shapes.measures(1, stretch * STRETCH)).count();
        assert_eq!(read, 4, "one in 32 after four times as many");
        for _ in 0..UNMEASURED {
            assert!(shapes.measures(2, 0));
            shapes.measured(2, false);
        }
        assert!(!shapes.measures(2, 0));
    }

    #[test]
    fn what_tells_nothing_is_soon_known_and_what_tells_is_counted() {
        let mut shapes = Shapes::default();
        for _ in 0..SILENT {
            assert_eq!(shapes.next(1), Next::Read);
            shapes.read(1, false, None);
        }
        assert_eq!(shapes.next(1), Next::Silent);
        for _ in 0..TELLING {
            assert_eq!(shapes.next(2), Next::Read);
            shapes.read(2, true, Some(4));
        }
        assert_eq!(shapes.next(2), Next::Counted(Some(4)));
        // Ever new shapes: fewer lines of each are read, so that the time per line stays bounded.
        for shape in 3..3 + PATIENT {
            shapes.read(shape, true, Some(4));
        }
        for _ in 0..IMPATIENT {
            assert_eq!(shapes.next(0), Next::Read);
            shapes.read(0, true, Some(4));
        }
        assert_eq!(shapes.next(0), Next::Counted(Some(4)));
    }
}
