//! [`evaluate`]: records held against ceilings and a baseline.

use std::collections::BTreeMap;

use super::allowance::Allowance;
use super::conditions::{Condition, ConditionChange, condition_changes};
use super::judge::{Comparison, Outcome, Summary, judge, judge_pairs};
use super::limits::Limits;
use super::report::{BaselineRuns, FigureVerdict, GateReport, SubjectVerdict};
use super::runs::{count, failure, worst_ceilings};
use super::subject::Subject;
use crate::ceiling::Ceilings;
use crate::meter::Metric;
use crate::record::{Direction, Figure, Record, Unit, Verdict, VerdictStatus, exit_code, figures, figures_of};
use crate::suggest::nearest;

/// What a subject is judged by.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Ceilings, which take the place of those of the same metrics in the record.
    pub ceilings: Ceilings,
    /// What figures may get worse by.
    pub limits: Limits,
    /// The confidence of intervals.
    pub confidence: f64,
    /// Conditions whose change does not keep figures from being compared.
    pub allow: Vec<Condition>,
}

/// The records of a baseline.
#[derive(Clone, Debug, Default)]
pub struct Baseline {
    /// Where it came from, as it is said in reports.
    pub name: String,
    /// The records, each with where it was read.
    pub records: Vec<(String, Record)>,
    /// What makes a baseline where a subject has none, as a sentence's end: "make one with `plimsoll gate ..`".
    pub remedy: String,
}

/// Judges `records`, of any number of subjects, each by its rules: by ceilings, and against `baseline` where there is one.
///
/// Records of one subject and the same semantics are its runs. One that failed by itself fails; what a run takes that
/// fails is no measure of one that does not.
pub fn evaluate(records: &[Record], baseline: Option<&Baseline>, rules: &dyn Fn(&Subject) -> Rules) -> GateReport {
    let mut subjects: Vec<(Subject, &str, Vec<&Record>)> = Vec::new();
    for record in records {
        let (subject, digest) = (Subject::of(record), &*record.semantics_digest);
        match subjects.iter_mut().find(|(other, of, _)| *other == subject && *of == digest) {
            Some((_, _, runs)) => runs.push(record),
            None => subjects.push((subject, digest, vec![record])),
        }
    }
    let verdicts = subjects.into_iter().map(|(subject, _, runs)| {
        let rules = rules(&subject);
        judge_subject(subject, &runs, baseline, &rules)
    });
    let name = baseline.map(|baseline| baseline.name.clone());
    GateReport::new(name, verdicts.collect())
}

/// Judges the runs of `b` by those of `a`, which were taken in pairs, the first of each drawn by lot. `name` is that of `a`
/// in the report.
///
/// What drifts on the machine moves both of a pair, so that it is the differences within pairs that are judged.
pub fn evaluate_pairs(name: &str, a: &Record, b: &Record, rules: &Rules) -> GateReport {
    let mut judged = judge_subject(Subject::of(b), &[b], None, rules);
    judged.note = failure(b).map(|why| format!("a run failed: {why}"));
    judged.outcome = Outcome::of_all(judged.verdicts.iter().map(|verdict| match verdict.status {
        VerdictStatus::Pass => Outcome::Pass,
        VerdictStatus::Fail => Outcome::Fail,
        VerdictStatus::NotMeasurable | VerdictStatus::Inconclusive => Outcome::Inconclusive,
    }));
    if judged.note.is_some() {
        judged.outcome = Outcome::Fail;
    } else if let Some(why) = failure(a) {
        judged.note = Some(format!("a run of {name} failed: {why}"));
        judged.outcome = Outcome::of_all([judged.outcome, Outcome::Inconclusive]);
    } else {
        judged.baseline = Some(BaselineRuns {
            origins: vec![name.to_owned()],
            runs: count(a),
            started: a.started.clone(),
            plimsoll: a.plimsoll.clone(),
        });
        let (before, now) = (figures(a), figures(b));
        let pairs = count(a) as usize;
        for figure in now.iter().filter(|figure| is_judged(figure, &rules.limits)) {
            let before = before.iter().find(|before| before.name == figure.name);
            // A run that lacks the figure leaves its pair without a partner.
            let whole = figure.values.len() == pairs && before.is_some_and(|before| before.values.len() == pairs);
            let how: Judge = if whole { judge_pairs } else { judge };
            judged.figures.push(judge_figure(figure, before, &[], rules, how));
        }
        let unmeasured = unmeasured(&now, &rules.limits);
        let outcomes = judged.figures.iter().map(|figure| figure.outcome);
        let missing = (!unmeasured.is_empty()).then_some(Outcome::Inconclusive);
        judged.outcome = Outcome::of_all(outcomes.chain(missing).chain([judged.outcome]));
        judged.verdicts.extend(unmeasured);
    }
    GateReport::new(Some(name.to_owned()), vec![judged])
}

