//! Regular expressions whose classes and word borders are those of ASCII.
//!
//! Logs write their numbers and names in ASCII, while `\d`, `\w` and `\b` of Unicode take most of the time in which an
//! expression is compiled, and `\b` takes the fast engines away from a text with one letter beyond ASCII.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use regex::{Captures, Match, Regex};

use super::required::{FOLDED, required};

/// How many texts are kept from a pattern by the words that it requires before it is compiled in any case: what is
/// compiled looks for its words faster.
const KEPT: u32 = 1000;

/// A regular expression that is compiled once a text may match it.
macro_rules! regex {
    ($text:expr) => {{
        static PATTERN: $crate::ascii::Pattern = $crate::ascii::Pattern::new($text);
        &PATTERN
    }};
}
pub(super) use regex;

/// An expression of this package. Most texts lack the words that it requires, and to find these takes a tenth of what
/// it takes to compile it.
#[derive(Debug)]
pub(super) struct Pattern {
    text: &'static str,
    required: OnceLock<Vec<Vec<u8>>>,
    kept: AtomicU32,
    compiled: OnceLock<Regex>,
}

impl Pattern {
    pub(super) const fn new(text: &'static str) -> Self {
        Self { text, required: OnceLock::new(), kept: AtomicU32::new(0), compiled: OnceLock::new() }
    }

    /// [`Regex::is_match`].
    pub(super) fn is_match(&self, text: &str) -> bool {
        self.may_match(text) && self.deref().is_match(text)
    }

    /// [`Regex::find`].
    pub(super) fn find<'t>(&self, text: &'t str) -> Option<Match<'t>> {
        if self.may_match(text) { self.deref().find(text) } else { None }
    }

    /// [`Regex::captures`].
    pub(super) fn captures<'t>(&self, text: &'t str) -> Option<Captures<'t>> {
        if self.may_match(text) { self.deref().captures(text) } else { None }
    }

    /// Whether the pattern is compiled, or `text` has what it requires.
    fn may_match(&self, text: &str) -> bool {
        if self.compiled.get().is_some() || self.kept.load(Ordering::Relaxed) >= KEPT {
            return true;
        }
        let words = self.required.get_or_init(|| {
            let parsed = regex_syntax::parse(&of_ascii(self.text)).expect("a valid expression");
            required(&parsed, 1).unwrap_or_default()
        });
        if words.is_empty() {
            return true;
        }
        let lower = text.to_ascii_lowercase();
        let may = words.iter().any(|word| memchr::memmem::find(lower.as_bytes(), word).is_some())
            || (!text.is_ascii() && text.contains(FOLDED));
        self.kept.fetch_add(u32::from(!may), Ordering::Relaxed);
        may
    }
}

impl Deref for Pattern {
    type Target = Regex;

    fn deref(&self) -> &Regex {
        self.compiled.get_or_init(|| compile(self.text))
    }
}

/// Compiles `text`, an expression of this package, with `\d`, `\w`, `\s` and `\b` of ASCII, and what they exclude. An
/// expression with letters beyond ASCII keeps Unicode's: its words end with them.
pub(super) fn compile(text: &str) -> Regex {
    Regex::new(&of_ascii(text)).expect("a valid expression")
}

fn of_ascii(text: &str) -> Cow<'_, str> {
    let letters = text.chars().any(|letter| !letter.is_ascii() && letter.is_alphabetic());
    if letters { Cow::Borrowed(text) } else { Cow::Owned(with_ascii_classes(text)) }
}

/// The blocks of letters beyond ASCII, as ranges: they belong to neither `\w` nor `\W`, for no word ends at one.
const LETTERS: &str = r"\x{c0}-\x{1fff}\x{2c00}-\x{2dff}\x{3041}-\x{fdff}\x{ff21}-\x{ff5a}";

