//! Tests of [`evaluate`] and [`evaluate_pairs`](super::evaluate_pairs), and sample records and reports for tests of
//! documents.

use super::*;
use crate::gate::DEFAULT_CONFIDENCE;
use crate::record::{RunState, Semantics, sample};
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::meter::{MemorySplit, Metric, Source};
use plimsoll_memory::testing::faults;

/// A run of `train` that took `mib` MiB.
pub(crate) fn run(mib: u64) -> Record {
    let mut record = sample::command();
    for phase in &mut record.phases {
        for metric in [Metric::PeakRss, Metric::PeakAnon, Metric::PeakPss] {
            phase.readings.get_mut(&metric).unwrap().bytes = ByteSize::mib(mib);
        }
        phase.at_peak = phase.at_peak.map(|split| MemorySplit { rss: ByteSize::mib(mib), ..split });
    }
    record
}

pub(crate) fn runs(mib: &[u64]) -> Vec<Record> {
    mib.iter().map(|&mib| run(mib)).collect()
}

pub(crate) fn baseline(records: Vec<Record>) -> Baseline {
    let records = records.into_iter().map(|record| ("baselines/train.json".to_owned(), record)).collect();
    Baseline {
        name: "baselines".to_owned(),
        records,
        remedy: "make one with `plimsoll gate --update-baseline`".to_owned(),
    }
}

pub(crate) fn rules(limits: &[&str]) -> Rules {
    let limits = limits.iter().map(|limit| limit.parse().unwrap()).collect();
    Rules {
        ceilings: Ceilings::new(),
        limits: Limits::new(limits, "5% | 4 MiB".parse().unwrap()),
        confidence: DEFAULT_CONFIDENCE,
        allow: Vec::new(),
    }
}

/// Subjects of every outcome, for the tests of documents.
pub(crate) fn sample() -> GateReport {
    let labelled = |label: &str, records: Vec<Record>| {
        let name = |mut record: Record| {
            let Semantics::Command(command) = &mut record.semantics else { panic!("it is a command") };
            command.label = label.to_owned();
            record.semantics_digest = record.semantics.digest();
            record
        };
        records.into_iter().map(name).collect::<Vec<_>>()
    };
    let always = |mut records: Vec<Record>| {
        for record in &mut records {
            record.environment.system.as_mut().unwrap().transparent_huge_pages = Some("always".to_owned());
        }
        records
    };
    let more = LEVELS.map(|mib| mib * 11 / 10);
    let mut failed = run(200);
    failed.end.as_mut().unwrap().exit_code = Some(3);
    let now = [
        labelled("holds", runs(&LEVELS)),
        labelled("grows", runs(&more)),
        labelled("once", runs(&[230])),
        labelled("huge", always(runs(&LEVELS))),
        labelled("new", runs(&LEVELS)),
        labelled("fails", vec![failed]),
    ];
    let before = ["holds", "grows", "once", "huge"].map(|label| labelled(label, runs(&LEVELS)));
    evaluate(&now.concat(), Some(&baseline(before.concat())), &|subject| {
        let limits: &[&str] = if subject.label == "huge" { &["peak_rss=5%", "pea_rss=5%"] } else { &[] };
        Rules { ceilings: "peak_anon = 210 MiB".parse().unwrap(), ..rules(limits) }
    })
}

fn judged(now: &[Record], before: Vec<Record>, limits: &[&str]) -> GateReport {
    evaluate(now, Some(&baseline(before)), &|_| rules(limits))
}

fn names(report: &GateReport) -> Vec<&str> {
    report.subjects[0].figures.iter().map(|figure| &*figure.name).collect()
}

const LEVELS: [u64; 5] = [200, 201, 200, 202, 200];

#[test]
fn growth_beyond_the_limit_fails_and_equals_pass() {
    let more = LEVELS.map(|mib| mib * 11 / 10);
    let report = judged(&runs(&more), runs(&LEVELS), &[]);
    assert_eq!((report.outcome, report.exit_code()), (Outcome::Fail, 1));
    assert_eq!(report.message, "3 figures got worse: train");
    assert_eq!(names(&report), ["peak_rss", "peak_anon", "peak_pss"], "nothing of the machine is judged");
    let report = judged(&runs(&LEVELS), runs(&LEVELS), &[]);
    assert_eq!((report.outcome, report.exit_code()), (Outcome::Pass, 0));
    let subject = &report.subjects[0];
    assert_eq!((subject.runs, subject.baseline.as_ref().unwrap().runs), (5, 5));
    assert_eq!(judged(&runs(&LEVELS), runs(&more), &[]).subjects[0].outcome, Outcome::Improved);
}

