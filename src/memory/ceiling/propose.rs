//! [`propose`]: derives ceilings from several runs.

use super::allowance::Allowance;
use super::unit::Unit;
use super::verdict::most;
use super::{Ceiling, Ceilings};
use crate::bytes::{ByteSize, KIB};
use crate::meter::{Metric, PhaseReadings, Reading};

/// The default headroom, written as an [`Allowance`].
pub const DEFAULT_HEADROOM: &str = "10% | 4 MiB";

/// Ceilings that leave a headroom above several runs.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct Proposal {
    /// The number of runs. All else being equal, another run exceeds the largest of n with a probability of 1 / (n +
    /// 1), which is why there is a headroom.
    pub runs: u64,
    /// The room above the largest reading (below the smallest for a floor): the larger of the two parts.
    pub headroom: Allowance,
    /// One ceiling per metric that every run has read, in the order of reports.
    pub ceilings: Vec<ProposedCeiling>,
    /// The metrics that at least one run lacks.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub unavailable: Vec<Unavailable>,
}

/// A ceiling on one metric.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct ProposedCeiling {
    /// The limited metric.
    pub metric: Metric,
    /// The limit, rounded away from the readings to a readable amount.
    pub limit: ByteSize,
    /// The smallest of the runs' worst readings.
    pub smallest: ByteSize,
    /// Their median; the larger of the two in the middle.
    pub median: ByteSize,
    /// The largest of them.
    pub largest: ByteSize,
    /// The reading that determined the limit.
    pub reading: Reading,
    /// The phase of that reading.
    pub phase: String,
    /// Whether the readings differ by more than the headroom, so that another run may well exceed the limit.
    pub scattered: bool,
}

/// A metric without a proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct Unavailable {
    /// The metric.
    pub metric: Metric,
    /// Why a run has no reading of it.
    pub reason: String,
}

/// Proposes a ceiling for every metric that each of `runs` has read in every phase: the worst reading, or the most that
/// it may have been if it is not exact, plus `headroom`.
///
/// Retained memory is read from the last phase, where a ceiling on it is judged. Swap that no run used gets a ceiling
/// of 0.
pub fn propose(runs: &[Vec<PhaseReadings>], headroom: Allowance) -> Proposal {
    let mut proposal = Proposal { runs: runs.len() as u64, headroom, ceilings: Vec::new(), unavailable: Vec::new() };
    if runs.is_empty() {
        return proposal;
    }
    for metric in Metric::ALL {
        let worst: Result<Vec<_>, String> = runs.iter().map(|phases| worst(metric, phases)).collect();
        match worst {
            Ok(worst) => {
                // A ceiling below what an inexact reading may have been could not be judged.
                let most =
                    runs.iter().flatten().filter_map(|phase| most(phase, metric)).max().unwrap_or(ByteSize::ZERO);
                proposal.ceilings.push(ceiling(metric, worst, most, headroom));
            }
            Err(reason) => proposal.unavailable.push(Unavailable { metric, reason }),
        }
    }
    proposal
}

/// The worst reading of a run with its phase, or why there is none.
fn worst(metric: Metric, phases: &[PhaseReadings]) -> Result<(&Reading, &str), String> {
    let judged = if metric.is_retained() { phases.len().saturating_sub(1) } else { 0 };
    let mut worst: Option<(&Reading, &str)> = None;
    for phase in &phases[judged..] {
        let Some(reading) = phase.readings.get(&metric) else {
            let reason = phase.unavailable.get(&metric).map_or("it was not read", String::as_str);
            return Err(reason.to_owned());
        };
        if worst.is_none_or(|(before, _)| metric.is_past(reading.bytes, before.bytes)) {
            worst = Some((reading, &phase.phase));
        }
    }
    worst.ok_or_else(|| "no phase was metered".to_owned())
}

