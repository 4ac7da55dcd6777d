//! What the words of a text speak for: a report or a document, memory that grows or that does not.
//!
//! Rules name kinds of texts; a logistic regression over words and pairs of words knows how texts of any kind are worded.
//! `tests/diagnose/learn.py` learns the weights from the texts beside it.

mod concepts;

#[cfg(test)]
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::hash::BuildHasher as _;
use std::ops::Range;
use std::sync::LazyLock;

use foldhash::fast::{FixedState, RandomState};

use super::prefix::boundary;
use super::window::{Line, Lines};
use concepts::Meaning;
pub(super) use concepts::{Passages, is_unspaced};

/// How many lines above and below a line are read.
pub(super) const AROUND: usize = 16;
/// How much of a line is read, in bytes.
const LONGEST_LINE: usize = 300;

/// A document that holds the message of a failure, rather than the failure itself.
pub(super) static DOCUMENT: LazyLock<Model> = LazyLock::new(|| Model::of(include_str!("document.tsv")));
/// A document or telemetry that mentions memory running out, rather than somebody who reports it.
pub(super) static MENTION: LazyLock<Model> = LazyLock::new(|| Model::of(include_str!("mention.tsv")));
/// Figures that rise for a reason, rather than memory that grows while the work stays the same.
pub(super) static STEADY: LazyLock<Model> = LazyLock::new(|| Model::of(include_str!("steady.tsv")));
/// Figures of memory that nobody complains of, rather than memory that grows or a version that needs more.
pub(super) static QUIET: LazyLock<Model> = LazyLock::new(|| Model::of(include_str!("quiet.tsv")));
/// What grew, in words that report it: memory of a host, of a device, from a version to the next, what stays after a
/// release.
pub(super) static TREND: LazyLock<Model<4>> = LazyLock::new(|| Model::of(include_str!("trend.tsv")));

/// How many causes [`CAUSE`] knows.
pub(super) const CAUSES: usize = 18;
/// What ran out, in words that report it: `spoken.rs` has what its columns stand for.
pub(super) static CAUSE: LazyLock<Model<CAUSES>> = LazyLock::new(|| Model::of(include_str!("cause.tsv")));

/// The weights of words, pairs of words and concepts for `N` questions, in hundredths of the logarithm of the odds.
pub(super) struct Model<const N: usize = 1> {
    /// What every sum begins with.
    intercept: [i32; N],
    /// The place and the weights of each word and pair, by its key.
    weights: HashMap<u64, (usize, [i32; N]), RandomState>,
    /// The weights of concepts, by their bits.
    concepts: Vec<[i32; N]>,
}

impl<const N: usize> Model<N> {
    /// Reads a table: weights, and after them all that have these; a sum begins with the weights of nothing.
    fn of(table: &str) -> Self {
        let names = Meaning::names();
        let mut model = Self { intercept: [0; N], weights: HashMap::default(), concepts: vec![[0; N]; names.len()] };
        for line in table.lines().filter(|line| !line.starts_with("# ")) {
            let mut fields = line.split('\t');
            let weights = fields.next().expect("a line has a first field");
            let mut each = weights.split(',').map(|weight| weight.parse().expect("a weight in hundredths"));
            let weights = std::array::from_fn(|_| each.next().expect("a weight for each question"));
            for words in fields {
                // Few are of concepts, and a table is read when it is first asked.
                if words.starts_with('<')
                    && let Some(bit) = names.iter().position(|name| name == words)
                {
                    model.concepts[bit] = weights;
                    continue;
                }
                let key = match words.split_once(' ') {
                    None if words.is_empty() => {
                        model.intercept = weights;
                        continue;
                    }
                    None => key(words),
                    Some((first, second)) => pair(key(first), key(second)),
                };
                model.weights.insert(key, (model.weights.len(), weights));
            }
        }
        model
    }

    /// The odds of a part of a text with these `signs`, as logarithms in hundredths: each word counts once.
    pub(super) fn odds_of(&self, passages: &Passages, range: Range<usize>, signs: &[&str]) -> [i32; N] {
        let sum = self.sum(&passages.lines[range.clone()], signs);
        passages.meaning(range).bits().fold(sum, |sum, bit| add(sum, self.concepts[bit]))
    }