fn judge_subject(subject: Subject, runs: &[&Record], baseline: Option<&Baseline>, rules: &Rules) -> SubjectVerdict {
    let verdicts = worst_ceilings(runs, &rules.ceilings);
    let mut judged = SubjectVerdict {
        subject,
        runs: runs.iter().map(|run| count(run)).sum(),
        baseline: None,
        conditions: Vec::new(),
        outcome: match exit_code(&verdicts) {
            0 => Outcome::Pass,
            1 => Outcome::Fail,
            _ => Outcome::Inconclusive,
        },
        verdicts,
        figures: Vec::new(),
        note: None,
    };
    if let Some(why) = runs.iter().find_map(|run| failure(run)) {
        judged.outcome = Outcome::Fail;
        judged.note = Some(format!("a run failed: {why}"));
        return judged;
    }
    let Some(baseline) = baseline else {
        if judged.verdicts.iter().all(|verdict| verdict.ceiling.is_none()) {
            judged.outcome = Outcome::of_all([judged.outcome, Outcome::Inconclusive]);
            judged.note = Some("nothing was judged: it has no ceiling, and there is no --baseline".to_owned());
        }
        return judged;
    };
    against(&mut judged, runs, baseline, rules);
    judged
}

/// Judges the figures of a subject against those of its baseline.
fn against(judged: &mut SubjectVerdict, runs: &[&Record], baseline: &Baseline, rules: &Rules) {
    let none = |judged: &mut SubjectVerdict, why: String| {
        judged.outcome = Outcome::of_all([judged.outcome, Outcome::Inconclusive]);
        judged.note = Some(why);
    };
    let same: Vec<&(String, Record)> =
        baseline.records.iter().filter(|(_, record)| Subject::of(record) == judged.subject).collect();
    if same.is_empty() {
        let why = format!("it has no baseline in {}: {}", baseline.name, baseline.remedy);
        return none(judged, why);
    }
    // Records of the same semantics count alone where there are any: a label may have served two commands.
    let digest = &runs[0].semantics_digest;
    let of_digest: Vec<_> = same.iter().copied().filter(|(_, record)| record.semantics_digest == *digest).collect();
    let same = if of_digest.is_empty() { same } else { of_digest };
    let whole: Vec<_> = same.iter().copied().filter(|(_, record)| failure(record).is_none()).collect();
    let Some((_, first)) = whole.first() else {
        let why = format!("every run of its baseline failed: {}", baseline.remedy);
        return none(judged, why);
    };
    let latest = whole.iter().map(|(_, record)| record).max_by_key(|record| &record.started).unwrap_or(first);
    let mut origins: Vec<String> = whole.iter().map(|(origin, _)| origin.clone()).collect();
    origins.dedup();
    judged.baseline = Some(BaselineRuns {
        origins,
        runs: whole.iter().map(|(_, record)| count(record)).sum(),
        started: latest.started.clone(),
        plimsoll: latest.plimsoll.clone(),
    });
    for other in whole[1..].iter().map(|(_, record)| record).chain(runs.iter().copied()) {
        for change in condition_changes(first, other, &rules.allow) {
            if judged.conditions.iter().all(|known| known.condition != change.condition) {
                judged.conditions.push(change);
            }
        }
    }
    judged.conditions.sort_by_key(|change| change.condition);
    let before: BTreeMap<String, Figure> = figures_of(whole.iter().map(|(_, record)| record))
        .into_iter()
        .map(|figure| (figure.name.clone(), figure))
        .collect();
    let now = figures_of(runs.iter().copied());
    judged.figures = now
        .iter()
        .filter(|figure| is_judged(figure, &rules.limits))
        .map(|figure| judge_figure(figure, before.get(&figure.name), &judged.conditions, rules, judge))
        .collect();
    let unmeasured = unmeasured(&now, &rules.limits);
    if !unmeasured.is_empty() {
        judged.outcome = Outcome::of_all([judged.outcome, Outcome::Inconclusive]);
    }
    judged.verdicts.extend(unmeasured);
    judged.outcome = Outcome::of_all(judged.figures.iter().map(|figure| figure.outcome).chain([judged.outcome]));
    if judged.figures.is_empty() && judged.verdicts.is_empty() {
        none(judged, "nothing was judged: no limit is on a figure that it has".to_owned());
    }
}

