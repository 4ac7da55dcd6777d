//! [`Lines`]: a window as lines of clean text, each with its position and its writer.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use memchr::memmem::Finder;

use super::anchors;
use super::ascii::regex;
use super::code;
use super::counter::Counted;
use super::lengths::Stated;
use super::prefix::{self, Origin};
use super::scan::Window;
use super::shape;
use super::unfold;

/// Longer lines are cut to the text around the first hit.
const LONGEST_LINE: usize = 16 << 10;
/// How many bytes of a cut line are kept before and after its hit.
const KEPT: (usize, usize) = (2 << 10, 6 << 10);

/// A line; a progress bar that is redrawn begins a new one.
#[derive(Debug)]
pub(super) struct Line {
    /// The line number in the input, from 1.
    pub(super) number: u64,
    /// The byte offset in the input.
    pub(super) offset: u64,
    /// The text without terminal codes.
    pub(super) text: String,
    /// Whether the line contains a hit.
    pub(super) hot: bool,
    /// The shape of the input's line, if it contains a hit.
    pub(super) shape: u64,
    /// Who wrote the line, according to the collector's object around it.
    told: (Option<String>, Option<u64>),
    origin: OnceCell<Origin>,
    /// What the line counts: many events look for it in the same lines above them.
    counted: OnceCell<Counted>,
    lengths: OnceCell<Stated>,
}

impl Line {
    /// The counter or progress bar of the line.
    pub(super) fn counted(&self) -> &Counted {
        self.counted.get_or_init(|| Counted::of(&self.text))
    }

    /// What the line says about the lengths of inputs.
    pub(super) fn lengths(&self) -> &Stated {
        self.lengths.get_or_init(|| Stated::of(&self.text))
    }

    /// Who wrote the line, and where its own text begins.
    pub(super) fn origin(&self) -> &Origin {
        self.origin.get_or_init(|| {
            let mut origin = prefix::peel(&self.text);
            origin.host = origin.host.or_else(|| self.told.0.clone());
            origin.rank = origin.rank.or(self.told.1);
            origin
        })
    }

    /// Appends the next line, which a terminal had broken off.
    fn take(&mut self, rest: &Self) {
        self.text.push_str(&rest.text);
        if rest.hot && !self.hot {
            (self.hot, self.shape) = (true, rest.shape);
        }
        (self.origin, self.counted, self.lengths) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
    }

    /// Whether a logger or a collector wrote the line: it has a time and the level of an error, or a place.
    pub(super) fn is_logged(&self) -> bool {
        self.told.0.is_some()
            || regex!(r"^\W?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*\s+(?:ERROR|FATAL|CRITICAL|SEVERE)\b")
                .is_match(&self.text)
    }

    /// Whether the line begins or ends a block of Markdown that is shown as it is.
    pub(super) fn is_fence(&self) -> bool {
        self.text.trim_start().starts_with("```")
    }

    /// The text after the prefixes of loggers and launchers.
    pub(super) fn message(&self) -> &str {
        &self.text[self.origin().end..]
    }
}

/// The lines of a window.
#[derive(Debug)]
pub(super) struct Lines(Vec<Line>);

impl std::ops::Deref for Lines {
    type Target = [Line];
    fn deref(&self) -> &[Line] {
        &self.0
    }
}

impl Lines {
    pub(super) fn of(window: &Window<'_>) -> Self {
        let mut lines = Vec::new();
        let (mut start, mut number) = (0, window.line);
        let mut hits = window.hits.iter().copied().peekable();
        let answers = answers(window.bytes);
        let columns = columns(window.bytes);
        // Whether the previous line fills the terminal, and whether it was joined already.
        let (mut full, mut joined) = (false, false);
        while start < window.bytes.len() {
            let rest = &window.bytes[start..];
            let length = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
            let end = start + length;
            let mut first = None;
            while let Some(hit) = hits.next_if(|hit| *hit <= end) {
                first = first.or(Some(hit.max(start) - start));
            }
            let raw = &rest[..length];
            let kept = match first {
                _ if length <= LONGEST_LINE => raw,
                Some(hit) => &raw[hit.saturating_sub(KEPT.0)..length.min(hit + KEPT.1)],
                None => &raw[..KEPT.0],
            };
            if length > 0 {
                let shape = if first.is_some() { shape::of(raw) } else { 0 };
                let line = Line {
                    number,
                    offset: window.offset + start as u64,
                    text: clean(kept),
                    hot: first.is_some(),
                    shape,
                    told: (None, None),
                    origin: OnceCell::new(),
                    counted: OnceCell::new(),
                    lengths: OnceCell::new(),
                };
                let fills = columns.is_some_and(|columns| length + 1 >= columns);
                match lines.last_mut().filter(|last| full && (joined || fills) && broken(last, &line)) {
                    Some(last) => {
                        last.take(&line);
                        joined = true;
                    }
                    None => {
                        joined = false;
                        lines.extend(unfolded(line, answers));
                    }
                }
                full = fills;
            }
            number += u64::from(rest.get(length) == Some(&b'\n'));
            start = end + 1;
        }
        Self(lines)
    }