    fn sum(&self, lines: &[Line], signs: &[&str]) -> [i32; N] {
        let (mut sum, mut counted) = (self.intercept, vec![false; self.weights.len()]);
        let mut count = |key: u64| {
            if let Some((place, weights)) = self.weights.get(&key)
                && !std::mem::replace(&mut counted[*place], true)
            {
                sum = add(sum, *weights);
            }
        };
        signs.iter().for_each(|sign| count(key(sign)));
        for line in lines {
            let mut before = None;
            words(line, |word| {
                let own = key(word);
                count(own);
                if let Some(before) = before.replace(own) {
                    count(pair(before, own));
                }
            });
        }
        sum
    }
}

impl Model {
    /// The odds of what stands around line `at`, by its words alone, as a logarithm in hundredths.
    pub(super) fn odds(&self, lines: &Lines, at: usize) -> i32 {
        let [odds] = self.sum(&lines[around(lines, at)], &[]);
        odds
    }
}

fn add<const N: usize>(sum: [i32; N], weights: [i32; N]) -> [i32; N] {
    std::array::from_fn(|at| sum[at] + weights[at])
}

/// What a word is looked up by: two words of a table never have the same.
fn key(word: &str) -> u64 {
    FixedState::with_seed(1).hash_one(word)
}

fn pair(first: u64, second: u64) -> u64 {
    first.rotate_left(21).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ second
}

/// Line `at` and those above and below it that are read with it.
pub(super) fn around(lines: &Lines, at: usize) -> Range<usize> {
    at.saturating_sub(AROUND)..lines.len().min(at + AROUND + 1)
}

/// Passes on each word of a line: lower-case; a number is `0`, and every other character is a word. `^` begins a line
/// and `>` one that is indented, `$` ends it.
fn words(line: &Line, mut take: impl FnMut(&str)) {
    let text = &line.text[..boundary(&line.text, LONGEST_LINE)];
    if text.trim().is_empty() {
        return;
    }
    let text = text.to_lowercase();
    take(if text.starts_with([' ', '\t']) { ">" } else { "^" });
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_letter = |c: char| c.is_ascii_lowercase() || c == '_';
        let length = match first {
            c if is_letter(c) => rest.find(|c| !is_letter(c)).unwrap_or(rest.len()),
            '0'..='9' => rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        take(if first.is_ascii_digit() { "0" } else { &rest[..length] });
        rest = rest[length..].trim_start();
    }
    take("$");
}

/// All words and pairs of neighbours in lines, as the tables write them.
#[cfg(test)]
pub(super) fn all(lines: &[Line]) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for line in lines {
        let mut before: Option<String> = None;
        words(line, |word| {
            all.insert(word.to_owned());
            let pair = before.replace(word.to_owned()).map(|before| format!("{before} {word}"));
            all.extend(pair);
        });
    }
    all
}

/// As [`all`], with the concepts of a part of a text, and `signs`.
#[cfg(test)]
pub(super) fn all_of(passages: &Passages, range: Range<usize>, signs: &[&str]) -> BTreeSet<String> {
    let mut all = all(&passages.lines[range.clone()]);
    let names = Meaning::names();
    all.extend(passages.meaning(range).bits().map(|bit| names[bit].clone()));
    all.extend(signs.iter().map(|sign| sign.to_string()));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_what_the_tables_write() {
        let lines = Lines::hot("Used 12 of 16GB\n  \u{fc}ber\n");
        let words: Vec<String> = all(&lines).into_iter().collect();
        let expected = "$,0,0 gb,0 of,>,> \u{fc},^,^ used,ber,ber $,gb,gb $,of,of 0,used,used 0,\u{fc},\u{fc} ber";
        assert_eq!(words.join(","), expected);
    }

    #[test]
    fn each_word_counts_once() {
        let model: Model = Model::of("# what\n10\t\n-3\tmemory\n5\tmemory 0\n");
        let odds = |text: &str| model.odds(&Lines::hot(text), 0);
        assert_eq!(["", "memory", "memory\nmemory 12\n"].map(odds), [10, 7, 12]);
    }

    #[test]
    fn documents_and_reports_differ() {
        let odds = |text: &str| DOCUMENT.odds(&Lines::hot(text), 0);
        assert!(odds("If a container exceeds its limit, the kernel may kill it and you will see OOMKilled.\n") > 0);
        assert!(odds("12:01:07 ERROR worker-3 exited with code 137 (OOMKilled), restarting\n") < 0);
    }
}