#[test]
fn a_limit_on_memory_chooses_among_its_figures_and_another_adds_to_them() {
    let figures = |limits: &[&str]| {
        let report = judged(&runs(&LEVELS), runs(&LEVELS), limits);
        names(&report).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(figures(&["peak_rss=5% | 64 MiB"]), ["peak_rss"]);
    assert_eq!(figures(&["peak_*=5%", "wall=10%"]), ["peak_rss", "peak_anon", "peak_pss", "wall"]);
    assert_eq!(figures(&["1%", "wall=10%"]), ["peak_rss", "peak_anon", "peak_pss", "wall"]);
    for added in ["available_floor", "wall"] {
        let limit = format!("{added}=500%");
        let mut judged = figures(&[&limit]);
        judged.retain(|name| name != added);
        assert_eq!(judged, ["peak_rss", "peak_anon", "peak_pss"]);
    }
}

#[test]
fn a_figure_that_is_named_and_missing_never_holds() {
    let report = judged(&runs(&LEVELS), runs(&LEVELS), &["peak_rs=5%"]);
    assert_eq!(report.exit_code(), 3);
    let verdict = &report.subjects[0].verdicts.last().unwrap();
    assert_eq!(verdict.message, "the record has no figure `peak_rs`; did you mean `peak_rss`?");
    let mut before = runs(&LEVELS);
    before.iter_mut().for_each(|record| drop(record.phases[0].readings.remove(&Metric::PeakPss)));
    let report = judged(&runs(&LEVELS), before, &["peak_pss=5%"]);
    assert_eq!(report.exit_code(), 3);
    assert_eq!(report.subjects[0].figures[0].note.as_deref(), Some("the baseline lacks it"));
}

#[test]
fn one_run_a_side_is_too_few_and_says_so() {
    let report = judged(&runs(&[200]), runs(&[300]), &["peak_rss=5%"]);
    assert_eq!((report.outcome, report.exit_code()), (Outcome::Inconclusive, 3));
    let message = &report.subjects[0].figures[0].comparison.as_ref().unwrap().message;
    assert!(message.contains("repeat each at least 5 times"), "{message}");
}

#[test]
fn only_a_run_that_failed_is_reported_as_one() {
    let rules = |_: &Subject| Rules { ceilings: "peak_rss = 1 MiB".parse().unwrap(), ..rules(&[]) };
    let report = evaluate(&runs(&[200]), Some(&Baseline::default()), &rules);
    assert!(report.subjects[0].note.as_deref().unwrap().starts_with("there is no baseline in"));
    assert_eq!((report.exit_code(), report.message.as_str()), (1, "1 ceiling broken: train"));
}

#[test]
fn what_was_measured_otherwise_is_not_compared_unless_allowed() {
    let mut other = runs(&LEVELS);
    for record in &mut other {
        let system = record.environment.system.as_mut().unwrap();
        system.transparent_huge_pages = Some("always".to_owned());
        system.cpu = Some("another".to_owned());
    }
    let limits = ["peak_rss=5%", "wall=5%"];
    let report = judged(&other, runs(&LEVELS), &limits);
    assert_eq!((report.outcome, report.exit_code()), (Outcome::NotComparable, 3));
    let notes: Vec<_> = report.subjects[0].figures.iter().map(|figure| figure.note.clone().unwrap()).collect();
    assert!(notes[0].ends_with("transparent_huge_pages; compare anyway with --allow transparent_huge_pages"));
    assert!(notes[1].ends_with("--allow transparent_huge_pages,cpu"), "times depend on the processor: {}", notes[1]);
    let allowing = |_: &Subject| Rules { allow: vec![Condition::TransparentHugePages], ..rules(&limits) };
    let report = evaluate(&other, Some(&baseline(runs(&LEVELS))), &allowing);
    let outcomes: Vec<_> = report.subjects[0].figures.iter().map(|figure| figure.outcome).collect();
    assert_eq!(outcomes, [Outcome::Pass, Outcome::NotComparable]);
    assert_eq!(report.subjects[0].conditions.len(), 2, "allowed changes are reported as well");
}

#[test]
fn another_command_under_the_same_label_is_not_comparable() {
    let mut other = runs(&LEVELS);
    other.iter_mut().for_each(|record| record.semantics_digest = "blake3:1".to_owned());
    let report = judged(&other, runs(&LEVELS), &[]);
    assert_eq!(report.outcome, Outcome::NotComparable);
    assert_eq!(report.subjects[0].conditions[0].condition, Condition::Semantics);
    // If the baseline has runs of the same semantics as well, only those count.
    let both = [runs(&LEVELS), other.clone()].concat();
    assert_eq!(judged(&other, both, &[]).outcome, Outcome::Pass);
}

#[test]
fn a_missing_baseline_is_inconclusive_and_says_how_to_make_one() {
    let report = judged(&[sample::test()], runs(&LEVELS), &[]);
    assert_eq!(report.exit_code(), 3);
    let note = report.subjects[0].note.as_deref().unwrap();
    assert_eq!(note, "there is no baseline in baselines: make one with `plimsoll gate --update-baseline`");
}

#[test]
fn ceilings_are_judged_without_a_baseline_and_nothing_is_no_pass() {
    let held = |ceilings: &str| {
        let rules = |_: &Subject| Rules { ceilings: ceilings.parse().unwrap(), ..rules(&[]) };
        evaluate(&runs(&LEVELS), None, &rules)
    };
    assert_eq!(held("peak_rss = 210 MiB").exit_code(), 0);
    let broken = held("peak_rss = 201 MiB");
    assert_eq!((broken.exit_code(), broken.message.as_str()), (1, "1 ceiling broken: train"));
    let mut bare = runs(&[200]);
    bare[0].verdicts.clear();
    let report = evaluate(&bare, None, &|_| rules(&[]));
    assert_eq!(report.exit_code(), 3);
    assert!(report.subjects[0].note.as_deref().unwrap().starts_with("nothing was judged"));
}

/// A record of consecutive runs that took this many MiB each.
fn repeated(mib: &[u64]) -> Record {
    let mut record = sample::repeated();
    let run = record.runs[0].clone();
    record.runs.clear();
    for &mib in mib {
        let mut run = run.clone();
        for phase in &mut run.phases {
            phase.readings.get_mut(&Metric::PeakRss).unwrap().bytes = ByteSize::mib(mib);
        }
        record.runs.push(run);
    }
    record.end.as_mut().unwrap().exit_code = Some(0);
    record.verdicts.clear();
    record
}

#[test]
fn pairs_show_what_a_drift_hides_from_consecutive_runs() {
    let drifting = [200, 212, 224, 236, 248, 260, 272, 284, 296, 308];
    let more = drifting.map(|mib| mib + 30);
    let limits = &["peak_rss=5% | 4 MiB"];
    let paired = |a: &[u64], b: &[u64]| evaluate_pairs("A: before", &repeated(a), &repeated(b), &rules(limits));
    let report = paired(&drifting, &more);
    assert_eq!((report.outcome, report.exit_code()), (Outcome::Fail, 1));
    let comparison = report.subjects[0].figures[0].comparison.clone().unwrap();
    assert_eq!(comparison.shift, Some(30.0 * 1024.0 * 1024.0));
    assert_eq!(comparison.method, Some(crate::gate::Method::SignedRank { exact: true }));
    assert_eq!(paired(&drifting, &drifting).outcome, Outcome::Pass);
    let unpaired = judged(&[repeated(&more)], vec![repeated(&drifting)], limits);
    assert_eq!(unpaired.outcome, Outcome::Inconclusive);
    let few = paired(&drifting[..5], &more[..5]);
    assert_eq!(few.outcome, Outcome::Inconclusive);
    let message = &few.subjects[0].figures[0].comparison.as_ref().unwrap().message;
    assert!(message.contains("repeat each at least 8 times"), "{message}");
}

#[test]
fn pairs_of_which_no_figure_is_limited_do_not_pass() {
    let mut pair = repeated(&[200; 10]);
    pair.verdicts.clear();
    pair.runs.iter_mut().for_each(|run| run.phases.clear());
    let report = evaluate_pairs("A: x", &pair, &pair, &rules(&["timing.*=5%"]));
    assert_eq!(report.exit_code(), 3);
    let note = report.subjects[0].note.as_deref();
    assert_eq!(note, Some("nothing was judged: no limit applies to any of its figures"));
}

#[test]
fn a_command_of_a_pair_that_failed_is_not_compared() {
    let mut failed = repeated(&[200; 10]);
    failed.end.as_mut().unwrap().exit_code = Some(3);
    let report = evaluate_pairs("A: x", &failed, &repeated(&[200; 10]), &rules(&[]));
    assert_eq!(report.exit_code(), 3);
    assert_eq!(report.subjects[0].note.as_deref(), Some("a run of A: x failed: it exited with code 3"));
    assert_eq!(evaluate_pairs("A: x", &repeated(&[200; 10]), &failed, &rules(&[])).exit_code(), 1);
}

#[test]
fn a_run_that_failed_fails_and_is_no_baseline() {
    let mut failed = runs(&LEVELS);
    failed[1].state = RunState::Interrupted;
    let report = judged(&failed, runs(&LEVELS), &[]);
    assert_eq!(report.exit_code(), 1);
    assert_eq!(report.subjects[0].failure.as_deref(), Some("a run failed: it was interrupted"));
    failed.iter_mut().for_each(|record| record.state = RunState::Interrupted);
    let report = judged(&runs(&LEVELS), failed, &[]);
    assert_eq!(report.exit_code(), 3);
    assert!(report.subjects[0].note.as_deref().unwrap().starts_with("every run of its baseline failed"));
}

#[test]
fn the_committed_schema_is_up_to_date_and_a_report_follows_it() {
    let schema = crate::gate::report::schema();
    let report = serde_json::to_value(self::sample()).unwrap();
    assert_eq!(faults(&schema, &report), [""; 0]);
    assert_eq!(serde_json::from_value::<GateReport>(report).unwrap(), self::sample());
}

/// Runs with an exact peak and the anonymous part of it that samples caught.
fn sampled(runs: &[(u64, u64)]) -> Vec<Record> {
    let of = |(peak, met): &(u64, u64)| {
        let mut record = run(*peak);
        let phase = &mut record.phases[0];
        phase.readings.remove(&Metric::PeakPss);
        phase.readings.get_mut(&Metric::PeakRss).unwrap().source = Source::Exact;
        let anon = phase.readings.get_mut(&Metric::PeakAnon).unwrap();
        (anon.bytes, anon.source) = (ByteSize::mib(*met), Source::Sampled { interval_ns: 10_000_000 });
        phase.at_peak = phase.at_peak.map(|split| MemorySplit { rss: ByteSize::mib(*met), ..split });
        record
    };
    runs.iter().map(of).collect()
}

#[test]
fn what_samples_missed_of_a_peak_is_no_growth() {
    // Samples catch less of the same peak on a busy machine than on a quiet one.
    let busy = sampled(&[(100, 60), (101, 70), (100, 55), (101, 66), (100, 62), (101, 71)]);
    let quiet = sampled(&[(100, 98), (101, 96), (100, 99), (101, 97), (100, 95), (101, 99)]);
    let judged = |before: &[Record], now: &[Record], limits: &[&str]| {
        evaluate(now, Some(&baseline(before.to_vec())), &|_| rules(limits)).subjects.remove(0)
    };
    for (before, now) in [(&busy, &quiet), (&quiet, &busy)] {
        let subject = judged(before, now, &[]);
        assert_eq!(subject.outcome, Outcome::Pass, "{subject:?}");
        assert!(subject.figures.iter().all(|figure| figure.name != "peak_anon"));
        let left_out = subject.verdicts.iter().find(|verdict| verdict.subject == "limit peak_anon").unwrap();
        assert!(left_out.message.starts_with("peak_anon is not judged, peak_rss is: samples missed up to 45"));
    }
    let named = judged(&busy, &quiet, &["peak_anon=5%"]);
    assert_eq!(named.outcome, Outcome::Inconclusive, "one that is named is never passed over: {named:?}");
    // Growth larger than everything that may have been missed is real.
    let more = sampled(&[(200, 150), (201, 160), (200, 155), (201, 166), (200, 152), (201, 171)]);
    let subject = judged(&busy, &more, &["peak_anon=5%"]);
    assert_eq!(subject.figures[0].outcome, Outcome::Fail, "{subject:?}");
}
