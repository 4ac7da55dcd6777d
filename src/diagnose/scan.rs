//! [`Scanner`]: reads text of any length in constant memory, and passes on the windows around possible events.
//!
//! The whole text is searched for anchors only; a window around a hit is split into lines and read. The window includes
//! text before its hits, for the traceback above a message, and text after them, for a message that continues. Lines of
//! telemetry are passed on one by one.

use std::ops::Range;

use super::anchors::{self, LONG};
use super::feed::{Feed, count_lines};
use super::shape;
use super::telemetry::{Position, heads_rows, is_row};

/// How many bytes are searched at once where little is found, and where much is: what is learnt of the lines of one
/// piece saves reading them in the next.
const LARGE: usize = 2 << 20;
const SMALL: usize = 128 << 10;
/// More hits than this are much.
const MUCH: usize = 64;
/// How many bytes at the beginning of an input may identify the running software.
const HEAD: usize = 64 << 10;
/// How many bytes before a hit belong to its window.
const BACK: usize = 24 << 10;
/// How many bytes after a hit belong to its window.
const AHEAD: usize = 8 << 10;
/// Hits at most this many bytes apart share a window.
const NEAR: usize = 16 << 10;
/// How many bytes the hits of a window may span.
const SPAN: usize = 256 << 10;
/// How many other lines may stand among the rows of a table.
const BETWEEN: usize = 2;

/// Text around hits.
#[derive(Debug)]
pub(super) struct Window<'a> {
    pub(super) bytes: &'a [u8],
    /// Offset of `bytes` in the input.
    pub(super) offset: u64,
    /// Number of the line in which they begin, from 1.
    pub(super) line: u64,
    /// Offsets of the hits in `bytes`, in order.
    pub(super) hits: Vec<usize>,
}

/// Searches an input that is given piece by piece.
#[derive(Debug)]
pub(super) struct Scanner {
    buffer: Vec<u8>,
    /// Hits up to this offset have been passed on.
    done: usize,
    /// How many bytes are searched next.
    piece: usize,
    /// Offset and line number of the buffer in the input.
    offset: u64,
    line: u64,
    /// How many more lines are searched for factors of the batch.
    factors_left: u32,
    feed: Feed,
    /// Where the next row of a table of memory figures may begin in the input.
    rows: Option<u64>,
}

impl Default for Scanner {
    fn default() -> Self {
        Self {
            buffer: Vec::new(),
            done: 0,
            piece: SMALL,
            offset: 0,
            line: 1,
            factors_left: 256,
            feed: Feed::default(),
            rows: None,
        }
    }
}

/// The receiver of what a scan finds.
pub(super) trait Sink {
    /// Whether to read another line of `shape` with a hit: many of its shape may have been read.
    fn wants(&mut self, shape: u64) -> bool;
    /// Takes the beginning of the input.
    fn head(&mut self, text: &[u8]);
    /// Takes text around hits.
    fn window(&mut self, window: Window<'_>);
    /// Takes a line that may state a factor of the batch.
    fn factor(&mut self, line: &[u8]);
    /// Whether to read another line of `shape` that may mention memory: many of its shape may have been read, or held
    /// no figure.
    fn measures(&mut self, offset: u64, shape: u64) -> bool;
    /// Takes a line of telemetry, or one shortly before it, without its line end. Each line comes once, in order.
    fn telemetry(&mut self, position: Position, line: &[u8]);
}

impl Scanner {
    /// Takes more text, and passes on what is complete.
    pub(super) fn push(&mut self, mut bytes: &[u8], sink: &mut impl Sink) {
        while !bytes.is_empty() {
            let room = (self.done + self.piece + AHEAD).saturating_sub(self.buffer.len()).max(1);
            let (now, rest) = bytes.split_at(room.min(bytes.len()));
            self.buffer.extend_from_slice(now);
            bytes = rest;
            if self.buffer.len() >= self.done + self.piece + AHEAD {
                self.search(self.done + self.piece, sink);
            }
        }
    }

    /// Passes on everything that is left: no more text belongs to it.
    pub(super) fn settle(&mut self, sink: &mut impl Sink) {
        self.search(self.buffer.len(), sink);
    }