fn ceiling(metric: Metric, mut worst: Vec<(&Reading, &str)>, most: ByteSize, headroom: Allowance) -> ProposedCeiling {
    worst.sort_by_key(|(reading, _)| reading.bytes);
    let (smallest, median) = (worst[0].0.bytes, worst[worst.len() / 2].0.bytes);
    let largest = worst[worst.len() - 1].0.bytes;
    let (reading, phase) = if metric.is_floor() { worst[0] } else { worst[worst.len() - 1] };
    let at = reading.bytes.bytes();
    let margin = headroom.margin(at as f64, Unit::Bytes).unwrap_or(0.0) as u64;
    let limit = if metric.is_floor() {
        ByteSize::new(round_down(at.saturating_sub(margin)))
    } else {
        limit_above(metric, reading.bytes.max(most), headroom)
    };
    ProposedCeiling {
        metric,
        limit,
        smallest,
        median,
        largest,
        reading: reading.clone(),
        phase: phase.to_owned(),
        scattered: largest.bytes() - smallest.bytes() > margin,
    }
}

/// The limit that leaves `headroom` above the largest reading. Unused swap should remain unused.
pub fn limit_above(metric: Metric, largest: ByteSize, headroom: Allowance) -> ByteSize {
    if matches!(metric, Metric::PeakSwap | Metric::SwapGrowth) && largest == ByteSize::ZERO {
        return ByteSize::ZERO;
    }
    let margin = headroom.margin(largest.bytes() as f64, Unit::Bytes).unwrap_or(0.0) as u64;
    ByteSize::new(round_up(largest.bytes().saturating_add(margin)))
}

/// A step for rounding: at most 1/32 of `bytes`, a power of two and at least a KiB, so that large amounts become whole
/// numbers of a large unit. Amounts below 32 KiB stay as they are.
fn step(bytes: u64) -> u64 {
    if bytes < 32 * KIB { 1 } else { 1 << (bytes.ilog2() - 5) }
}

fn round_down(bytes: u64) -> u64 {
    bytes - bytes % step(bytes)
}

fn round_up(bytes: u64) -> u64 {
    bytes.checked_next_multiple_of(step(bytes)).unwrap_or(u64::MAX)
}

impl Proposal {
    /// The proposal restricted to `metrics`, in the order of reports.
    pub fn only(mut self, metrics: &[Metric]) -> Self {
        self.ceilings.retain(|ceiling| metrics.contains(&ceiling.metric));
        self.unavailable.retain(|unavailable| metrics.contains(&unavailable.metric));
        self
    }

    /// The ceilings that depend on the run rather than on the machine.
    fn of_the_run(&self) -> impl Iterator<Item = &ProposedCeiling> {
        self.ceilings.iter().filter(|ceiling| !ceiling.metric.is_of_machine())
    }

    /// The ceilings that depend on the run rather than on the machine.
    pub fn ceilings(&self) -> Ceilings {
        let list: Vec<Ceiling> =
            self.of_the_run().map(|ceiling| Ceiling { metric: ceiling.metric, limit: ceiling.limit }).collect();
        list.try_into().expect("each metric stands there once")
    }

