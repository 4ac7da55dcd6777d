//! [`PhaseLines`]: phases from lines of output.

use regex::bytes::Regex;

use super::name;

/// Only this much of a long line is matched.
const MAX_LINE: usize = 16 << 10;

/// Finds output lines that begin a phase.
///
/// The name of the phase is the text matched by the group `name`, else by the first group, else by the whole
/// expression. A line ends with a line feed or with a carriage return, which programs use to overwrite their own lines.
///
/// ```
/// use plimsoll_memory::command::PhaseLines;
///
/// let mut lines = PhaseLines::new(vec![regex::bytes::Regex::new(r"^== (\w+)").unwrap()]);
/// let mut names = Vec::new();
/// lines.feed(b"== load\n10 % of 3\r== tra", |name| names.push(name));
/// lines.feed(b"in\n", |name| names.push(name));
/// assert_eq!(names, ["load", "train"]);
/// ```
#[derive(Clone, Debug)]
pub struct PhaseLines {
    expressions: Vec<Regex>,
    line: Vec<u8>,
}

impl PhaseLines {
    /// Uses these expressions; the first that matches a line counts.
    pub fn new(expressions: Vec<Regex>) -> Self {
        Self { expressions, line: Vec::new() }
    }

    /// Reads the next bytes of the output and calls `begin` with the name of each phase that begins.
    pub fn feed(&mut self, mut bytes: &[u8], mut begin: impl FnMut(String)) {
        while let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) {
            self.keep(&bytes[..end]);
            if let Some(name) = self.phase() {
                begin(name);
            }
            self.line.clear();
            bytes = &bytes[end + 1..];
        }
        self.keep(bytes);
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = MAX_LINE.saturating_sub(self.line.len());
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn phase(&self) -> Option<String> {
        let captures = self.expressions.iter().find_map(|expression| expression.captures(&self.line))?;
        let named = captures.name("name").or_else(|| captures.get(1)).or_else(|| captures.get(0))?;
        name(named.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn phases(expressions: &[&str], pieces: &[&[u8]]) -> Vec<String> {
        let mut lines = PhaseLines::new(expressions.iter().map(|text| Regex::new(text).unwrap()).collect());
        let mut names = Vec::new();
        pieces.iter().for_each(|piece| lines.feed(piece, |name| names.push(name)));
        names
    }

    #[test]
    fn the_name_is_the_group_or_the_match() {
        let text = b"epoch 3 of 5\nstage=eval now\nplain\n".as_slice();
        assert_eq!(phases(&[r"epoch \d+"], &[text]), ["epoch 3"]);
        assert_eq!(phases(&[r"epoch (\d+) of (?P<name>\d+)"], &[text]), ["5"]);
        assert_eq!(phases(&["nothing", r"stage=(\w+)", "ep"], &[text]), ["ep", "eval"]);
        assert_eq!(phases(&["plain"], &[b"plain"]), [""; 0], "the line has no end yet");
        assert_eq!(phases(&["()"], &[text]), [""; 0], "an empty name begins nothing");
    }

    #[test]
    fn a_line_without_end_takes_bounded_room() {
        let mut lines = PhaseLines::new(vec![Regex::new("^x+(y)?").unwrap()]);
        (0..100).for_each(|_| lines.feed(&[b'x'; 4096], |_| panic!("no line has ended")));
        assert!(lines.line.capacity() <= 2 * MAX_LINE);
    }

    proptest! {
        #[test]
        fn it_does_not_matter_how_the_output_is_cut(text in "[ab\n\r]{0,60}", cuts in prop::collection::vec(0usize..60, 0..6)) {
            let whole = phases(&["a+(b*)"], &[text.as_bytes()]);
            let mut cuts: Vec<_> = cuts.into_iter().map(|at| at.min(text.len())).chain([0, text.len()]).collect();
            cuts.sort_unstable();
            let pieces: Vec<_> = cuts.windows(2).map(|ends| &text.as_bytes()[ends[0]..ends[1]]).collect();
            prop_assert_eq!(phases(&["a+(b*)"], &pieces), whole);
        }
    }
}
