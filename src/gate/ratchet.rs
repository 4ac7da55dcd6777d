//! [`ratchet`]: finds ceilings that are far above the present usage.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Policy, Record, RunState, Semantics, Unit};
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::ceiling::Allowance;
use plimsoll_memory::ceiling::limit_above;
use plimsoll_memory::meter::Metric;
use plimsoll_memory::schema::Document;

/// The ceilings that records show to be too high.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ratchet {
    /// `plimsoll.ratchet/1`.
    #[schemars(extend("const" = "plimsoll.ratchet/1"))]
    pub schema: String,
    /// The room left above the largest reading. A ceiling is lowered only if the reduction exceeds the headroom itself,
    /// so that small changes of usage move no ceiling.
    pub headroom: Allowance,
    /// The ceilings to lower, by test.
    pub lowerings: Vec<Lowering>,
    /// How many ceilings stay unchanged.
    pub kept: u64,
    /// The tests and commands whose records were not used because the run failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
}

/// A ceiling to lower.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lowering {
    /// The test binary; absent for a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
    /// The test by its path in the binary, or the label of the command.
    pub subject: String,
    /// Whether the ceiling belongs to a test and so stands in its source.
    pub is_test: bool,
    /// The limited metric.
    pub metric: Metric,
    /// The present limit.
    pub from: ByteSize,
    /// The new limit.
    pub to: ByteSize,
    /// The largest reading over all runs.
    pub largest: ByteSize,
    /// How many runs were read.
    pub runs: u64,
    /// Where the ceiling stands in the source, as `FILE:LINE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Why the ceiling must be lowered by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_hand: Option<String>,
}

/// A ceiling and its readings over the runs of one test or command.
struct Usage {
    /// The limit in the latest run, and the time of that run.
    limit: (ByteSize, String),
    largest: ByteSize,
    runs: u64,
}

/// Finds the ceilings of `records` that exceed their largest reading by more than twice the `headroom`, and lowers each
/// to the largest reading plus the headroom.
///
/// Records of one test count together. No ceiling is ever raised. Ceilings on system-wide figures, such as available
/// memory, are left alone: they depend on other programs as well.
pub fn ratchet(records: &[Record], headroom: Allowance) -> Ratchet {
    let mut usages: BTreeMap<(Option<&str>, &str, bool, Metric), Usage> = BTreeMap::new();
    let mut failed = Vec::new();
    for record in records {
        let (suite, is_test) = match &record.semantics {
            Semantics::Test(test) => (test.suite.as_deref(), true),
            Semantics::Command(_) => (None, false),
            Semantics::Capture(_) => continue,
        };
        let Policy::Process(policy) = &record.policy else { continue };
        let subject = record.semantics.subject();
        if record.exit_code != 0 || record.state != RunState::Complete {
            failed.push(subject.to_owned());
            continue;
        }
        let readings = record.verdicts.iter().filter_map(|verdict| verdict.ceiling.as_ref());
        for (metric, reading) in readings.filter_map(|verdict| Some((verdict.metric, verdict.reading.as_ref()?))) {
            let Some(limit) = policy.ceilings.get(metric).filter(|_| !metric.is_of_machine()) else { continue };
            let limit = (limit, record.started.clone());
            let usage = usages.entry((suite, subject, is_test, metric)).or_insert_with(|| Usage {
                limit: limit.clone(),
                largest: ByteSize::ZERO,
                runs: 0,
            });
            // Times in RFC 3339 and UTC sort as text.
            if limit.1 >= usage.limit.1 {
                usage.limit = limit;
            }
            usage.largest = usage.largest.max(reading.bytes);
            usage.runs += 1;
        }
    }
    let mut ratchet =
        Ratchet { schema: "plimsoll.ratchet/1".to_owned(), headroom, lowerings: Vec::new(), kept: 0, failed };
    for ((suite, subject, is_test, metric), usage) in usages {
        let (from, largest) = (usage.limit.0, usage.largest);
        let to = limit_above(metric, largest, headroom);
        let margin = headroom.margin(largest.bytes() as f64, Unit::Bytes).unwrap_or(0.0);
        if from.saturating_sub(to).bytes() as f64 <= margin {
            ratchet.kept += 1;
            continue;
        }
        ratchet.lowerings.push(Lowering {
            suite: suite.map(str::to_owned),
            subject: subject.to_owned(),
            is_test,
            metric,
            from,
            to,
            largest,
            runs: usage.runs,
            place: None,
            by_hand: None,
        });
    }
    ratchet
}