    /// All lines of a text, none of which is known to contain a hit.
    pub(super) fn whole(bytes: &[u8]) -> Self {
        Self::of(&Window { bytes, offset: 0, line: 1, hits: Vec::new() })
    }

    /// One line that contains a hit.
    #[cfg(test)]
    pub(super) fn hot(text: &str) -> Self {
        Self::of(&Window { bytes: text.as_bytes(), offset: 0, line: 1, hits: vec![0] })
    }

    /// As [`Lines::hot`], and the first line that holds `what`.
    #[cfg(test)]
    pub(super) fn hot_at(text: &str, what: &str) -> (Self, usize) {
        let lines = Self::hot(text);
        let at = lines.iter().position(|line| line.text.contains(what)).expect("the line");
        (lines, at)
    }

    /// The lines at most `far` away from line `at`, above it and below.
    pub(super) fn beside(&self, at: usize, far: usize) -> impl Iterator<Item = &Line> {
        self[at.saturating_sub(far)..at].iter().chain(self[at + 1..].iter().take(far))
    }

    /// The lines after line `at` from the same process, nearest first.
    pub(super) fn after(&self, at: usize) -> impl Iterator<Item = &Line> {
        let stream = self[at].origin().stream();
        self[at + 1..].iter().filter(move |line| line.origin().stream() == stream)
    }

    /// The lines before line `at` from the same process, nearest first.
    pub(super) fn before(&self, at: usize) -> impl Iterator<Item = &Line> {
        let stream = self[at].origin().stream();
        self[..at].iter().rev().filter(move |line| line.origin().stream() == stream)
    }
}

/// The width of the terminal that broke the lines of `bytes`, if several lines share the longest length.
fn columns(bytes: &[u8]) -> Option<usize> {
    const WIDTHS: std::ops::RangeInclusive<usize> = 72..=400;
    let (mut start, mut longest, mut before, mut full) = (0, 0, 0, 0);
    for end in memchr::memchr_iter(b'\n', bytes) {
        let length = end - start;
        start = end + 1;
        // One column may be lost to a blank at the end of a line.
        if length > longest {
            full = if length == longest + 1 { before + 1 } else { 1 };
            (longest, before) = (length, 1);
        } else if length + 1 >= longest {
            full += 1;
            before += usize::from(length == longest);
        }
        if longest > *WIDTHS.end() {
            return None;
        }
    }
    (full > 1 && WIDTHS.contains(&longest)).then_some(longest)
}

/// Whether a terminal broke `next` off `line`: `line` names its process, and the rest has no name.
fn broken(line: &Line, next: &Line) -> bool {
    let said = line.hot || line.text.contains("Error: ") || line.text.contains("Exception: ");
    let goes_on = !next.text.starts_with(|c: char| c.is_uppercase()) || line.number + 1 < next.number;
    said && goes_on && line.origin().stream() != (None, None, None) && next.origin().end == 0
}

/// Whether objects in `bytes` state when or how something happened, as logs and answers do and texts for users do not.
fn answers(bytes: &[u8]) -> bool {
    static SIGNS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
        let signs = [
            "timestamp\"",
            "Timestamp\"",
            "\"time\"",
            "severity\"",
            "\"level\"",
            "xitCode\"",
            "tatus\"",
            "\"bytes_",
            "\"ename\"",
        ];
        AhoCorasick::new(signs).ok()
    });
    SIGNS.as_ref().is_some_and(|signs| signs.is_match(bytes)) || exported(bytes)
}

/// Whether a row of an exported log begins in `bytes`.
fn exported(bytes: &[u8]) -> bool {
    static ROW: LazyLock<Finder> = LazyLock::new(|| Finder::new("\",\""));
    ROW.find(bytes).is_some()
}

/// The lines that `line` was made from: itself, unless a collector or an escape joined several.
fn unfolded(line: Line, answers: bool) -> Vec<Line> {
    // A member of an object and a row of an export begin with a quote, and so may code.
    let quoted = answers && line.message().trim_start().starts_with('"');
    let folded = line.text.contains('{') || line.text.contains("\\n") || line.text.contains("level=");
    if !quoted && (!folded || code::is_code(line.message())) {
        return vec![line];
    }
    let Some(unfolded) = unfold::unfold(line.message())
        .filter(|unfolded| !line.hot || unfolded.texts.iter().any(|text| anchors::any(text)))
    else {
        return vec![line];
    };
    let Origin { host, rank, .. } = line.origin().clone();
    let told = (unfolded.host.or(host), unfolded.rank.or(rank));
    let of = |text: String| Line {
        hot: line.hot && anchors::any(&text),
        text,
        told: told.clone(),
        origin: OnceCell::new(),
        counted: OnceCell::new(),
        lengths: OnceCell::new(),
        ..line
    };
    unfolded.texts.into_iter().map(of).collect()
}