    /// The number of bytes and lines so far.
    pub(super) fn counted(&self) -> (u64, u64) {
        let ends = self.line - 1 + count_lines(&self.buffer);
        let open = self.buffer.last().is_some_and(|last| *last != b'\n');
        (self.offset + self.buffer.len() as u64, ends + u64::from(open))
    }

    fn search(&mut self, end: usize, sink: &mut impl Sink) {
        if self.offset == 0 && self.done == 0 {
            sink.head(&self.buffer[..self.buffer.len().min(HEAD)]);
        }
        let (mut hits, mut telemetry) = (Vec::new(), Vec::new());
        anchors::lines(&self.buffer, self.done..end, |found| {
            if found.event.is_some() || found.telemetry.is_some() {
                let shape = shape::of(self.buffer[found.line.clone()].trim_ascii_end());
                hits.extend(found.event.filter(|_| sink.wants(shape)));
                let offset = self.offset + found.line.start as u64;
                telemetry.extend(found.telemetry.filter(|_| sink.measures(offset, shape)));
            }
            if let Some(hit) = found.factor.filter(|_| self.factors_left > 0) {
                self.factors_left -= 1;
                sink.factor(&self.buffer[line_around(&self.buffer, hit)]);
            }
        });
        self.add_rows(&mut telemetry, end, sink);
        let start = Position { line: self.line, offset: self.offset };
        self.feed.lines(&self.buffer, start, &telemetry, |position, line| sink.telemetry(position, line));
        let (mut counted, mut line) = (0, self.line);
        for cluster in clusters(&hits) {
            let range = self.around(cluster);
            line += count_lines(&self.buffer[counted..range.start.max(counted)]);
            // Windows may overlap: subtract the lines of the text that both contain.
            let back = count_lines(&self.buffer[range.start.min(counted)..counted]);
            line -= back;
            counted = range.start;
            sink.window(Window {
                bytes: &self.buffer[range.clone()],
                offset: self.offset + range.start as u64,
                line,
                hits: cluster.iter().map(|hit| hit - range.start).collect(),
            });
        }
        self.piece = if hits.len() + telemetry.len() > MUCH { SMALL } else { LARGE.min(self.piece * 2) };
        self.done = end;
        let dropped = self.done.saturating_sub(BACK + LONG);
        self.line += count_lines(&self.buffer[..dropped]);
        self.offset += dropped as u64;
        self.buffer.drain(..dropped);
        self.done -= dropped;
    }

    /// Adds to `hits` the rows of tables that a hit heads, up to `end`: they have numbers alone.
    fn add_rows(&mut self, hits: &mut Vec<usize>, end: usize, sink: &mut impl Sink) {
        let mut rows = Vec::new();
        let open = self.rows.take().and_then(|at| usize::try_from(at.saturating_sub(self.offset)).ok());
        let heads = hits.iter().filter_map(|&hit| {
            let line = line_around(&self.buffer, hit);
            heads_rows(&self.buffer[line.clone()]).then_some(line.end + 1)
        });
        let mut from = 0;
        for head in open.into_iter().chain(heads) {
            let (mut at, mut others) = (head.max(from), 0);
            while at < end {
                // A bar writes its row again and again, each time behind a carriage return.
                let length = memchr::memchr2(b'\n', b'\r', &self.buffer[at..]).unwrap_or(self.buffer.len() - at);
                let line = &self.buffer[at..at + length];
                let returned = self.buffer.get(at) == Some(&b'\r') || (at > 0 && self.buffer[at - 1] == b'\r');
                if line.is_empty() && returned && at < self.buffer.len() {
                    at += 1;
                    continue;
                }
                if !is_row(line) {
                    others += 1;
                    if others > BETWEEN {
                        break;
                    }
                } else if sink.measures(self.offset + at as u64, shape::of(line.trim_ascii_end())) {
                    rows.push(at);
                }
                at += length + 1;
            }
            self.rows = (at >= end).then(|| self.offset + at as u64);
            from = at;
        }
        if !rows.is_empty() {
            hits.extend(rows);
            hits.sort_unstable();
            hits.dedup();
        }
    }

