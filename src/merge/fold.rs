//! [`Fold`]: combines the parts of a record.

use std::time::{Duration, SystemTime};

use crate::record::{Environment, Part, Policy, Verdict, VerdictStatus};
use crate::run::verdicts::Ended;
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::command::ProcessEnd;
use plimsoll_memory::meter::{Metric, PhaseReadings, worst_reading};

/// The combined parts so far, in their order.
#[derive(Default)]
pub(super) struct Fold {
    pub parts: usize,
    /// Taken from the first part.
    pub first: Option<(Vec<String>, Policy, Environment)>,
    pub started: Option<SystemTime>,
    pub ended: Option<SystemTime>,
    /// The phases of the part with the largest resident memory, and that memory.
    pub phases: Vec<PhaseReadings>,
    largest: Option<ByteSize>,
    /// The end of the first process that failed, else of the largest, and the exit code of the former.
    pub end: Option<ProcessEnd>,
    pub failed: Option<u8>,
    /// The workers of all parts.
    pub ended_workers: Ended,
    /// The worst verdict on each subject, with its part.
    worst: Vec<(Verdict, String)>,
}

impl Fold {
    pub fn add(&mut self, part: Part) {
        self.parts += 1;
        let started = humantime::parse_rfc3339(&part.started).unwrap_or(SystemTime::UNIX_EPOCH);
        let ended = started.checked_add(Duration::from_nanos(part.wall_ns)).unwrap_or(started);
        self.started = Some(self.started.map_or(started, |before| before.min(started)));
        self.ended = Some(self.ended.map_or(ended, |before| before.max(ended)));
        let name = part.name();
        for verdict in part.verdicts {
            self.judge(verdict, &name, part.end.as_ref());
        }
        let peak = worst_reading(&part.phases, Metric::PeakRss).map(|(_, reading)| reading.bytes);
        let largest = self.parts == 1 || peak > self.largest;
        let failed = part.end.as_ref().is_some_and(|end| !end.success());
        if failed && self.failed.is_none() {
            self.failed = Some(part.exit_code);
            self.end.clone_from(&part.end);
        }
        if largest {
            self.largest = peak;
            self.phases = part.phases;
            if self.failed.is_none() {
                self.end = part.end;
            }
        }
        part.releases.iter().for_each(|release| self.ended_workers.add(release));
        if self.first.is_none() {
            let mut policy = part.policy;
            if let Policy::Capture(policy) = &mut policy
                && let Some(batching) = &mut policy.batching
            {
                // These verdicts concern the part's own entries.
                batching.batches.clear();
            }
            self.first = Some((part.command, policy, part.environment));
        }
    }

    fn judge(&mut self, verdict: Verdict, part: &str, end: Option<&ProcessEnd>) {
        let Some((worst, of)) = self.worst.iter_mut().find(|(worst, _)| worst.subject == verdict.subject) else {
            self.worst.push((verdict, part.to_owned()));
            return;
        };
        let failed = verdict.subject == "command" && self.failed.is_none() && end.is_some_and(|end| !end.success());
        let worse = match (rank(&verdict).cmp(&rank(worst)), &verdict.ceiling, &worst.ceiling) {
            (std::cmp::Ordering::Equal, Some(ceiling), Some(before)) => ceiling.is_worse_than(before),
            (std::cmp::Ordering::Equal, ..) => failed,
            (order, ..) => order.is_gt(),
        };
        if worse {
            (*worst, *of) = (verdict, part.to_owned());
        }
    }

    /// The worst verdict on each subject, except subjects that are `judged` anew.
    pub fn verdicts(&mut self, judged: &[Verdict]) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        for (mut verdict, part) in self.worst.drain(..) {
            let again = |subject: &str| judged.iter().any(|judged| judged.subject == subject);
            if again(&verdict.subject) || verdict.subject == UNFINISHED {
                continue;
            }
            if self.parts > 1
                && (verdict.ceiling.is_some() || verdict.status != VerdictStatus::Pass || self.failed.is_some())
            {
                verdict.message += &format!("; {part} was the worst by it");
            }
            verdicts.push(verdict);
        }
        verdicts
    }
}

/// The subject of the verdict on an unfinished run. Whether anything is missing is judged anew.
const UNFINISHED: &str = "run";

const fn rank(verdict: &Verdict) -> u8 {
    match verdict.status {
        VerdictStatus::Pass => 0,
        VerdictStatus::Inconclusive => 1,
        VerdictStatus::NotMeasurable => 2,
        VerdictStatus::Fail => 3,
    }
}