/// How the values of a figure are held against those before.
type Judge = fn(&[f64], &[f64], Unit, Direction, Allowance, f64) -> Comparison;

fn judge_figure(
    figure: &Figure,
    before: Option<&Figure>,
    conditions: &[ConditionChange],
    rules: &Rules,
    judge: Judge,
) -> FigureVerdict {
    let mut judged = FigureVerdict {
        name: figure.name.clone(),
        phase: figure.phase.clone(),
        unit: figure.unit,
        direction: figure.direction,
        source: figure.source,
        outcome: Outcome::NotComparable,
        current: Summary::of(&figure.values),
        comparison: None,
        note: None,
    };
    let bear = |change: &&ConditionChange| !change.allowed && change.condition.bears_on(figure);
    let changed: Vec<String> = conditions.iter().filter(bear).map(|change| change.condition.to_string()).collect();
    if !changed.is_empty() {
        judged.note = Some(format!(
            "measured under other conditions: {}; compare all the same with --allow {}",
            changed.join(", "),
            changed.join(",")
        ));
        return judged;
    }
    let Some(before) = before else {
        judged.outcome = Outcome::Inconclusive;
        judged.note = Some("the baseline does not have it".to_owned());
        return judged;
    };
    let allowance = rules.limits.of(&figure.name);
    let comparison = judge(&before.values, &figure.values, figure.unit, figure.direction, allowance, rules.confidence);
    judged.outcome = comparison.outcome;
    judged.comparison = Some(comparison);
    judged
}

/// Whether a figure is judged: where a limit names it; where none does, and limits are general, the memory of what was
/// run, over all phases.
fn is_judged(figure: &Figure, limits: &Limits) -> bool {
    limits.name(&figure.name)
        || limits.are_general() && DEFAULT_FIGURES.iter().any(|metric| metric.name() == figure.name)
}

/// What is judged where no limit says what: the memory of what was run, each kind once, and nothing of the machine.
const DEFAULT_FIGURES: [Metric; 10] = [
    Metric::PeakRss,
    Metric::RetainedRss,
    Metric::PeakAnon,
    Metric::RetainedAnon,
    Metric::PeakShmem,
    Metric::PeakPss,
    Metric::PeakSwap,
    Metric::GpuPeak,
    Metric::PeakHeap,
    Metric::RetainedHeap,
];

