//! What becomes of a test whose process has ended, and what it says.

use std::collections::BTreeMap;

use super::Isolated;
use super::message::Outcome;
use super::parent::Finished;
use crate::alloc::HeapReadings;
use crate::assert::counted::judge_heap;
use crate::assert::failure::{Failure, failure};
use crate::ceiling::{self, CeilingStatus, CeilingVerdict, Ceilings};
use crate::command::{EndCause, Ended};
use crate::meter::{Activity, Metric, PhaseReadings, Reading, Source};

/// The metrics that the process itself tells, of the whole test.
const OF_HEAP: [Metric; 2] = [Metric::PeakHeap, Metric::RetainedHeap];

/// What becomes of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    Passed,
    /// Its body panicked with this message, and nothing else is wrong.
    Panicked(String),
    /// Whatever it was meant to do, it fails.
    Failed(String),
}

impl Isolated {
    /// The ceilings on what the meter reads.
    pub(super) fn process_ceilings(&self) -> Ceilings {
        self.some_ceilings(|metric| !OF_HEAP.contains(&metric))
    }

    fn some_ceilings(&self, wanted: impl Fn(Metric) -> bool) -> Ceilings {
        let some: Vec<_> = self.ceilings.iter().filter(|ceiling| wanted(ceiling.metric)).collect();
        some.try_into().expect("each metric stands there once, as in the whole")
    }
}

pub(super) fn judge(test: &Isolated, finished: Finished) -> Judgement {
    let Finished { ended, begun, report, prelude } = finished;
    let (outcome, heap) = match report {
        Some((outcome, heap)) => (Some(outcome), heap),
        None => (None, Err("the process ended before it could tell".to_owned())),
    };
    let unfinished = match &outcome {
        None => Some(unfinished(&ended, begun, &prelude)),
        Some(Outcome::Failed) => Some("the test returned an error".to_owned()),
        Some(Outcome::Returned | Outcome::Panicked { .. }) => None,
    };
    let mut verdicts = ended.verdicts;
    let of_heap = test.some_ceilings(|metric| OF_HEAP.contains(&metric));
    verdicts.extend(ceiling::judge(&[heap_phase(&heap)], &of_heap));
    let heap_verdicts = judge_heap(heap.as_ref().map_err(String::as_str), &test.heap);
    let statuses = verdicts.iter().map(|verdict| verdict.status);
    let holds = statuses.chain(heap_verdicts.iter().map(|v| v.status)).all(|status| status == CeilingStatus::Holds);
    let panic = match &outcome {
        Some(Outcome::Panicked { message }) => Some(message.as_str()),
        _ => None,
    };
    // A process that ended early is not known to have stayed within its ceilings, which is no failure of theirs.
    match (holds || (unfinished.is_some() && !any_broken(&verdicts)), &unfinished, panic) {
        (true, None, None) => return Judgement::Passed,
        (true, None, Some(message)) => return Judgement::Panicked(message.to_owned()),
        _ => {}
    }
    let mut notes = Vec::new();
    if ended.left_running > 0 {
        notes.push(format!("{} left running were killed", processes(ended.left_running)));
    }
    if let Some(enforcement) = &ended.enforcement {
        notes.push(format!("ceilings were enforced by {enforcement}"));
    }
    let panicked = panic.map(|message| format!("and the test panicked: {message}"));
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
        Some(what) if verdicts.is_empty() && heap_verdicts.is_empty() => format!("{}: {what}", test.name),
        Some(what) => format!("{}: {what}\n{}", test.name, details("until then")),
        None => details(&test.name),
    })
}

fn any_broken(verdicts: &[CeilingVerdict]) -> bool {
    verdicts.iter().any(|verdict| verdict.status == CeilingStatus::Broken)
}

/// What ended the process before its body was over.
fn unfinished(ended: &Ended, begun: bool, prelude: &str) -> String {
    let when = if begun { "before its body was over" } else { "before its body began" };
    let hint = match ended.end.cause {
        EndCause::Exited if begun => ": did the test call `std::process::exit`?",
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

/// What the allocator counted, as the readings of one phase that is the whole test.
fn heap_phase(heap: &Result<HeapReadings, String>) -> PhaseReadings {
    let (mut readings, mut unavailable) = (BTreeMap::new(), BTreeMap::new());
    for metric in OF_HEAP {
        match heap {
            Ok(heap) => {
                let bytes = if metric == Metric::PeakHeap { heap.peak } else { heap.retained };
                let counter = "allocator, all threads".to_owned();
                readings.insert(metric, Reading { bytes, source: Source::Exact, counter });
            }
            Err(reason) => {
                unavailable.insert(metric, reason.clone());
            }
        }
    }
    PhaseReadings {
        phase: "test".to_owned(),
        wall_ns: 0,
        readings,
        unavailable,
        processes: Vec::new(),
        timeline: Vec::new(),
        at_start: None,
        at_peak: None,
        at_end: None,
        activity: Activity::default(),
        mappings: Vec::new(),
    }
}
