//! [`Words`]: which texts of a list occur in a line, and where, in one pass over it.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::needles::needles;

/// Texts that are searched together.
pub(super) struct Words {
    automaton: Option<AhoCorasick>,
    /// The position of each text in the original list.
    places: Vec<usize>,
}

/// The most texts of a list.
const MOST_TEXTS: usize = 64;
/// The most texts of a list whose first places are wanted.
const MOST_PLACES: usize = 32;

impl Words {
    /// Builds the search from `texts`, each with its position; several may share one.
    fn of<'a>(texts: impl IntoIterator<Item = (&'a str, usize)>) -> Self {
        let (texts, places): (Vec<&str>, Vec<usize>) = texts.into_iter().unzip();
        let automaton = AhoCorasick::builder().kind(Some(AhoCorasickKind::DFA)).build(texts).ok();
        Self { automaton, places }
    }

    /// Builds the search from a list of at most 64 texts.
    pub(super) fn list(texts: &[&str]) -> Self {
        debug_assert!(texts.len() <= MOST_TEXTS, "a set has {MOST_TEXTS} bits");
        Self::of(texts.iter().enumerate().map(|(place, text)| (*text, place)))
    }

    /// The positions of the texts that occur in `text`, as bits.
    pub(super) fn set(&self, text: &str) -> u64 {
        let found = self.automaton.iter().flat_map(|automaton| automaton.find_overlapping_iter(text));
        found.fold(0, |set, found| set | 1u64 << self.places[found.pattern().as_usize()])
    }

    /// Where each of the first 32 texts of the list first begins and ends in `text`.
    pub(super) fn first(&self, text: &str) -> [Option<(usize, usize)>; MOST_PLACES] {
        let mut first = [None; MOST_PLACES];
        for found in self.automaton.iter().flat_map(|automaton| automaton.find_overlapping_iter(text)) {
            if let Some(first) = first.get_mut(self.places[found.pattern().as_usize()]) {
                first.get_or_insert((found.start(), found.end()));
            }
        }
        first
    }
}

/// What a line may be, according to the texts in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marks(u64);

/// One kind of line each, with the texts of which such a line contains one.
const KINDS: [&[&str]; 17] = [
    &[],
    &["Max_MA "],
    &["CPU Virtual Memory:"],
    &["PyTorch CUDA memory summary"],
    &["Estimated memory needed for params"],
    &["_mem_gpu", "_mem_cpu"],
    &["GB allocated, "],
    &["[gpumem]", "[gumem]"],
    &["[GPU_DIAG]"],
    &["memory (MB) |", "memory (GB) |"],
    &["Theoretical memory footprints:"],
    &[
        "memory is still in use",
        " GB still in use",
        "GiB still in use",
        "MiB still in use",
        "seconds to fall asleep",
        "seconds to wake up",
    ],
    &["memory allocated ("],
    &["memory(GiB)"],
    &["elapsed time per iteration (ms):", "Total step time:"],
    &["= Step ", "elapsed time per iteration (ms):"],
    &["plimsoll memory "],
];

impl Marks {
    pub(super) const NEEDLE: usize = 0;
    pub(super) const DEEPSPEED_DEVICE: usize = 1;
    pub(super) const DEEPSPEED_HOST: usize = 2;
    pub(super) const SUMMARY: usize = 3;
    pub(super) const ESTIMATE: usize = 4;
    pub(super) const TRAINER: usize = 5;
    pub(super) const NEMO_RL: usize = 6;
    pub(super) const GPUMEM: usize = 7;
    pub(super) const GPU_DIAG: usize = 8;
    pub(super) const MEGATRON: usize = 9;
    pub(super) const THEORY: usize = 10;
    pub(super) const SLEEP: usize = 11;
    pub(super) const VERL: usize = 12;
    pub(super) const MS_SWIFT: usize = 13;
    pub(super) const TIME: usize = 14;
    pub(super) const STEP: usize = 15;
    pub(super) const OWN: usize = 16;

    /// The marks of `text`.
    pub(super) fn of(text: &str) -> Self {
        static WORDS: LazyLock<Words> = LazyLock::new(|| {
            let needles = needles().iter().map(|needle| (*needle, Marks::NEEDLE));
            let kinds = KINDS.iter().enumerate().flat_map(|(kind, texts)| texts.iter().map(move |text| (*text, kind)));
            Words::of(needles.chain(kinds))
        });
        Self(WORDS.set(text))
    }

    /// Whether the line may be of `kind`.
    pub(super) fn has(self, kind: usize) -> bool {
        self.0 >> kind & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_overlap_are_all_seen_with_their_first_place() {
        let words = Words::list(&["step", "iteration", "iter", "mem"]);
        assert_eq!(words.set("iteration mem"), 0b1110);
        let first = words.first("an iter, an iteration");
        assert_eq!(first[1..3], [Some((12, 21)), Some((3, 7))]);
        assert_eq!(first[0], None);
    }

    #[test]
    fn a_line_has_the_marks_of_its_kind_and_a_needle() {
        for (kind, texts) in KINDS.iter().enumerate() {
            for text in *texts {
                let marks = Marks::of(&format!("a {text}1"));
                assert!(marks.has(kind) && marks.has(Marks::NEEDLE), "{text}");
            }
        }
        assert_eq!(Marks::of("loss 0.25"), Marks(0));
    }
}
