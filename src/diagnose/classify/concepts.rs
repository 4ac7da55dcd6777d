//! [`Meaning`]: which concepts the sentences of a line speak of, and which together, in any of the languages of
//! `concepts.tsv`. Texts of a few authors teach more by concepts than by words alone.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use foldhash::fast::RandomState;

use super::super::prefix::boundary;
use super::super::window::{Line, Lines};
use super::{AROUND, LONGEST_LINE};

/// A bit for each concept, and for each two that one sentence speaks of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in super::super) struct Meaning([u128; 2]);

static CONCEPTS: LazyLock<Concepts> = LazyLock::new(|| Concepts::of(include_str!("concepts.tsv")));

/// The concepts of which a line speaks if memory may have run out: a bit each.
static OF_MEMORY: LazyLock<u128> = LazyLock::new(|| {
    let names = CONCEPTS.names.iter().enumerate();
    let of_memory = names.filter(|(_, name)| ["memory", "limit", "killed", "out"].contains(name));
    of_memory.fold(0, |mask, (bit, _)| mask | 1 << bit)
});

/// The bits of half a meaning.
const WIDE: usize = u128::BITS as usize;

/// The shortest beginning of a word that stands for all words that begin so, in characters.
const SHORTEST: usize = 2;

#[derive(Default)]
struct Concepts {
    names: Vec<&'static str>,
    /// The concepts of words, and of beginnings of words: a bit each.
    words: HashMap<&'static str, u32, RandomState>,
    stems: HashMap<&'static str, u32, RandomState>,
    /// Of what is found within words, and in texts without blanks.
    parts: Vec<(&'static str, u32)>,
}

impl Concepts {
    fn of(table: &'static str) -> Self {
        let mut all = Self::default();
        for line in table.lines().filter(|line| !line.starts_with('#')) {
            let (name, words) = line.split_once('\t').expect("a concept and its words");
            let bit = 1 << all.names.len();
            all.names.push(name);
            for word in words.split(' ') {
                let part = word.strip_prefix('*').and_then(|rest| rest.strip_suffix('*'));
                if let Some(part) = part.or_else(|| word.contains(is_unspaced).then_some(word)) {
                    all.parts.push((part, bit));
                } else if let Some(stem) = word.strip_suffix('*') {
                    *all.stems.entry(stem).or_default() |= bit;
                } else {
                    *all.words.entry(word).or_default() |= bit;
                }
            }
        }
        all.names.push("?");
        all
    }

    /// The concepts of a sentence in lower case.
    fn sentence(&self, text: &str) -> u32 {
        let mut found = 0;
        for word in text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty()) {
            found |= self.words.get(word).copied().unwrap_or_default();
            let ends = word.char_indices().map(|(at, _)| at).chain([word.len()]);
            for end in ends.skip(SHORTEST) {
                found |= self.stems.get(&word[..end]).copied().unwrap_or_default();
            }
        }
        let unspaced = text.contains(is_unspaced);
        let parts =
            self.parts.iter().filter(|(part, _)| (unspaced || !part.contains(is_unspaced)) && text.contains(part));
        found |= parts.fold(0, |found, (_, bit)| found | bit);
        let question = text.contains(['?', '\u{ff1f}']);
        found | u32::from(question) << (self.names.len() - 1)
    }
}

/// Whether a character belongs to a script without blanks between words.
pub(in super::super) fn is_unspaced(c: char) -> bool {
    c >= '\u{2e80}'
}

/// The bit of two concepts, the smaller number first; the single ones come before.
fn pair(first: usize, second: usize) -> usize {
    let count = CONCEPTS.names.len();
    count + first * (2 * count - first - 1) / 2 + second - first - 1
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let ends = |(at, c): &(usize, char)| match c {
        '.' | '!' | '?' | ';' => text[at + 1..].chars().next().is_none_or(char::is_whitespace),
        _ => matches!(c, '\u{3002}' | '\u{ff01}' | '\u{ff1f}'),
    };
    let mut from = 0;
    let ends = text.char_indices().filter(ends).map(|(at, c)| at + c.len_utf8()).chain([text.len()]);
    ends.map(move |end| &text[std::mem::replace(&mut from, end)..end])
}

