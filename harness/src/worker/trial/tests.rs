use plimsoll::capture::{Argument, Dtype, Layout, TensorRef};
use serde::Deserialize;

use super::*;
use crate::protocol::StorageRange;

/// The vectors that `tests/python/test_stale.py` reads as well.
const VECTORS: &str = include_str!("../../../../tests/data/stale.json");

#[derive(Deserialize)]
struct Vectors {
    vectors: Vec<Vector>,
}

/// Outputs of the four launches of a round, and the verdict.
#[derive(Deserialize)]
struct Vector {
    name: String,
    dtype: Dtype,
    altered: Pair,
    captured: Pair,
    kept: Option<Expected>,
}

/// Elements, each with how often it comes.
#[derive(Deserialize)]
struct Pair {
    here: Vec<(Element, usize)>,
    elsewhere: Vec<(Element, usize)>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Element {
    Integer(i64),
    /// Hexadecimal.
    Bits(String),
}

#[derive(Deserialize)]
struct Expected {
    stale: u64,
    following: u64,
}

impl Element {
    fn bytes(&self, dtype: Dtype) -> Vec<u8> {
        let number = match self {
            Self::Bits(text) => u64::from_str_radix(text.strip_prefix("0x").unwrap(), 16).unwrap(),
            &Self::Integer(number) => match dtype {
                Dtype::F64 => (number as f64).to_bits(),
                Dtype::F32 => (number as f32).to_bits().into(),
                Dtype::BF16 => ((number as f32).to_bits() >> 16).into(),
                Dtype::F16 => [0, 0x3c00, 0x4000][number as usize],
                _ => number as u64,
            },
        };
        number.to_le_bytes()[..dtype.size() as usize].to_vec()
    }
}

fn bytes(runs: &[(Element, usize)], dtype: Dtype) -> Vec<u8> {
    runs.iter().flat_map(|(element, times)| element.bytes(dtype).repeat(*times)).collect()
}

/// Launches with prepared results.
struct Prepared {
    call: CallMessage,
    _file: tempfile::NamedTempFile,
    size: usize,
    /// On altered contents here and elsewhere, on captured ones here and elsewhere.
    outputs: [Vec<u8>; 4],
    launches: Vec<&'static str>,
    /// From this round on the kernel is honest.
    honest_from: u64,
    /// The launch that fails.
    fails: Option<usize>,
}

impl Prepared {
    fn of(vector: &Vector) -> Self {
        let of = |runs: &[_]| bytes(runs, vector.dtype);
        let Vector { altered, captured, .. } = vector;
        let outputs = [of(&altered.here), of(&altered.elsewhere), of(&captured.here), of(&captured.elsewhere)];
        Self::giving(outputs, vector.dtype.size() as usize)
    }

    fn giving(outputs: [Vec<u8>; 4], size: usize) -> Self {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), 1f32.to_le_bytes().repeat(16)).unwrap();
        let tensor = TensorRef { layout: Layout::contiguous(Dtype::F32, &[16]), storage: 0 };
        let call = CallMessage {
            params: vec!["x".to_owned()],
            args: vec![Argument::Tensor(tensor)],
            storages: vec![StorageRange { path: file.path().to_owned(), offset: 0, bytes: 64 }],
            outputs: Vec::new(),
        };
        Self { call, _file: file, size, outputs, launches: Vec::new(), honest_from: u64::MAX, fails: None }
    }

    fn launched(&mut self, name: &'static str) -> Result<(), CallError> {
        let failed = self.fails == Some(self.launches.len());
        self.launches.push(name);
        let error = plimsoll::kernel::KernelError::Exception { message: "other contents".to_owned() };
        if failed { Err(error.into()) } else { Ok(()) }
    }

    fn compare(&self, one: usize, other: usize, compare: &mut Compare<'_>) {
        let (one, other) = (&self.outputs[one], &self.outputs[other]);
        // Pieces of three elements, so that most begin within a word of bits.
        for (number, (one, other)) in one.chunks(3 * self.size).zip(other.chunks(3 * self.size)).enumerate() {
            let start = number * 3 * self.size;
            let piece = Piece { first: number * 3, size: self.size, range: start..start + one.len() };
            compare(&piece, one, other);
        }
    }
}