/// `line` without the remains of a terminal that drew it again, as a pager shows them or a ticket keeps them.
pub(super) fn drawn(line: &str) -> &str {
    if !line.starts_with(['[', '^', '\x1b']) && !line.ends_with("^M") {
        return line;
    }
    let begin = regex!(r"^(?:\[H\[[0-3]?J|\[[0-3]J|\[[0-2]K|(?:\x1b|\^\[)\[[0-9;]{0,8}[HJKm]|\^M)+")
        .find(line)
        .map_or(0, |codes| codes.end());
    line[begin..].trim_end_matches("^M")
}

/// `raw` as text, without codes that move the cursor or set colours.
pub(super) fn clean(raw: &[u8]) -> String {
    let text = String::from_utf8_lossy(raw);
    let text: Cow<'_, str> = if text.contains('\x1b') { escapes_removed(&text).into() } else { text };
    // Remains of a colour code whose escape character was lost, for example in a ticket.
    let text: Cow<'_, str> =
        if text.contains("[0m") || text.contains("m(") || text.contains("[3") || text.contains("[1") {
            colours_removed(&text).into()
        } else {
            text
        };
    let text: Cow<'_, str> = if text.contains('&') && text.contains(';') { unfold::plain(&text).into() } else { text };
    let text: Cow<'_, str> = if text.contains('\u{a0}') { text.replace('\u{a0}', " ").into() } else { text };
    drawn(text.trim_end()).trim_end().to_owned()
}

/// Removes control sequences (ECMA-48 CSI), operating-system commands and two-byte escapes. A lone escape stays: old
/// messages print a device index as that character.
fn escapes_removed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        out.push_str(&rest[..at]);
        let tail = &rest[at + 1..];
        let taken = match tail.as_bytes().first() {
            Some(b'[') => tail[1..].find(|c: char| ('@'..='~').contains(&c)).map(|end| end + 2),
            Some(b']') => tail.find('\x07').map(|end| end + 1).or_else(|| tail[1..].find('\x1b').map(|end| end + 1)),
            Some(b'(' | b')') => tail.char_indices().nth(2).map(|(end, _)| end).or(Some(tail.len())),
            Some(b'=' | b'>' | b'7' | b'8' | b'M' | b'c' | b'\\') => Some(1),
            _ => None,
        };
        match taken {
            Some(taken) => rest = &tail[taken..],
            None => {
                out.push('\x1b');
                rest = tail;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Removes `[36m` and the like.
fn colours_removed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('[') {
        out.push_str(&rest[..at]);
        let inner = &rest[at + 1..];
        let digits = inner.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
        if (1..=12).contains(&digits) && inner.as_bytes().get(digits) == Some(&b'm') {
            rest = &inner[digits + 1..];
        } else {
            out.push('[');
            rest = inner;
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, hits: &[usize]) -> Lines {
        Lines::of(&Window { bytes: text.as_bytes(), offset: 100, line: 7, hits: hits.to_vec() })
    }

    #[test]
    fn lines_know_their_places_and_a_redrawn_bar_is_a_line() {
        let found = lines("one\r\ntwo\rthree\n\nfour", &[10]);
        let found: Vec<_> = found.iter().map(|l| (l.number, l.offset, l.text.as_str(), l.hot)).collect();
        assert_eq!(
            found,
            [(7, 100, "one", false), (8, 105, "two", false), (8, 109, "three", true), (10, 116, "four", false)]
        );
    }

    #[test]
    fn terminal_codes_go_and_the_index_that_is_an_escape_stays() {
        for (raw, text) in [
            ("\x1b[1;31mError\x1b[0m: no", "Error: no"),
            ("\x1b]0;title\x07x", "x"),
            ("[36m(Worker pid=3)[0m out", "(Worker pid=3) out"),
            ("[H[J^MCONTAINER ID", "CONTAINER ID"),
            ("a bar^M", "a bar"),
            ("[HIP] code", "[HIP] code"),
            ("GPU \x1b has", "GPU \x1b has"),
            ("a[1] and b[12;x]", "a[1] and b[12;x]"),
        ] {
            assert_eq!(clean(raw.as_bytes()), text);
        }
    }

    #[test]
    fn a_line_without_end_is_cut_to_what_surrounds_the_hit() {
        let text = format!("{}CUDA out of memory{}", "x".repeat(90_000), "y".repeat(90_000));
        let found = lines(&text, &[90_000]);
        assert!(found[0].text.len() < 10_000 && found[0].text.contains("CUDA out of memory"));
    }
}
