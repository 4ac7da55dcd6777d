//! How often the gate errs: simulated comparisons with no change and with true growth, using the noise of real
//! machines.
//!
//! Every figure is a level plus a session's own offset, a slow drift within the session, noise per run and occasional
//! outliers, rounded to pages. Seeds make all of it reproducible.

use proptest::prelude::RngExt as _;
use proptest::test_runner::{RngAlgorithm, TestRng};

use super::{DEFAULT_CONFIDENCE, Direction, Outcome, Unit, judge};

/// The noise of a machine, in shares of the level.
#[derive(Clone, Copy, Debug)]
struct Noise {
    /// The standard deviation of a single run.
    run: f64,
    /// The standard deviation between sessions: neighbours, the kernel's caches, memory layout.
    session: f64,
    /// The drift of the level from the first run of a session to its last.
    drift: f64,
    /// The standard deviation of a wandering level: each run keeps nine tenths of the previous offset.
    wander: f64,
    /// The share of outliers, and how much larger they are.
    outliers: (f64, f64),
    /// Figures are rounded to multiples of this many bytes.
    page: f64,
}

const QUIET: Noise = Noise { run: 0.002, session: 0.001, drift: 0.0, wander: 0.0, outliers: (0.0, 0.0), page: 4096.0 };
const SHARED: Noise =
    Noise { run: 0.02, session: 0.005, drift: 0.01, wander: 0.0, outliers: (0.05, 0.5), page: 4096.0 };
const HUGE_PAGES: Noise =
    Noise { run: 0.01, session: 0.002, drift: 0.0, wander: 0.0, outliers: (0.02, 0.3), page: 2_097_152.0 };
const DRIFTING: Noise =
    Noise { run: 0.005, session: 0.005, drift: 0.03, wander: 0.0, outliers: (0.05, 0.2), page: 4096.0 };
const WANDERING: Noise =
    Noise { run: 0.005, session: 0.002, drift: 0.0, wander: 0.02, outliers: (0.02, 0.2), page: 4096.0 };
const WILD: Noise = Noise { run: 0.15, session: 0.0, drift: 0.0, wander: 0.0, outliers: (0.1, 1.0), page: 4096.0 };

const COMPARISONS: u32 = 1000;

struct Machine {
    random: TestRng,
    noise: Noise,
}

impl Machine {
    fn new(noise: Noise, seed: u8) -> Self {
        Self { random: TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]), noise }
    }

    /// A uniform number between 0 and 1.
    fn uniform(&mut self) -> f64 {
        self.random.random()
    }

    /// A normal number with deviation 1, by the Box-Muller transform.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// One session of `runs` runs of a program that takes `level` bytes.
    fn session(&mut self, level: f64, runs: usize) -> Vec<f64> {
        let noise = self.noise;
        let offset = self.normal() * noise.session;
        let direction = if self.uniform() < 0.5 { -1.0 } else { 1.0 };
        let mut wander = self.normal() * noise.wander;
        let mut figures = Vec::new();
        for run in 0..runs {
            let along = run as f64 / runs as f64 - 0.5;
            wander = 0.9 * wander + (1.0f64 - 0.81).sqrt() * self.normal() * noise.wander;
            let mut figure =
                level * (1.0 + offset + direction * noise.drift * along + wander + self.normal() * noise.run);
            if self.uniform() < noise.outliers.0 {
                figure += level * noise.outliers.1 * self.uniform();
            }
            figures.push((figure / noise.page).round().max(1.0) * noise.page);
        }
        figures
    }

    /// The outcomes of comparing 200 MiB with `growth` times as much.
    fn outcomes(&mut self, growth: f64, runs: usize) -> Count {
        let level = 200.0 * 1024.0 * 1024.0;
        let mut count = Count::default();
        for _ in 0..COMPARISONS {
            let (before, after) = (self.session(level, runs), self.session(level * growth, runs));
            let allowance = "5% | 1 MiB".parse().unwrap();
            match judge(&before, &after, Unit::Bytes, Direction::Lower, allowance, DEFAULT_CONFIDENCE).outcome {
                Outcome::Fail => count.fail += 1,
                Outcome::Pass => count.pass += 1,
                Outcome::Inconclusive => count.inconclusive += 1,
                Outcome::Improved => count.improved += 1,
                Outcome::NotComparable => unreachable!("figures alone are always comparable"),
            }
        }
        count
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    pass: u32,
    fail: u32,
    improved: u32,
    inconclusive: u32,
}

const NOISES: [(&str, Noise); 5] = [
    ("quiet", QUIET),
    ("shared", SHARED),
    ("huge pages", HUGE_PAGES),
    ("drifting", DRIFTING),
    ("wandering", WANDERING),
];

#[test]
fn equals_fail_at_most_once_in_a_hundred_comparisons() {
    for (name, noise) in NOISES.into_iter().chain([("wild", WILD)]) {
        for runs in [5, 10, 20, 30, 100] {
            // A session shorter than one swing of the level cannot reveal the wandering.
            if name == "wandering" && runs < 30 {
                continue;
            }
            let count = Machine::new(noise, 1).outcomes(1.0, runs);
            assert!(count.fail <= COMPARISONS / 100, "{name}, {runs} runs: {count:?}");
            // A gate that never decides would pass the check above.
            if runs >= 30 && name != "wild" {
                assert!(count.pass >= COMPARISONS * 9 / 10, "{name}, {runs} runs: {count:?}");
            }
        }
    }
}

#[test]
fn ten_per_cent_more_fail_in_ninety_nine_of_a_hundred_comparisons() {
    for (name, noise) in NOISES {
        for runs in [10, 20, 30, 100] {
            if name == "wandering" && runs < 30 {
                continue;
            }
            let count = Machine::new(noise, 2).outcomes(1.1, runs);
            // With ten runs, outliers leave a few comparisons undecided; none of them passes.
            let least = if runs >= 20 { 99 } else { 90 };
            assert!(count.fail >= COMPARISONS * least / 100, "{name}, {runs} runs: {count:?}");
            assert!(count.pass + count.improved <= COMPARISONS / 100, "{name}, {runs} runs: {count:?}");
        }
    }
}

#[test]
fn as_many_figures_as_an_undecided_comparison_asks_for_decide_mostly() {
    let level = 200.0 * 1024.0 * 1024.0;
    let judged = |machine: &mut Machine, runs| {
        let (before, after) = (machine.session(level, runs), machine.session(level * 1.2, runs));
        let allowance = "5% | 1 MiB".parse().unwrap();
        judge(&before, &after, Unit::Bytes, Direction::Lower, allowance, DEFAULT_CONFIDENCE)
    };
    let mut machine = Machine::new(WILD, 3);
    let (mut asked, mut decided) = (0, 0);
    for _ in 0..300 {
        let first = judged(&mut machine, 8);
        let needed = first.message.split("about ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
        if let Some(needed) = needed.filter(|needed: &usize| *needed <= 200) {
            asked += 1;
            decided += u32::from(judged(&mut machine, needed).outcome != Outcome::Inconclusive);
        }
    }
    assert!(asked >= 100 && decided * 2 >= asked, "{decided} of {asked}");
}

#[test]
fn noise_larger_than_the_growth_is_inconclusive_rather_than_passed() {
    let count = Machine::new(WILD, 0).outcomes(1.1, 10);
    assert!(count.pass <= COMPARISONS / 100 && count.inconclusive >= COMPARISONS * 8 / 10, "{count:?}");
}