fn with_ascii_classes(text: &str) -> String {
    let (mut out, mut in_class) = (String::with_capacity(text.len() * 2), false);
    let mut rest = text.chars();
    while let Some(next) = rest.next() {
        match next {
            '\\' => match (rest.next(), in_class) {
                (Some('d'), true) => out.push_str("0-9"),
                (Some('d'), false) => out.push_str("[0-9]"),
                (Some('w'), true) => out.push_str("0-9A-Za-z_"),
                (Some('w'), false) => out.push_str("[0-9A-Za-z_]"),
                (Some('s'), true) => out.push_str(r"\t\n\v\f\r\x20"),
                (Some('s'), false) => out.push_str(r"[\t\n\v\f\r\x20]"),
                (Some('D'), _) => out.push_str("[^0-9]"),
                (Some('W'), true) => out.extend(["[^0-9A-Za-z_", LETTERS, "]"]),
                // The class has both cases of each letter: to look them up again takes a millisecond a class.
                (Some('W'), false) => out.extend(["(?-i:[^0-9A-Za-z_", LETTERS, "])"]),
                (Some('S'), _) => out.push_str(r"[^\t\n\v\f\r\x20]"),
                (Some('b'), false) => out.push_str(r"(?-u:\b)"),
                (Some(other), _) => out.extend(['\\', other]),
                (None, _) => out.push('\\'),
            },
            '[' if !in_class => {
                in_class = true;
                out.push(next);
            }
            ']' if in_class => {
                in_class = false;
                out.push(next);
            }
            _ => out.push(next),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PATTERNS: [&str; 8] = [
        r"(?i)kills? (\d+)|\bpass\W",
        r"^(?:\w+: )?[Oo]ut of",
        r"(?i)task|ri\x{df}k",
        r"\||\S=\S",
        r"(?:optional )?core",
        r"\w{2,}\D\d",
        "(?i)tué?|убит",
        "a?",
    ];

    proptest! {
        #[test]
        fn what_a_pattern_keeps_away_does_not_match(
            parts in prop::collection::vec(
                prop::sample::select(vec!["kill", "\u{212a}ILLS", " 12", "pa\u{17f}s", "!", "x: ", "OUT OF", "out of", "TA", "sk",
                    "ri\u{df}K", "|", "a=b", "core", "TUÉ", "Убит", "tu"]),
                0..5,
            ),
        ) {
            let text = parts.concat();
            for pattern in PATTERNS {
                let (own, compiled) = (Pattern::new(pattern), compile(pattern));
                prop_assert_eq!(own.is_match(&text), compiled.is_match(&text), "{} in {}", pattern, &text);
                prop_assert_eq!(own.find(&text).map(|one| one.range()), compiled.find(&text).map(|one| one.range()));
            }
        }
    }

    #[test]
    fn a_pattern_is_compiled_for_a_text_that_may_match_or_after_many_that_cannot() {
        let pattern = Pattern::new("killed|137");
        assert!(!pattern.is_match("step 1") && pattern.compiled.get().is_none());
        assert!(pattern.is_match("Killed by 137") && pattern.compiled.get().is_some());
        let never = Pattern::new("killed");
        (0..=KEPT).for_each(|_| assert!(!never.is_match("step 1")));
        assert!(never.compiled.get().is_some());
    }

    #[test]
    fn classes_and_borders_are_those_of_ascii() {
        assert_eq!(
            with_ascii_classes(r"\b\d+[\w.\]-]\\d\.[^\s]"),
            r"(?-u:\b)[0-9]+[0-9A-Za-z_.\]-]\\d\.[^\t\n\v\f\r\x20]"
        );
        // Under `(?i)`, both cases of the letters of a class that says `\W` would be looked up one by one.
        assert!(
            with_ascii_classes(r"(?i)\W+a").contains("(?-i:[^0-9A-Za-z_")
                && !compile(r"(?i)\W").is_match("Ka\u{e9}\u{4e00}")
        );
        let number = compile(r"^\d+\s\w+\b");
        assert!(number.is_match("137 killed") && !number.is_match("\u{0661} killed") && number.is_match("137 a\u{e4}"));
        assert!(
            compile(r"\bGet\u{f6}tet\b").is_match("7: Get\u{f6}tet")
                && compile("t\u{e9}\\b").is_match("arr\u{ea}t\u{e9} 1")
        );
    }
}