impl Trial for Prepared {
    fn call(&self) -> &CallMessage {
        &self.call
    }

    fn altered_here(&mut self, alteration: &Alteration) -> Result<(), CallError> {
        assert!(!alteration.is_empty());
        self.launched("altered here")
    }

    fn altered_elsewhere(&mut self, _: &Alteration, compare: &mut Compare<'_>) -> Result<(), CallError> {
        let round = self.launches.iter().filter(|name| **name == "altered elsewhere").count() as u64;
        self.launched("altered elsewhere")?;
        let elsewhere = if round < self.honest_from { 1 } else { 0 };
        self.compare(0, elsewhere, compare);
        Ok(())
    }

    fn captured_elsewhere(&mut self, compare: &mut Compare<'_>) -> Result<(), CallError> {
        self.launched("captured elsewhere")?;
        self.compare(0, 3, compare);
        Ok(())
    }

    fn captured_here(&mut self, compare: &mut Compare<'_>) -> Result<(), CallError> {
        self.launched("captured here")?;
        self.compare(2, 3, compare);
        Ok(())
    }
}

const ROUND: [&str; 4] = ["altered here", "altered elsewhere", "captured elsewhere", "captured here"];

/// A kernel that keeps all its results.
fn keeping() -> Prepared {
    Prepared::giving([vec![1; 80], vec![2; 80], vec![1; 80], vec![1; 80]], 4)
}

#[test]
fn the_verdict_on_every_vector_is_the_one_that_python_gives_too() {
    let Vectors { vectors } = serde_json::from_str(VECTORS).unwrap();
    assert!(vectors.iter().any(|vector| vector.kept.is_some()) && vectors.iter().any(|vector| vector.kept.is_none()));
    for vector in &vectors {
        let found = kept(&mut Prepared::of(vector)).unwrap();
        match (&vector.kept, &found) {
            (None, None) => {}
            (Some(expected), Some(CallError::Kept { stale, following })) => {
                assert_eq!((*stale, *following), (expected.stale, expected.following), "{}", vector.name);
            }
            _ => panic!("{}: {found:?}", vector.name),
        }
    }
}

#[test]
fn a_kernel_is_accused_when_it_is_found_out_in_each_round() {
    let mut prepared = keeping();
    assert!(matches!(kept(&mut prepared), Ok(Some(CallError::Kept { stale: 20, following: 20 }))));
    assert_eq!(prepared.launches, ROUND.repeat(ROUNDS as usize));
    for honest_from in 0..ROUNDS {
        let mut prepared = Prepared { honest_from, ..keeping() };
        assert!(matches!(kept(&mut prepared), Ok(None)), "{honest_from}");
        let expected = [ROUND.repeat(honest_from as usize), ROUND[..2].to_vec()].concat();
        assert_eq!(prepared.launches, expected, "an honest round is the last, after two launches");
    }
}

#[test]
fn a_launch_that_fails_on_other_contents_is_no_accusation() {
    for fails in 0..4 * ROUNDS as usize {
        let mut prepared = Prepared { fails: Some(fails), ..keeping() };
        assert!(matches!(kept(&mut prepared), Ok(None)), "{fails}");
        assert_eq!(prepared.launches.len(), fails + 1, "nothing is launched after it");
    }
}

#[test]
fn a_kernel_stops_when_it_no_longer_follows_altered_contents() {
    let followed = Followed { altered: vec![2; 400], captured: vec![1; 400] };
    let mut launches = 0;
    let mut again = |altered: u8, captured: u8, until: usize| {
        launches = 0;
        let found = followed.stopped(|| {
            launches += 1;
            Ok([vec![if launches < until { altered } else { 2 }; 400], vec![captured; 400]])
        });
        (found.unwrap().is_some(), launches)
    };
    assert_eq!(again(1, 1, usize::MAX), (true, AGAIN));
    assert_eq!(again(1, 1, 3), (false, 3), "it follows them in the third launch");
    assert_eq!(again(2, 1, usize::MAX), (false, 1), "it follows them");
    assert_eq!(again(1, 3, usize::MAX), (false, 1), "what it gives of captured contents differs by itself");
}
