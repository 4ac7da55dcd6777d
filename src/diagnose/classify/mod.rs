//! What the words of a text speak for: a report or a document, memory that grows or that does not.
//!
//! Rules name kinds of texts; a logistic regression over words and pairs of words knows how texts of any kind are worded.
//! `tests/diagnose/learn.py` learns the weights from the texts beside it.

use std::collections::HashMap;
use std::hash::BuildHasher as _;
use std::sync::LazyLock;

use foldhash::fast::{FixedState, RandomState};

use super::prefix::boundary;
use super::window::{Line, Lines};

/// How many lines above and below a line are read.
const AROUND: usize = 16;
/// How much of a line is read, in bytes.
const LONGEST: usize = 300;

/// A document that holds the message of a failure, rather than the failure itself.
pub(super) static DOCUMENT: LazyLock<Model> = LazyLock::new(|| Model::of(include_str!("document.tsv")));
/// A document or telemetry that mentions memory running out, rather than somebody who reports it.
pub(super) static MENTION: LazyLock<Model> = LazyLock::new(|| Model::of(include_str!("mention.tsv")));
/// Figures that rise for a reason, rather than memory that grows while the work stays the same.
pub(super) static STEADY: LazyLock<Model> = LazyLock::new(|| Model::of(include_str!("steady.tsv")));

/// The weights of words and pairs of words, in hundredths of the logarithm of the odds.
pub(super) struct Model {
    /// What every sum begins with.
    intercept: i32,
    /// The place and the weight of each word and pair, by its key.
    weights: HashMap<u64, (usize, i32), RandomState>,
}

impl Model {
    fn of(table: &str) -> Self {
        let mut model = Self { intercept: 0, weights: HashMap::default() };
        for line in table.lines().filter(|line| !line.starts_with("# ")) {
            let (weight, words) = line.split_once('\t').expect("a weight and what it is of");
            let weight = weight.parse().expect("a weight in hundredths");
            let key = match words.split_once(' ') {
                None if words.is_empty() => {
                    model.intercept = weight;
                    continue;
                }
                None => key(words),
                Some((first, second)) => pair(key(first), key(second)),
            };
            model.weights.insert(key, (model.weights.len(), weight));
        }
        model
    }

    /// The odds of what stands around line `at`, as a logarithm in hundredths: each word counts once.
    pub(super) fn odds(&self, lines: &Lines, at: usize) -> i32 {
        let (mut sum, mut counted) = (self.intercept, vec![false; self.weights.len()]);
        let mut count = |key: u64| {
            if let Some((place, weight)) = self.weights.get(&key)
                && !std::mem::replace(&mut counted[*place], true)
            {
                sum += weight;
            }
        };
        for line in around(lines, at) {
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

/// What a word is looked up by: two words of a table never have the same.
fn key(word: &str) -> u64 {
    FixedState::with_seed(1).hash_one(word)
}

fn pair(first: u64, second: u64) -> u64 {
    first.rotate_left(21).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ second
}

fn around(lines: &Lines, at: usize) -> &[Line] {
    &lines[at.saturating_sub(AROUND)..lines.len().min(at + AROUND + 1)]
}

/// Passes on each word of a line: lower-case; a number is `0`, and every other character is a word. `^` begins a line
/// and `>` one that is indented, `$` ends it.
fn words(line: &Line, mut take: impl FnMut(&str)) {
    let text = &line.text[..boundary(&line.text, LONGEST)];
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

/// All words and pairs of neighbours around line `at`, as the tables write them.
#[cfg(test)]
pub(super) fn all(lines: &Lines, at: usize) -> std::collections::BTreeSet<String> {
    let mut all = std::collections::BTreeSet::new();
    for line in around(lines, at) {
        let mut before: Option<String> = None;
        words(line, |word| {
            all.insert(word.to_owned());
            let pair = before.replace(word.to_owned()).map(|before| format!("{before} {word}"));
            all.extend(pair);
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_what_the_tables_write() {
        let lines = Lines::hot("Used 12 of 16GB\n  \u{fc}ber\n");
        let words: Vec<String> = all(&lines, 0).into_iter().collect();
        let expected = "$,0,0 gb,0 of,>,> \u{fc},^,^ used,ber,ber $,gb,gb $,of,of 0,used,used 0,\u{fc},\u{fc} ber";
        assert_eq!(words.join(","), expected);
    }

    #[test]
    fn each_word_counts_once() {
        let model = Model::of("# what\n10\t\n-3\tmemory\n5\tmemory 0\n");
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
