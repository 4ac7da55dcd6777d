//! [`Feed`]: the lines around telemetry hits, each once, in order, with its position.

use super::telemetry::Position;

/// A longer line is cut to this many bytes before its hit, and this many after it.
const LONGEST_LINE: (usize, usize) = (8 << 10, 32 << 10);
/// How far before a hit its label may be, in lines: lines of other processes may come between.
const LABELS: usize = 3;

/// Passes on the lines of an input that mention memory.
#[derive(Debug, Default)]
pub(super) struct Feed {
    /// Lines up to this offset in the input have been passed on.
    given: u64,
}

impl Feed {
    /// Passes on the lines of `hits` in `buffer`, which begins at `start` of the input, and the lines before each hit.
    pub(super) fn lines(
        &mut self,
        buffer: &[u8],
        start: Position,
        hits: &[usize],
        mut take: impl FnMut(Position, &[u8]),
    ) {
        let (mut counted, mut line) = (0, start.line);
        for &hit in hits {
            let given = usize::try_from(self.given.saturating_sub(start.offset)).unwrap_or(usize::MAX);
            if hit < given {
                continue;
            }
            let from = beginning(buffer, given, hit);
            let bound = buffer.len().min(hit + LONGEST_LINE.1);
            let end = memchr::memchr2(b'\n', b'\r', &buffer[hit..bound]).map_or(bound, |at| hit + at);
            line += count_lines(&buffer[counted..from]);
            let mut at = from;
            for part in buffer[from..end].split(|byte| matches!(byte, b'\n' | b'\r')) {
                if !part.trim_ascii().is_empty() {
                    take(Position { line, offset: start.offset + at as u64 }, part);
                }
                at += part.len();
                line += u64::from(at < end && buffer[at] == b'\n');
                at += 1;
            }
            counted = end;
            self.given = start.offset + end as u64;
        }
    }
}

/// Where the first line that belongs to `hit` begins: not before `given`.
fn beginning(buffer: &[u8], given: usize, hit: usize) -> usize {
    let earliest = given.max(hit.saturating_sub(LONGEST_LINE.0));
    let mut start = hit;
    let mut lines = 0;
    loop {
        let found = memchr::memrchr2(b'\n', b'\r', &buffer[earliest..start]);
        let Some(at) = found.map(|at| earliest + at) else {
            // The cut-off line before is dropped; the line of the hit is kept as far as it was read.
            return if earliest == given || lines == 0 { earliest } else { start + 1 };
        };
        lines += usize::from(start == hit || !buffer[at + 1..start].trim_ascii().is_empty());
        if lines > LABELS {
            return at + 1;
        }
        start = at;
    }
}

/// The line ends of `bytes`.
pub(super) fn count_lines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fed(buffer: &[u8], hits: &[usize]) -> Vec<(u64, u64, String)> {
        let mut found = Vec::new();
        let start = Position { line: 1, offset: 0 };
        Feed::default().lines(buffer, start, hits, |position, line| {
            found.push((position.line, position.offset, String::from_utf8_lossy(line).into_owned()));
        });
        found
    }

    #[test]
    fn a_line_comes_with_those_before_it_and_once() {
        let text = b"zero\na\r\nb\n\nc\nhit hit\nd\nhit\nrest";
        let found = fed(text, &[15, 19, 25]);
        let expected = [(2, 5, "a"), (3, 8, "b"), (5, 11, "c"), (6, 13, "hit hit"), (7, 21, "d"), (8, 23, "hit")];
        let found: Vec<_> = found.iter().map(|(line, offset, text)| (*line, *offset, text.as_str())).collect();
        assert_eq!(found, expected);
        let bar = fed(b"1%\r2%\rhit", &[6]);
        assert_eq!(bar.iter().map(|part| part.1).collect::<Vec<_>>(), [0, 3, 6], "a bar that is drawn again");
    }

    #[test]
    fn a_line_without_end_is_cut() {
        let found = fed(&vec![b'x'; 100 << 10], &[50 << 10, 60 << 10, 90 << 10]);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].1, found[0].2.len()), (42 << 10, 40 << 10));
        assert_eq!(found[1].1, 82 << 10);
    }

    proptest! {
        #[test]
        fn lines_stand_where_they_say(text in "[a-c\\n\\r ]{0,200}", hits in prop::collection::btree_set(0usize..200, 0..20)) {
            let hits: Vec<usize> = hits.into_iter().filter(|hit| *hit < text.len()).collect();
            let mut last = None;
            for (line, offset, part) in fed(text.as_bytes(), &hits) {
                let at = offset as usize;
                prop_assert!(text[at..].starts_with(&part) && last < Some(offset));
                prop_assert_eq!(line, count_lines(&text.as_bytes()[..at]) + 1);
                last = Some(offset);
            }
        }
    }
}