    /// As an attribute of a test: `#[plimsoll::test(peak_rss = "64 MiB", swap_growth = "0 B")]`.
    pub fn attribute(&self) -> String {
        let arguments: Vec<String> =
            self.of_the_run().map(|ceiling| format!("{} = \"{}\"", ceiling.metric, ceiling.limit.exact())).collect();
        let line = format!("#[plimsoll::test({})]", arguments.join(", "));
        if line.len() <= 100 {
            return line;
        }
        let lines: String = arguments.iter().map(|argument| format!("    {argument},\n")).collect();
        format!("#[plimsoll::test(\n{lines})]")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bytes::MIB;
    use crate::ceiling::{CeilingStatus, judge};
    use crate::testing::phases_of as run;

    fn headroom() -> Allowance {
        "10% | 4 MiB".parse().unwrap()
    }

    fn of(proposal: &Proposal, metric: Metric) -> &ProposedCeiling {
        proposal.ceilings.iter().find(|ceiling| ceiling.metric == metric).expect("it is proposed")
    }

    #[test]
    fn a_ceiling_stands_above_the_largest_reading_by_the_headroom() {
        let proposal = propose(&[run(200), run(205), run(202)], headroom());
        let rss = of(&proposal, Metric::PeakRss);
        assert_eq!([rss.smallest, rss.median, rss.largest].map(|bytes| bytes.bytes() / MIB), [200, 202, 205]);
        assert_eq!((rss.limit, rss.scattered), (ByteSize::mib(228), false));
        // The larger part applies: 4 MiB for 10 MiB.
        assert_eq!(of(&propose(&[run(10)], headroom()), Metric::PeakRss).limit, ByteSize::mib(14));
        assert!(of(&propose(&[run(10), run(20)], headroom()), Metric::PeakRss).scattered);
        assert_eq!(propose(&[], headroom()).ceilings, []);
    }

    #[test]
    fn a_ceiling_holds_what_an_inexact_reading_may_have_been() {
        let mut short = run(1);
        short[0].peak_rss_at_most = Some(ByteSize::mib(12));
        let proposal = propose(&[run(1), short], headroom());
        assert_eq!(of(&proposal, Metric::PeakRss).limit, ByteSize::mib(16));
        assert_eq!(of(&proposal, Metric::PeakRss).largest, ByteSize::mib(1));
    }

    #[test]
    fn swap_that_was_not_used_stays_unused_and_a_floor_lies_below() {
        let proposal = propose(&[run(200)], headroom());
        assert_eq!(of(&proposal, Metric::SwapGrowth).limit, ByteSize::ZERO);
        let floor = of(&proposal, Metric::AvailableFloor);
        assert!(floor.limit < floor.smallest);
        assert!(!proposal.attribute().contains("available_floor"), "it is of the machine");
    }

    #[test]
    fn what_one_run_lacks_is_not_proposed() {
        let mut lacking = run(200);
        lacking[0].readings.remove(&Metric::PeakRss);
        lacking[0].unavailable.insert(Metric::PeakRss, "/proc/7/status: Permission denied".to_owned());
        let proposal = propose(&[run(200), lacking], headroom()).only(&[Metric::PeakRss]);
        assert_eq!(proposal.ceilings, []);
        let unavailable = &proposal.unavailable[0];
        assert_eq!((unavailable.metric, &*unavailable.reason), (Metric::PeakRss, "/proc/7/status: Permission denied"));
    }

    #[test]
    fn the_attribute_is_one_that_can_be_pasted() {
        let proposal = propose(&[run(200)], headroom());
        let two = proposal.clone().only(&[Metric::PeakRss, Metric::SwapGrowth]);
        assert_eq!(two.attribute(), "#[plimsoll::test(peak_rss = \"220 MiB\", swap_growth = \"0 B\")]");
        let all = proposal.attribute();
        assert!(all.starts_with("#[plimsoll::test(\n    peak_rss = \"220 MiB\",\n") && all.ends_with(",\n)]"), "{all}");
    }

    proptest! {
        #[test]
        fn every_run_holds_what_was_proposed(sizes in prop::collection::vec(0u64..1 << 40, 1..8), percent in 0.0f64..50.0) {
            let runs: Vec<_> = sizes.iter().map(|&bytes| {
                let mut phases = run(0);
                for phase in &mut phases {
                    phase.readings.values_mut().for_each(|reading| reading.bytes = ByteSize::new(bytes));
                }
                phases
            }).collect();
            let proposal = propose(&runs, Allowance::new(percent, ByteSize::new(4096)).unwrap());
            for phases in &runs {
                for verdict in judge(phases, &proposal.ceilings()) {
                    prop_assert_eq!(verdict.status, CeilingStatus::Holds, "{}", verdict.message);
                }
            }
        }

        #[test]
        fn rounding_moves_by_little(bytes in 0u64..1 << 50) {
            let (down, up) = (round_down(bytes), round_up(bytes));
            prop_assert!(down <= bytes && bytes <= up && up - down <= (bytes / 32).max(1));
            prop_assert_eq!(round_up(up), up);
        }
    }
}
