//! [`Candidates`]: which of many patterns may match a text, by the words that each requires.
//!
//! One search for all the words, in the manner of RE2's `FilteredRE2`, leaves few patterns to try. The automaton of all
//! patterns together (`RegexSet`) has too many states for texts of many kinds, and simulates each pattern then.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;

use super::required::required;

/// The shortest required word that is searched for.
const SHORTEST: usize = 3;

/// Patterns by what they require.
#[derive(Debug)]
pub(super) struct Candidates<'p> {
    words: AhoCorasick,
    /// The patterns that each word leads to.
    of: Vec<Vec<u16>>,
    /// A bit for each pattern that is always tried.
    always: Vec<u64>,
    /// Each pattern, compiled when a text first may match it.
    patterns: Vec<(&'p str, OnceLock<Regex>)>,
    multi_line: bool,
}

impl<'p> Candidates<'p> {
    /// Reads patterns as `regex::bytes` does without Unicode. With `multi_line`, `^` and `$` match at each line.
    pub(super) fn of(patterns: impl IntoIterator<Item = &'p str>, multi_line: bool) -> Self {
        let patterns: Vec<_> = patterns.into_iter().map(|pattern| (pattern, OnceLock::new())).collect();
        let (mut words, mut always) = (BTreeMap::<_, Vec<u16>>::new(), vec![0; patterns.len().div_ceil(64)]);
        for (at, (pattern, _)) in patterns.iter().enumerate() {
            let parsed = ParserBuilder::new().unicode(false).utf8(false).build().parse(pattern);
            match required(&parsed.expect("a pattern of a table is valid"), SHORTEST) {
                Some(required) => {
                    required.into_iter().for_each(|word| words.entry(word).or_default().push(at as u16));
                }
                None => always[at / 64] |= 1 << (at % 64),
            }
        }
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(words.keys())
            .expect("the words of a table fit in an automaton");
        Self { words: automaton, of: words.into_values().collect(), always, patterns, multi_line }
    }

    /// The patterns that may match `text`, in their order.
    pub(super) fn in_text(&self, text: &[u8]) -> impl Iterator<Item = (usize, &Regex)> + use<'_, 'p> {
        let mut bits = self.always.clone();
        for found in self.words.find_overlapping_iter(text) {
            for at in &self.of[found.pattern().as_usize()] {
                bits[usize::from(at / 64)] |= 1 << (at % 64);
            }
        }
        let found = (0..self.patterns.len()).filter(move |at| bits[at / 64] >> (at % 64) & 1 == 1);
        found.map(|at| (at, self.compiled(at)))
    }

    fn compiled(&self, at: usize) -> &Regex {
        let (pattern, compiled) = &self.patterns[at];
        compiled.get_or_init(|| {
            let pattern = RegexBuilder::new(pattern).unicode(false).multi_line(self.multi_line).build();
            pattern.expect("a pattern of a table is valid")
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A pattern of random parts, and a text of random parts: whatever matches is a candidate.
        #[test]
        fn what_matches_is_a_candidate(
            patterns in prop::collection::vec(pattern(), 1..6),
            text in prop::collection::vec(prop::sample::select(PARTS.to_vec()), 0..12),
        ) {
            let text = text.concat();
            let candidates = Candidates::of(patterns.iter().map(String::as_str), false);
            let found: Vec<usize> = candidates.in_text(text.as_bytes()).map(|(at, _)| at).collect();
            for (at, pattern) in patterns.iter().enumerate() {
                if candidates.compiled(at).is_match(text.as_bytes()) {
                    prop_assert!(found.contains(&at), "{pattern} matches {text}");
                }
            }
        }
    }

    const PARTS: [&str; 10] = ["out", "of", " ", "memory", "MEMORY", "12", "k", "Kill", "ed", "m"];

    fn pattern() -> impl Strategy<Value = String> {
        let leaf = prop::sample::select(vec![
            "out", "of", " ", "memory", r"\d+", "[kK]ill", "ed?", r"\w*", r"\b", ".", "(?i)MEM",
        ]);
        leaf.prop_map(str::to_owned).prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
                prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| format!("(?:{})", parts.join("|"))),
                (inner, prop::sample::select(vec!["?", "*", "+", "{2}", "{0,2}"]))
                    .prop_map(|(part, times)| format!("(?:{part}){times}")),
            ]
        })
    }
}