impl Meaning {
    /// What `text` says, in lower case.
    pub(super) fn of(text: &str) -> Self {
        let mut meaning = Self::default();
        for sentence in sentences(text) {
            let found = CONCEPTS.sentence(sentence);
            let each = || (0..CONCEPTS.names.len()).filter(move |one| found >> one & 1 == 1);
            for first in each() {
                meaning.set(first);
                each().filter(|second| first < *second).for_each(|second| meaning.set(pair(first, second)));
            }
        }
        meaning
    }

    fn set(&mut self, bit: usize) {
        self.0[bit / WIDE] |= 1 << (bit % WIDE);
    }

    fn with(self, other: Self) -> Self {
        Self([self.0[0] | other.0[0], self.0[1] | other.0[1]])
    }

    /// The places of the bits that are set.
    pub(super) fn bits(self) -> impl Iterator<Item = usize> {
        (0..2 * WIDE).filter(move |bit| self.0[bit / WIDE] >> (bit % WIDE) & 1 == 1)
    }

    /// The names of all bits, as the tables write them: `<memory>`, `<memory out>`.
    pub(super) fn names() -> Vec<String> {
        let names = &CONCEPTS.names;
        let mut all: Vec<String> = names.iter().map(|name| format!("<{name}>")).collect();
        for (first, name) in names.iter().enumerate() {
            all.extend(names[first + 1..].iter().map(|other| format!("<{name} {other}>")));
        }
        all
    }
}

/// The lines of a whole text, and what each of them says.
pub(in super::super) struct Passages<'a> {
    pub(in super::super) lines: &'a Lines,
    meanings: Vec<Meaning>,
}

impl<'a> Passages<'a> {
    pub(in super::super) fn of(lines: &'a Lines) -> Self {
        let said = |line: &Line| Meaning::of(&line.text[..boundary(&line.text, LONGEST_LINE)].to_lowercase());
        Self { lines, meanings: lines.iter().map(said).collect() }
    }

    /// Lines whose surroundings overlap by half, and cover the text.
    pub(in super::super) fn places(&self) -> impl Iterator<Item = usize> {
        (AROUND.min(self.lines.len() / 2)..self.lines.len()).step_by(AROUND)
    }

    pub(super) fn meaning(&self, range: Range<usize>) -> Meaning {
        self.meanings[range].iter().fold(Meaning::default(), |all, meaning| all.with(*meaning))
    }

    /// Whether line `at` may speak of memory that ran out.
    pub(in super::super) fn is_of_memory(&self, at: usize) -> bool {
        self.meanings[at].0[0] & *OF_MEMORY != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Vec<String> {
        let names = Meaning::names();
        Meaning::of(&text.to_lowercase()).bits().map(|bit| names[bit].clone()).collect()
    }

    #[test]
    fn sentences_of_any_language_have_the_same_concepts() {
        for text in ["The memory was exhausted", "Der Arbeitsspeicher reichte nicht", "Память кончилась", "内存不足"]
        {
            assert!(said(text).contains(&"<memory out>".to_owned()), "{text}: {:?}", said(text));
        }
    }

    #[test]
    fn concepts_of_two_sentences_are_no_pair() {
        let said = said("It crashed. Buy memory!");
        assert!(said.contains(&"<memory advice>".to_owned()), "{said:?}");
        assert!(!said.contains(&"<memory crash>".to_owned()), "{said:?}");
    }

    #[test]
    fn each_pair_has_a_bit_of_its_own() {
        let names = Meaning::names();
        assert!(names.len() <= 2 * WIDE);
        let count = CONCEPTS.names.len();
        for first in 0..count {
            for second in first + 1..count {
                assert_eq!(
                    names[pair(first, second)],
                    format!("<{} {}>", CONCEPTS.names[first], CONCEPTS.names[second])
                );
            }
        }
    }
}
