//! Lines of garbage collectors: what one of the young generation leaves says little if one of the old generation follows.

use super::MORE;
use super::numbers::{Number, numbers};
use super::regex;

/// Whether `line` is one of a collector of Java or of V8.
pub(super) fn is_collection(line: &str) -> bool {
    regex!(r"\bPause (?:Young|Full)\b|\bFull GC\b|\bScavenge\b|\bMark-(?:sweep|Compact)\b").is_match(line)
}

/// Collections of the old generation in a text: the line of each, and the least that it or a later one left.
pub(super) struct OldCollections(Vec<(usize, f64)>);

impl OldCollections {
    pub(super) fn of(lines: &[&str]) -> Self {
        let old = regex!(r"\bPause Young \(Mixed\)|\bPause Full\b|\bFull GC\b|\bMark-(?:sweep|Compact)\b");
        let left = |line: &str| {
            let after = |number: &Number<'_>| line[..number.start].trim_end().ends_with("->");
            numbers(line).1.into_iter().find(after)?.value
        };
        let all = lines.iter().enumerate().filter(|(_, line)| old.is_match(line));
        let mut found: Vec<(usize, f64)> = all.filter_map(|(at, line)| Some((at, left(line)?))).collect();
        for at in (1..found.len()).rev() {
            found[at - 1].1 = found[at - 1].1.min(found[at].1);
        }
        Self(found)
    }

    /// Whether one from line `first` on, which is of the young generation and left `amount`, leaves about as little.
    pub(super) fn free(&self, line: &str, first: usize, amount: f64) -> bool {
        let later = self.0.get(self.0.partition_point(|(at, _)| *at < first));
        later.is_some_and(|(_, least)| *least < MORE * amount)
            && regex!(r"\bPause Young \(Normal\)|\bScavenge\b|\[PSYoungGen:").is_match(line)
    }
}
