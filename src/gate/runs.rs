//! What the runs of a subject show without a baseline: whether one failed, and how close they came to their ceilings.

use crate::record::{Record, RunState, Verdict, VerdictStatus};
use plimsoll_memory::ceiling::{CeilingVerdict, Ceilings, judge};
use plimsoll_memory::command::{EndCause, ProcessEnd};
use plimsoll_memory::meter::PhaseReadings;

/// How many runs a record contains.
pub(super) fn count(record: &Record) -> u64 {
    record.runs.len().max(1) as u64
}

/// The readings of each run of a record.
fn phases(record: &Record) -> Vec<&[PhaseReadings]> {
    if record.runs.is_empty() {
        return vec![&record.phases];
    }
    record.runs.iter().map(|run| &*run.phases).collect()
}

/// Why a run failed regardless of its ceilings; `None` if it did not.
pub(super) fn failure(record: &Record) -> Option<String> {
    let failed = || {
        let mut verdicts = record.verdicts.iter().filter(|verdict| verdict.ceiling.is_none());
        verdicts.find(|verdict| verdict.status == VerdictStatus::Fail).map(|verdict| verdict.message.clone())
    };
    match record.state {
        RunState::Interrupted => return Some("it was interrupted".to_owned()),
        RunState::Failed => return Some(failed().unwrap_or_else(|| "it could not continue".to_owned())),
        RunState::Complete => {}
    }
    let ended = record.end.as_ref().filter(|end| !is_success(end)).map(|end| format!("it {end}"));
    ended.or_else(failed)
}

fn is_success(end: &ProcessEnd) -> bool {
    end.cause == EndCause::Exited && end.exit_code == Some(0)
}

/// The ceiling verdicts of `runs`, one per metric in the order of reports: the run closest to its limit or furthest
/// beyond it. `ceilings` replace those of the same metrics in the runs. Other verdicts that did not pass follow.
pub(super) fn worst_ceilings(runs: &[&Record], ceilings: &Ceilings) -> Vec<Verdict> {
    let all: u64 = runs.iter().map(|run| count(run)).sum();
    let mut worst: Vec<CeilingVerdict> = Vec::new();
    let mut number = 0;
    for run in runs {
        let own = run.verdicts.iter().filter_map(|verdict| verdict.ceiling.clone());
        let mut found: Vec<CeilingVerdict> = own.filter(|verdict| ceilings.get(verdict.metric).is_none()).collect();
        for phases in phases(run) {
            number += 1;
            found.extend(judge(phases, ceilings).into_iter().map(|mut verdict| {
                if all > 1 {
                    verdict.message += &format!(" (run {number} of {all})");
                }
                verdict
            }));
        }
        for verdict in found {
            match worst.iter_mut().find(|known| known.metric == verdict.metric) {
                None => worst.push(verdict),
                Some(known) if verdict.is_worse_than(known) => *known = verdict,
                Some(_) => {}
            }
        }
    }
    worst.sort_by_key(|verdict| verdict.metric);
    let ceilings = worst.into_iter().map(Verdict::from);
    let others = runs.iter().flat_map(|run| &run.verdicts);
    let others = others.filter(|verdict| verdict.ceiling.is_none() && verdict.status != VerdictStatus::Pass);
    ceilings.chain(others.cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample;
    use plimsoll_memory::bytes::ByteSize;
    use plimsoll_memory::meter::Metric;

    fn with_rss(mib: u64) -> Record {
        let mut record = sample::command();
        record.phases[0].readings.get_mut(&Metric::PeakRss).unwrap().bytes = ByteSize::mib(mib);
        record
    }

    #[test]
    fn a_ceiling_is_judged_by_the_run_that_is_nearest_to_it() {
        let runs = [with_rss(40), with_rss(60), with_rss(50)];
        let runs: Vec<&Record> = runs.iter().collect();
        let verdicts = worst_ceilings(&runs, &"peak_rss = 64 MiB".parse().unwrap());
        assert_eq!((verdicts.len(), verdicts[0].status), (1, VerdictStatus::Pass));
        assert!(verdicts[0].message.ends_with("(run 2 of 3)"), "{}", verdicts[0].message);
        assert_eq!(verdicts[0].ceiling.as_ref().unwrap().limit, ByteSize::mib(64), "it replaces the record's own");
        let verdicts = worst_ceilings(&runs, &"peak_rss = 45 MiB, peak_swap = 1 GiB".parse().unwrap());
        let statuses: Vec<_> = verdicts.iter().map(|verdict| verdict.status).collect();
        assert_eq!(statuses, [VerdictStatus::Fail, VerdictStatus::NotMeasurable]);
        assert_eq!(verdicts[0].ceiling.as_ref().unwrap().by, Some(ByteSize::mib(15)));
    }

    #[test]
    fn the_ceilings_of_the_record_stay_where_none_replaces_them() {
        let run = sample::test();
        let verdicts = worst_ceilings(&[&run], &"peak_rss = 1 GiB".parse().unwrap());
        let metrics: Vec<_> = verdicts.iter().filter_map(|v| Some(v.ceiling.as_ref()?.metric)).collect();
        assert_eq!(metrics, [Metric::PeakRss, Metric::SwapGrowth]);
    }

    #[test]
    fn a_run_that_failed_says_how() {
        assert_eq!(failure(&sample::command()), None);
        let mut exited = sample::command();
        exited.end.as_mut().unwrap().exit_code = Some(3);
        assert_eq!(failure(&exited).as_deref(), Some("it exited with code 3"));
        let mut interrupted = sample::command();
        interrupted.state = RunState::Interrupted;
        assert_eq!(failure(&interrupted).as_deref(), Some("it was interrupted"));
        let mut broken = sample::command();
        broken.verdicts[0].status = VerdictStatus::Fail;
        assert_eq!(failure(&broken), None, "a broken ceiling is judged by itself");
        let mut mismatch = sample::record();
        mismatch.verdicts.push(Verdict::new("validation", VerdictStatus::Fail, "1 of 4 entries does not match"));
        assert_eq!(failure(&mismatch).as_deref(), Some("1 of 4 entries does not match"));
    }
}
