//! Proposes ceilings for a test from several runs of its body: `PLIMSOLL_CALIBRATE=10 cargo test`.

use std::io::Write as _;
use std::time::SystemTime;

use super::verdict::{self, Judgement, heap_phase};
use super::{Isolated, parent};
use crate::ceiling::Ceilings;
use crate::ceiling::{Allowance, DEFAULT_HEADROOM, proposal_table, propose};
use crate::meter::{Metric, PhaseReadings};
use crate::text::{Palette, Screen};

/// The environment variable for the number of runs.
pub const RUNS: &str = "PLIMSOLL_CALIBRATE";
/// The environment variable for the headroom.
pub const HEADROOM: &str = "PLIMSOLL_HEADROOM";

/// The metrics for a test without ceilings: what it takes, what it retains, and that it does not swap.
const OF_A_NEW_TEST: [Metric; 6] = [
    Metric::PeakRss,
    Metric::PeakAnonGrowth,
    Metric::RetainedAnon,
    Metric::SwapGrowth,
    Metric::PeakHeap,
    Metric::RetainedHeap,
];

/// The calibration that the environment requests.
pub(super) struct Calibration {
    runs: u32,
    headroom: Allowance,
}

/// Reads the environment; `None` if it requests no calibration.
pub(super) fn asked() -> Result<Option<Calibration>, String> {
    let set = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
    let Some(runs) = set(RUNS) else { return Ok(None) };
    let runs = runs.parse().ok().filter(|runs| (1..=10_000).contains(runs));
    let runs = runs.ok_or_else(|| format!("{RUNS} is a number of runs from 1 to 10000, such as 10"))?;
    let headroom = set(HEADROOM).unwrap_or_else(|| DEFAULT_HEADROOM.to_owned());
    let headroom = headroom.parse().map_err(|error| format!("{HEADROOM}: {error}"))?;
    Ok(Some(Calibration { runs, headroom }))
}

impl Calibration {
    /// Runs the body of `test` repeatedly, each time in a process of its own and without ceilings, and prints proposed
    /// ceilings. A failing run becomes the result of the test.
    pub(super) fn run(&self, test: &Isolated) -> Judgement {
        let unlimited = Isolated { ceilings: Ceilings::new(), heap: Vec::new(), enforce: false, ..test.clone() };
        let mut runs = Vec::new();
        loop {
            let started = SystemTime::now();
            // The test's limits decide what is read, but do not judge it.
            let mut finished = match parent::supervise(&Isolated { enforce: false, ..test.clone() }) {
                Ok(finished) => finished,
                Err(error) => return Judgement::Failed(format!("{}: {error}", test.name)),
            };
            finished.ended.verdicts.clear();
            let heap = finished.report.as_ref().map(|(_, heap)| heap_phase(heap));
            runs.push(with_heap(&finished.ended.phases, heap.as_ref()));
            let judgement = verdict::judge(&unlimited, finished, started);
            let as_meant = match judgement {
                Judgement::Passed => !test.should_panic,
                Judgement::Panicked(_) => test.should_panic,
                Judgement::Failed(_) => false,
            };
            if !as_meant || runs.len() == self.runs as usize {
                if as_meant {
                    self.print(test, &runs);
                }
                return judgement;
            }
        }
    }

    /// Prints past the test harness, which hides the output of passing tests.
    fn print(&self, test: &Isolated, runs: &[Vec<PhaseReadings>]) {
        let proposal = propose(runs, self.headroom);
        let limited: Vec<Metric> = test.ceilings.iter().map(|ceiling| ceiling.metric).collect();
        let wanted = if limited.is_empty() { &OF_A_NEW_TEST[..] } else { &limited };
        let attribute = proposal.clone().only(wanted).attribute();
        let table = proposal_table(&proposal, &Screen::new(100, Palette::plain()));
        let text = format!("\n{}::{}\n{table}\n{attribute}\n", test.suite, test.name);
        // There is nowhere to report a failure of this.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}

/// The allocator's counts are for the whole test, and so belong to each phase.
fn with_heap(phases: &[PhaseReadings], heap: Option<&PhaseReadings>) -> Vec<PhaseReadings> {
    let mut phases = phases.to_vec();
    for phase in &mut phases {
        for (metric, reading) in heap.iter().flat_map(|heap| &heap.readings) {
            phase.unavailable.remove(metric);
            phase.readings.insert(*metric, reading.clone());
        }
    }
    phases
}