    /// The window of `hits`: whole lines unless they are too long.
    fn around(&self, hits: &[usize]) -> Range<usize> {
        let (first, last) = (hits[0], hits[hits.len() - 1]);
        let mut start = first.saturating_sub(BACK);
        if start > 0 {
            let next = memchr::memchr(b'\n', &self.buffer[start..first]);
            start = next.map_or(first.saturating_sub(LONG), |at| start + at + 1);
        }
        let end = self.buffer.len().min(last + AHEAD);
        let cut = if end < self.buffer.len() { memchr::memrchr(b'\n', &self.buffer[last..end]) } else { None };
        start..cut.map_or(end, |at| last + at + 1)
    }
}

/// Hits that share a window.
fn clusters(mut hits: &[usize]) -> impl Iterator<Item = &[usize]> {
    std::iter::from_fn(move || {
        let first = *hits.first()?;
        let apart = hits.windows(2).position(|pair| pair[1] - pair[0] > NEAR || pair[1] - first > SPAN);
        let (cluster, rest) = hits.split_at(apart.map_or(hits.len(), |at| at + 1));
        hits = rest;
        Some(cluster)
    })
}

/// The line of `place`, within bounds.
fn line_around(bytes: &[u8], place: usize) -> Range<usize> {
    const BOUND: usize = 512;
    let from = place.saturating_sub(BOUND);
    let to = bytes.len().min(place + BOUND);
    let start = memchr::memrchr(b'\n', &bytes[from..place]).map_or(from, |at| from + at + 1);
    let end = memchr::memchr(b'\n', &bytes[place..to]).map_or(to, |at| place + at);
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Found {
        windows: Vec<(u64, u64, Vec<u64>)>,
    }

    impl Sink for Found {
        fn wants(&mut self, _: u64) -> bool {
            true
        }
        fn head(&mut self, _: &[u8]) {}
        fn window(&mut self, window: Window<'_>) {
            let hits = window.hits.iter().map(|hit| window.offset + *hit as u64).collect();
            self.windows.push((window.line, window.offset, hits));
        }
        fn factor(&mut self, _: &[u8]) {}
        fn measures(&mut self, _: u64, _: u64) -> bool {
            true
        }
        fn telemetry(&mut self, _: Position, _: &[u8]) {}
    }

    fn scan(text: &[u8], piece: usize) -> (Found, (u64, u64)) {
        let (mut found, mut scanner) = (Found::default(), Scanner::default());
        text.chunks(piece).for_each(|piece| scanner.push(piece, &mut found));
        scanner.settle(&mut found);
        (found, scanner.counted())
    }

    #[test]
    fn hits_are_where_they_are_whatever_the_pieces_and_each_is_given_once() {
        let mut text = Vec::new();
        let mut hits = Vec::new();
        for index in 0..90_000u64 {
            if index % 9_973 == 17 {
                hits.push(text.len() as u64 + 13);
                text.extend_from_slice(b"CUDA out of memory\n");
            }
            text.extend_from_slice(format!("step {} loss 0.25 a line of ordinary length\n", index % 100).as_bytes());
        }
        for piece in [977, 1 << 16, text.len()] {
            let (found, counted) = scan(&text, piece);
            let all: Vec<u64> = found.windows.iter().flat_map(|window| window.2.clone()).collect();
            assert_eq!(all, hits, "pieces of {piece}");
            assert_eq!(counted, (text.len() as u64, 90_000 + hits.len() as u64));
            for (line, offset, _) in found.windows {
                let before = count_lines(&text[..offset as usize]) + 1;
                assert_eq!(line, before, "the line of the window at {offset}");
            }
        }
    }

    #[test]
    fn memory_is_bounded_by_the_piece_that_is_searched() {
        let (mut found, mut scanner) = (Found::default(), Scanner::default());
        for _ in 0..64 {
            scanner.push(&vec![b'x'; 1 << 19], &mut found);
            assert!(scanner.buffer.capacity() <= 4 * LARGE, "{}", scanner.buffer.capacity());
        }
    }
}