/// Verdicts on figures that a limit names and the runs lack: what was not measured never holds.
fn unmeasured(now: &[Figure], limits: &Limits) -> Vec<Verdict> {
    let lacking = limits.singles().filter(|name| now.iter().all(|figure| figure.name != *name));
    let verdict = |name: &str| {
        let known: Vec<&str> = now.iter().map(|figure| &*figure.name).collect();
        let hint = nearest(name, &known).map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
        let message = format!("the record has no figure `{name}`{hint}");
        Verdict::new(format!("limit {name}"), VerdictStatus::NotMeasurable, message)
    };
    lacking.map(verdict).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::bytes::ByteSize;
    use crate::gate::DEFAULT_CONFIDENCE;
    use crate::record::schema::tests::{assert_committed, faults};
    use crate::record::{RunState, Semantics, sample};

    /// A run of `train` that took `mib` MiB.
    pub(crate) fn run(mib: u64) -> Record {
        let mut record = sample::command();
        for phase in &mut record.phases {
            for metric in [Metric::PeakRss, Metric::PeakAnon, Metric::PeakPss] {
                phase.readings.get_mut(&metric).unwrap().bytes = ByteSize::mib(mib);
            }
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
    fn limits_that_name_figures_are_for_those_alone() {
        let figures = |limits: &[&str]| {
            let report = judged(&runs(&LEVELS), runs(&LEVELS), limits);
            names(&report).into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(figures(&["peak_rss=5% | 64 MiB"]), ["peak_rss"]);
        assert_eq!(figures(&["peak_*=5%", "wall=10%"]), ["peak_rss", "peak_anon", "peak_pss", "wall"]);
        assert_eq!(figures(&["1%", "wall=10%"]), ["peak_rss", "peak_anon", "peak_pss", "wall"]);
        assert_eq!(figures(&["available_floor=5%"]), ["available_floor"]);
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
        assert_eq!(report.subjects[0].figures[0].note.as_deref(), Some("the baseline does not have it"));
    }

    #[test]
    fn one_run_a_side_is_too_few_and_says_so() {
        let report = judged(&runs(&[200]), runs(&[300]), &["peak_rss=5%"]);
        assert_eq!((report.outcome, report.exit_code()), (Outcome::Inconclusive, 3));
        let message = &report.subjects[0].figures[0].comparison.as_ref().unwrap().message;
        assert!(message.contains("repeat each at least 5 times"), "{message}");
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
        assert!(notes[0].ends_with("transparent_huge_pages; compare all the same with --allow transparent_huge_pages"));
        assert!(
            notes[1].ends_with("--allow transparent_huge_pages,cpu"),
            "times depend on the processor: {}",
            notes[1]
        );
        let allowing = |_: &Subject| Rules { allow: vec![Condition::TransparentHugePages], ..rules(&limits) };
        let report = evaluate(&other, Some(&baseline(runs(&LEVELS))), &allowing);
        let outcomes: Vec<_> = report.subjects[0].figures.iter().map(|figure| figure.outcome).collect();
        assert_eq!(outcomes, [Outcome::Pass, Outcome::NotComparable]);
        assert_eq!(report.subjects[0].conditions.len(), 2, "what was allowed is told as well");
    }

    #[test]
    fn another_command_under_the_same_label_is_not_comparable() {
        let mut other = runs(&LEVELS);
        other.iter_mut().for_each(|record| record.semantics_digest = "blake3:1".to_owned());
        let report = judged(&other, runs(&LEVELS), &[]);
        assert_eq!(report.outcome, Outcome::NotComparable);
        assert_eq!(report.subjects[0].conditions[0].condition, Condition::Semantics);
        // Where the baseline has runs of the same semantics as well, those count alone.
        let both = [runs(&LEVELS), other.clone()].concat();
        assert_eq!(judged(&other, both, &[]).outcome, Outcome::Pass);
    }

    #[test]
    fn a_missing_baseline_is_inconclusive_and_says_how_to_make_one() {
        let report = judged(&[sample::test()], runs(&LEVELS), &[]);
        assert_eq!(report.exit_code(), 3);
        let note = report.subjects[0].note.as_deref().unwrap();
        assert_eq!(note, "it has no baseline in baselines: make one with `plimsoll gate --update-baseline`");
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

    /// A record of runs that took so many MiB each, one after the other.
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
    fn pairs_tell_what_a_drift_hides_from_runs_one_after_the_other() {
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
        assert_eq!(report.subjects[0].note.as_deref(), Some("a run failed: it was interrupted"));
        failed.iter_mut().for_each(|record| record.state = RunState::Interrupted);
        let report = judged(&runs(&LEVELS), failed, &[]);
        assert_eq!(report.exit_code(), 3);
        assert!(report.subjects[0].note.as_deref().unwrap().starts_with("every run of its baseline failed"));
    }

    #[test]
    fn the_committed_schema_is_up_to_date_and_a_report_follows_it() {
        let schema = crate::gate::report::schema();
        assert_committed("plimsoll.gate-1.json", &schema);
        let report = serde_json::to_value(self::sample()).unwrap();
        assert_eq!(faults(&schema, &report), [""; 0]);
        assert_eq!(serde_json::from_value::<GateReport>(report).unwrap(), self::sample());
    }
}
