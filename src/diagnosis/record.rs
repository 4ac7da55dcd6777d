//! A Plimsoll record as input: its failures that concern memory.

use std::fmt::Write;

use crate::record::{Failure, FailureKind, Record};
use plimsoll_diagnose::{Dismissal, Event, Evidence, Kind, Numbers, Verdict, event_of_end};
use plimsoll_memory::ceiling::{CeilingStatus, CeilingVerdict};
use plimsoll_memory::command::EndCause;
use plimsoll_memory::meter::{Metric, worst_reading};

/// The end of the command or test of `record` as an event, if it was a kill.
pub(super) fn end(name: &str, record: &Record) -> Option<Event> {
    let system = record.environment.system.as_ref();
    let numbers = Numbers {
        this_process: worst_reading(&record.phases, Metric::PeakRss).map(|(_, reading)| reading.bytes),
        capacity: system.map(|system| system.memory),
        allowed: system.and_then(|system| system.cgroup?.memory),
        ..Numbers::default()
    };
    event_of_end(record.end.as_ref()?, name, numbers)
}

/// The end of a command that failed for a reason that is not in `record`.
pub(super) fn unexplained(name: &str, record: &Record) -> Option<Dismissal> {
    let end = record.end.as_ref().filter(|end| end.cause == EndCause::Exited && !end.success())?;
    Some(Dismissal {
        reason: "why it failed is not in the record: run it with `plimsoll run --diagnose`, or diagnose its log"
            .to_owned(),
        evidence: Evidence { file: name.to_owned(), line: 1, offset: 0, text: format!("the command {end}") },
    })
}

/// The broken ceilings of `record`, as events. A ceiling is a limit that someone set on the process: exceeding it is
/// not an out-of-memory error.
pub(super) fn ceilings(name: &str, record: &Record) -> Vec<Event> {
    let verdicts = record.verdicts.iter().enumerate();
    let broken = verdicts.filter_map(|(at, verdict)| Some((at, verdict.ceiling.as_ref()?)));
    broken.filter(|(_, ceiling)| ceiling.status == CeilingStatus::Broken).map(|(at, it)| broke(name, at, it)).collect()
}

fn broke(name: &str, at: usize, ceiling: &CeilingVerdict) -> Event {
    Event {
        kind: Kind::Report,
        backend: None,
        software: None,
        verdict: Verdict::ProcessCap,
        also: Vec::new(),
        numbers: Numbers {
            this_process: ceiling.reading.as_ref().map(|reading| reading.bytes),
            allowed: Some(ceiling.limit),
            ..Numbers::default()
        },
        evidence: vec![Evidence {
            file: name.to_owned(),
            line: at as u64 + 1,
            offset: 0,
            text: ceiling.message.clone(),
        }],
        occurrences: 1,
        rank: None,
        pid: ceiling.process.as_ref().map(|process| u64::from(process.pid)),
        job: None,
        device: None,
        host: None,
        victim: ceiling.process.as_ref().map(|process| process.name.clone()),
        advice: Vec::new(),
        explanation: format!("A ceiling that was set was broken, and nothing ran out: {}.", ceiling.message),
    }
}

/// The failures of `record` as text, one message per line: a kernel's output there is as informative as in a log.
///
/// A failure of known kind but without words is described in words that are recognised.
pub(super) fn text(record: &Record) -> String {
    let mut text = String::new();
    if let Some(EndCause::DeviceOutOfMemory { evidence }) = record.end.as_ref().map(|end| &end.cause) {
        for line in evidence {
            // The place of the line is not a part of it.
            let _ = writeln!(text, "{}", line.split_once(": ").map_or(line.as_str(), |(_, line)| line));
        }
    }
    for result in &record.results.entries {
        let profile = result.profile.as_ref().and_then(|profile| profile.error.as_ref());
        let validation = result.validation.as_ref().and_then(|validation| validation.error.as_ref());
        for failure in validation.into_iter().chain(profile) {
            failed(failure, &mut text);
        }
    }
    text
}

fn failed(failure: &Failure, text: &mut String) {
    let words = [&failure.detail, &failure.stderr].into_iter().flatten().map(String::as_str);
    let own = [failure.message.as_str()].into_iter().chain(words).chain(failure.evidence.iter().map(String::as_str));
    let sender = match failure.kind {
        // The supervisor saw the counter of the control group rise, which is proof.
        FailureKind::OomKill => "Reason: OOMKilled",
        FailureKind::DeviceOom => "RuntimeError: CUDA out of memory.",
        FailureKind::HostOom => "MemoryError",
        FailureKind::Signal if failure.signal == Some(9) => "Killed",
        FailureKind::Exception | FailureKind::Exit | FailureKind::Signal => "",
        _ => return,
    };
    for words in own {
        let _ = writeln!(text, "{words}");
    }
    if !sender.is_empty() {
        let _ = writeln!(text, "{sender}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample;
    use plimsoll_diagnose::{Analysis, Kind};

    #[test]
    fn failures_of_memory_are_events_and_others_are_not() {
        for (kind, message, expected) in [
            (FailureKind::DeviceOom, "the kernel could not get device memory", Some(Kind::VramOom)),
            (FailureKind::HostOom, "the kernel could not get host memory", Some(Kind::HostAllocFail)),
            (FailureKind::OomKill, "the worker was killed", Some(Kind::CgroupOom)),
            (FailureKind::Timeout, "the launch took longer than 60 s, and the worker was killed", None),
            (FailureKind::Exception, "ValueError: shapes differ", None),
        ] {
            let mut record = sample::record();
            record.results.entries[0].validation.as_mut().unwrap().error = Some(Box::new(Failure::new(kind, message)));
            let mut analysis = Analysis::default();
            analysis.begin("record.json");
            analysis.push(text(&record).as_bytes());
            analysis.end();
            let found = analysis.findings(None);
            assert_eq!(found.events.first().map(|event| event.kind), expected, "{kind:?}");
        }
    }
}