impl Document for Ratchet {
    const NAME: &'static str = "plimsoll.ratchet/1";
    const TITLE: &'static str = "Ceilings that plimsoll would lower";
}

/// The JSON Schema (draft 2020-12) of what `plimsoll ratchet --json` prints.
pub fn schema() -> serde_json::Value {
    Ratchet::document_schema()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::record::{Verdict, exit_code, sample};

    /// A run of the test `name` that took `mib` MiB under a ceiling of `limit` MiB.
    pub(crate) fn run(name: &str, limit: u64, mib: u64, started: &str) -> Record {
        let mut record = sample::test();
        record.started = started.to_owned();
        let Semantics::Test(test) = &mut record.semantics else { panic!("it is of a test") };
        test.name = name.to_owned();
        let Policy::Process(policy) = &mut record.policy else { panic!("it is of a process") };
        policy.ceilings = format!("peak_rss = {limit} MiB, available_floor = 1 MiB").parse().unwrap();
        let mut phase = record.phases[0].clone();
        phase.readings.get_mut(&Metric::PeakRss).unwrap().bytes = ByteSize::mib(mib);
        record.phases = vec![phase];
        let verdicts = plimsoll_memory::ceiling::judge(&record.phases, &policy.ceilings);
        record.verdicts = verdicts.into_iter().map(Verdict::from).collect();
        record.exit_code = exit_code(&record.verdicts);
        record
    }

    fn headroom() -> Allowance {
        "10% | 4 MiB".parse().unwrap()
    }

    #[test]
    fn a_ceiling_follows_the_largest_run_down() {
        let records = [
            run("reads", 256, 60, "2026-01-01T00:00:00.000Z"),
            run("reads", 256, 64, "2026-01-02T00:00:00.000Z"),
            run("writes", 64, 60, "2026-01-01T00:00:00.000Z"),
        ];
        let ratchet = ratchet(&records, headroom());
        let [lowering] = &ratchet.lowerings[..] else { panic!("{ratchet:?}") };
        assert_eq!((&*lowering.subject, lowering.metric, lowering.runs), ("reads", Metric::PeakRss, 2));
        assert_eq!([lowering.from, lowering.to, lowering.largest].map(|b| b.bytes() >> 20), [256, 72, 64]);
        assert_eq!((ratchet.kept, &ratchet.failed[..]), (1, &[][..]));
    }

    #[test]
    fn a_ceiling_that_would_hardly_move_or_would_rise_stays() {
        // 60 MiB plus the headroom are 66 MiB; one more headroom makes 72 MiB.
        for (limit, lowered) in [(60, 0), (66, 0), (70, 0), (74, 1)] {
            let ratchet = ratchet(&[run("reads", limit, 60, "2026-01-01T00:00:00.000Z")], headroom());
            assert_eq!(ratchet.lowerings.len(), lowered, "{limit} MiB: {ratchet:?}");
        }
    }

    #[test]
    fn what_was_lowered_already_is_not_lowered_again_and_failures_say_nothing() {
        let records = [
            run("reads", 256, 60, "2026-01-01T00:00:00.000Z"),
            run("reads", 70, 60, "2026-01-02T00:00:00.000Z"),
            run("breaks", 64, 100, "2026-01-01T00:00:00.000Z"),
        ];
        let ratchet = ratchet(&records, headroom());
        assert_eq!((ratchet.lowerings.len(), ratchet.kept, &*ratchet.failed), (0, 1, &["breaks".to_owned()][..]));
    }
}
