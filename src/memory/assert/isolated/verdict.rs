//! The result of a test whose process has ended, and its message.

use std::collections::BTreeMap;
use std::time::SystemTime;

use super::Isolated;
use super::message::Outcome;
use super::parent::Finished;
use crate::alloc::HeapReadings;
use crate::assert::counted::judge_heap;
use crate::assert::failure::{Failure, failure};
use crate::assert::test_run::{self, TestRun};
use crate::ceiling::{self, CeilingStatus, CeilingVerdict, Ceilings};
use crate::command::{EndCause, Ended};
use crate::meter::{Metric, PhaseReadings, Reading, Source};

/// The result of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Its body returned and every ceiling holds, or it was skipped.
    Passed,
    /// Its body panicked or raised an exception with this message, and nothing else is wrong.
    Panicked(String),
    /// The test fails for the reason in this message, whatever was expected of its body.
    Failed(String),
}

impl Isolated {
    /// The ceilings on the meter's figures.
    pub(super) fn process_ceilings(&self) -> Ceilings {
        self.some_ceilings(|metric| !metric.is_of_heap())
    }

    fn some_ceilings(&self, wanted: impl Fn(Metric) -> bool) -> Ceilings {
        let some: Vec<_> = self.ceilings.iter().filter(|ceiling| wanted(ceiling.metric)).collect();
        some.try_into().expect("each metric stands there once, as in the whole")
    }
}

pub(super) fn judge(test: &Isolated, finished: Finished, started: SystemTime) -> Judgement {
    let Finished { ended, begun, report, prelude } = finished;
    // A body that ended just before its process was killed still counts as killed.
    let reported = report.is_some();
    let (outcome, heap) = match report.filter(|_| ended.end.cause == EndCause::Exited) {
        Some((outcome, heap)) => (Some(outcome), heap),
        None => (None, Err("the process ended before it could report".to_owned())),
    };
    if outcome == Some(Outcome::Skipped) {
        return Judgement::Passed;
    }
    let unfinished = match &outcome {
        Some(Outcome::Raised { message }) if !begun => Some(format!("it raised before its body began: {message}")),
        None => Some(unfinished(&ended, begun, reported, &prelude, test.alone)),
        Some(Outcome::Failed) => Some("the test returned an error".to_owned()),
        Some(_) => None,
    };
    let mut verdicts = ended.verdicts.clone();
    let of_heap = test.some_ceilings(Metric::is_of_heap);
    verdicts.extend(ceiling::judge(&[heap_phase(&heap)], &of_heap));
    let heap_verdicts = judge_heap(heap.as_ref().map_err(String::as_str), &test.heap);
    let statuses = verdicts.iter().map(|verdict| verdict.status);
    let holds = statuses.chain(heap_verdicts.iter().map(|v| v.status)).all(|status| status == CeilingStatus::Holds);
    let panic = match &outcome {
        Some(Outcome::Panicked { message }) => Some(("panicked", message.as_str())),
        Some(Outcome::Raised { message }) => Some(("raised", message.as_str())),
        _ => None,
    };
    // A process that ended early may or may not have stayed within its ceilings; they do not count as broken.
    let judgement = match (holds || (unfinished.is_some() && !any_broken(&verdicts)), &unfinished, panic) {
        (true, None, None) => Some(Judgement::Passed),
        (true, None, Some((_, message))) => Some(Judgement::Panicked(message.to_owned())),
        _ => None,
    };
    let kept = test_run::keep(test.keeper, || {
        let (passed, did) = match (&unfinished, panic, test.should_panic) {
            (Some(what), ..) => (false, what.clone()),
            (None, Some((did, message)), false) => (false, format!("it {did}: {message}")),
            (None, None, true) => (false, "it did not panic".to_owned()),
            (None, Some(_), true) => (true, "it panicked, as it should".to_owned()),
            (None, None, false) => match &outcome {
                Some(Outcome::ExpectedFailure { message }) => (true, format!("it failed, as expected: {message}")),
                _ => (true, "its body returned".to_owned()),
            },
        };
        TestRun {
            package: test.package.clone(),
            suite: test.suite.clone(),
            name: test.name.clone(),
            ceilings: test.ceilings.clone(),
            enforce: test.enforce,
            timeout: test.timeout,
            sample_interval: test.sample_interval,
            started,
            wall: ended.wall,
            end: ended.end.clone(),
            phases: ended.phases.clone(),
            passed,
            outcome: did,
            verdicts: verdicts.clone(),
            heap_verdicts: heap_verdicts.clone(),
        }
    });
    let mut notes = Vec::new();
    if let Err(error) = kept {
        // A missing record that was requested is a failure.
        match judgement {
            Some(Judgement::Passed) => return Judgement::Failed(format!("{}: its record: {error}", test.name)),
            _ => notes.push(format!("its record: {error}")),
        }
    }
    if let Some(judgement) = judgement {
        return judgement;
    }
    if ended.left_running > 0 {
        notes.push(format!("{} left running were killed", processes(ended.left_running)));
    }
    if let Some(enforcement) = &ended.enforcement {
        notes.push(format!("ceilings were enforced by {enforcement}"));
    }
    let panicked = panic.map(|(did, message)| format!("and the test {did}: {message}"));
    let details = |name: &str| {
        failure(&Failure {
            name,
            message: panicked.as_deref(),
            verdicts: &verdicts,
            heap_verdicts: &heap_verdicts,
            phases: &ended.phases,
            heap: heap.as_ref().ok(),
            notes: &notes,
        })
    };
    Judgement::Failed(match unfinished {
        // Before the body there is nothing to show.
        Some(what) if !begun || (verdicts.is_empty() && heap_verdicts.is_empty()) => format!("{}: {what}", test.name),
        Some(what) => format!("{}: {what}\n{}", test.name, details("until then")),
        None => details(&test.name),
    })
}

fn any_broken(verdicts: &[CeilingVerdict]) -> bool {
    verdicts.iter().any(|verdict| verdict.status == CeilingStatus::Broken)
}

/// What ended the process before its body ended.
fn unfinished(ended: &Ended, begun: bool, reported: bool, prelude: &str, alone: bool) -> String {
    let when = match (begun, reported) {
        (false, _) => "before its body began",
        (true, false) => "before its body had ended",
        (true, true) => "after its body had ended",
    };
    let hint = match ended.end.cause {
        EndCause::Exited if begun && !reported && !alone => ": did the test call `std::process::exit`?",
        EndCause::Exited if begun && !reported => ": did the test end its process?",
        _ => "",
    };
    let said = match prelude.trim() {
        said if !begun && !said.is_empty() => format!("\nit printed:\n{said}"),
        _ => String::new(),
    };
    format!("its process {} {when}{hint}{said}", ended.end)
}

fn processes(count: usize) -> String {
    if count == 1 { "1 process".to_owned() } else { format!("{count} processes") }
}

/// The allocator's counts as the readings of a single phase, the whole test.
pub(super) fn heap_phase(heap: &Result<HeapReadings, String>) -> PhaseReadings {
    let (mut readings, mut unavailable) = (BTreeMap::new(), BTreeMap::new());
    for metric in Metric::ALL.into_iter().filter(|metric| metric.is_of_heap()) {
        match heap {
            Ok(heap) => {
                let bytes = if metric.is_retained() { heap.retained } else { heap.peak };
                readings.insert(metric, Reading::new(bytes, Source::Exact, "allocator, all threads"));
            }
            Err(reason) => {
                unavailable.insert(metric, reason.clone());
            }
        }
    }
    PhaseReadings { phase: "test".to_owned(), readings, unavailable, ..PhaseReadings::default() }
}
