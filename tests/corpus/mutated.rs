//! Good files with seeded damage are read or refused within the same limits as hostile ones.
//!
//! The fuzzers under `fuzz/` search further when run by hand; this test runs everywhere and is deterministic.

use std::path::{Path, PathBuf};

use crate::probe::{Outcome, probe};
use crate::support::{files, hostile};

/// The number of variants of each good file.
const EACH: u64 = 400;

/// The largest file that is damaged, in bytes: damage hits a large file less densely.
const LARGEST_SEED: u64 = 16 << 10;

/// The generator of Steele, Lea and Flood's SplitMix: a few lines, and the same numbers everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// Sets every CRC-32 of an archive to zero, which means none, so that damage gets past the first check.
fn without_crcs(bytes: &mut [u8]) {
    let directory: Vec<_> =
        (0..bytes.len().saturating_sub(46)).filter(|&at| bytes[at..].starts_with(b"PK\x01\x02")).collect();
    for at in directory {
        bytes[at + 16..at + 20].fill(0);
        let header = u32::from_le_bytes(bytes[at + 42..at + 46].try_into().expect("four bytes")) as usize;
        if bytes.get(header..header + 30).is_some_and(|header| header.starts_with(b"PK\x03\x04")) {
            bytes[header + 14..header + 18].fill(0);
        }
    }
}

/// Numbers at which arithmetic may go wrong.
const NUMBERS: [u64; 12] =
    [0, 1, 0x7f, 0x80, 0xff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 40, i64::MAX as u64, 1 << 63, u64::MAX];

fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => bytes[at] = random.next() as u8,
            1 => bytes[at] ^= 1 << random.below(8),
            2 => {
                let number = NUMBERS[random.below(NUMBERS.len())].to_le_bytes();
                let width = [1, 2, 4, 8][random.below(4)].min(bytes.len() - at);
                bytes[at..at + width].copy_from_slice(&number[..width]);
            }
            3 => bytes.truncate(at.max(1)),
            4 => {
                // Copies a piece of the file elsewhere.
                let from = random.below(bytes.len());
                let length = random.below(64).min(bytes.len() - from);
                let piece = bytes[from..from + length].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => {
                let end = (at + random.below(16)).min(bytes.len());
                bytes.drain(at..end);
            }
        }
        if bytes.is_empty() {
            return;
        }
    }
}

/// The files in the repository that torch wrote, and those built by hand.
fn good() -> Vec<PathBuf> {
    let fixtures = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures"));
    let fixtures = fixtures.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "pt"));
    let built = ["good.pt", "legacy_good.pt", "tar_good.pt"].map(|name| hostile().join(name));
    let small = |path: &PathBuf| path.metadata().is_ok_and(|metadata| metadata.len() <= LARGEST_SEED);
    fixtures.chain(built).filter(small).collect()
}

#[test]
fn damage_is_read_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let good = good();
    assert!(good.len() >= 15, "{good:?}");
    let (mut read, mut refused) = (0, 0);
    for (number, original) in good.iter().enumerate() {
        let bytes = std::fs::read(original).unwrap();
        let mut paths = Vec::new();
        for seed in 0..EACH {
            let mut random = Random(seed << 32 | number as u64);
            let mut changed = bytes.clone();
            if seed % 4 != 0 {
                without_crcs(&mut changed);
            }
            damage(&mut changed, &mut random);
            let path = folder.path().join(format!("{seed}.pt"));
            std::fs::write(&path, changed).unwrap();
            paths.push(path);
        }
        let outcomes = probe(&paths.iter().map(PathBuf::as_path).collect::<Vec<_>>());
        for (seed, outcome) in outcomes.iter().enumerate() {
            match outcome {
                Outcome::Read => read += 1,
                Outcome::Refused(_) => refused += 1,
                Outcome::Failed(how) => panic!("{} with damage of seed {seed}: {how}", original.display()),
            }
        }
        assert_eq!(outcomes.len(), paths.len());
    }
    // A test is useless if damage is never noticed, or always.
    assert!(read > 50 && refused > 200, "{read} were read and {refused} refused");
}
