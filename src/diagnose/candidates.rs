//! [`Candidates`]: which of many patterns may match a text, by the words that each requires.
//!
//! One search for all the words, in the manner of RE2's `FilteredRE2`, leaves few patterns to try. The automaton of all
//! patterns together (`RegexSet`) has too many states for texts of many kinds, and simulates each pattern then.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

/// How many words a pattern may require one of.
const WORDS: usize = 48;
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
            match required(&parsed.expect("a pattern of a table is valid")) {
                Some(required) if shortest(&required) >= SHORTEST => {
                    required.into_iter().for_each(|word| words.entry(word).or_default().push(at as u16));
                }
                _ => always[at / 64] |= 1 << (at % 64),
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

fn shortest(words: &[Vec<u8>]) -> usize {
    words.iter().map(Vec::len).min().unwrap_or(0)
}

/// The more selective of two sets of words: that whose shortest word is longer.
fn better(one: Option<Vec<Vec<u8>>>, other: Option<Vec<Vec<u8>>>) -> Option<Vec<Vec<u8>>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if shortest(&other) > shortest(&one) { other } else { one }),
        (one, other) => one.or(other),
    }
}

/// Words of which every match of `hir` holds one, in lower case; `None` if there are none, or too many.
fn required(hir: &Hir) -> Option<Vec<Vec<u8>>> {
    let own = exact(hir);
    let inner = match hir.kind() {
        HirKind::Capture(capture) => required(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min > 0 => required(&repetition.sub),
        HirKind::Alternation(all) => {
            let words: Option<Vec<_>> = all.iter().map(required).collect();
            words.map(|words| distinct(words.concat())).filter(|words| words.len() <= WORDS)
        }
        HirKind::Concat(parts) => {
            // Neighbours that are known exactly make longer words.
            let (mut best, mut run) = (None, Some(vec![Vec::new()]));
            for part in parts {
                let longer = exact(part).and_then(|next| product(run.as_ref()?, &next));
                if longer.is_none() {
                    best = better(better(best, run.take()), required(part));
                    run = exact(part);
                } else {
                    run = longer;
                }
                run = run.or_else(|| Some(vec![Vec::new()]));
            }
            better(best, run)
        }
        _ => None,
    };
    better(own, inner)
}

/// All that `hir` matches, in lower case, if that is a few words.
fn exact(hir: &Hir) -> Option<Vec<Vec<u8>>> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Some(vec![Vec::new()]),
        HirKind::Literal(literal) => Some(vec![literal.0.to_ascii_lowercase()]),
        HirKind::Class(Class::Bytes(class)) => {
            let ranges = class.iter().map(|range| range.start()..=range.end());
            let bytes: Vec<Vec<u8>> = ranges.flatten().take(256).map(|byte| vec![byte.to_ascii_lowercase()]).collect();
            Some(distinct(bytes)).filter(|bytes| bytes.len() <= 4)
        }
        HirKind::Class(Class::Unicode(_)) => None,
        HirKind::Capture(capture) => exact(&capture.sub),
        HirKind::Repetition(repetition) if repetition.max == Some(1) => {
            let mut words = exact(&repetition.sub)?;
            words.extend((repetition.min == 0).then(Vec::new));
            Some(words)
        }
        HirKind::Repetition(_) => None,
        HirKind::Concat(parts) => parts.iter().try_fold(vec![Vec::new()], |words, part| product(&words, &exact(part)?)),
        HirKind::Alternation(all) => {
            let words: Option<Vec<_>> = all.iter().map(exact).collect();
            words.map(|words| distinct(words.concat())).filter(|words| words.len() <= WORDS)
        }
    }
}

/// Each word of `one` followed by each of `other`, if these are few.
fn product(one: &[Vec<u8>], other: &[Vec<u8>]) -> Option<Vec<Vec<u8>>> {
    (one.len() * other.len() <= WORDS).then(|| {
        distinct(one.iter().flat_map(|start| other.iter().map(move |end| [&start[..], end].concat())).collect())
    })
}

fn distinct(mut words: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    words.sort_unstable();
    words.dedup();
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(pattern: &str) -> Vec<String> {
        let hir = ParserBuilder::new().unicode(false).utf8(false).build().parse(pattern).unwrap();
        let words = required(&hir).unwrap_or_default();
        words.into_iter().map(|word| String::from_utf8(word).unwrap()).collect()
    }

    #[test]
    fn what_a_pattern_requires_is_its_most_selective_part() {
        for (pattern, required) in [
            (r"\bvllm\b|EngineCore_", &["enginecore_", "vllm"][..]),
            (r"(?i)Out of memory", &["out of memory"]),
            (r"^\s*\d+ (?:MiB|GiB) were refused(?: at once)?$", &[" gib were refused", " mib were refused"]),
            (r"colou?r \d", &["color ", "colour "]),
            (r"a[bc]{2}\d+(tail)+", &["tail"]),
            (r"\d+", &[]),
            (r"either|\d+", &[]),
            (r"(?:optional)?x", &["optionalx", "x"]),
        ] {
            let mut found = words(pattern);
            // What follows optional words is among them.
            found.retain(|word| !word.contains(" at once"));
            assert_eq!(found, required, "{pattern}");
        }
    }

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
