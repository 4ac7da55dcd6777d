//! The end of a command: its cause by the last output, if the exit status alone does not show that memory was the
//! reason, and the event that the end itself is.

use super::advice::{Known, advice};
use super::analysis::Analysis;
use super::findings::{Event, Evidence, Numbers};
use super::verdict::{Kind, Verdict};
use plimsoll_memory::command::{EndCause, ProcessEnd, SlurmStep};

/// Longer lines are cut to this many bytes.
const MAX_LINE: usize = 300;

/// The cause of `end` according to the command's last output on stderr: the memory of a device, or the memory limit of
/// a Slurm job. `None` if the end needs no explanation or the text has none.
///
/// ```
/// use plimsoll_memory::command::{EndCause, ProcessEnd};
/// use plimsoll_diagnose::cause_by_text;
///
/// let end = ProcessEnd { exit_code: Some(1), signal: None, cause: EndCause::Exited };
/// let said = b"Traceback (most recent call last):\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n";
/// assert!(matches!(cause_by_text(&end, said), Some(EndCause::DeviceOutOfMemory { .. })));
/// assert_eq!(cause_by_text(&end, b"Traceback (most recent call last):\nValueError: 3\n"), None);
/// ```
pub fn cause_by_text(end: &ProcessEnd, said: &[u8]) -> Option<EndCause> {
    let failed = match end.cause {
        EndCause::Exited => !end.success(),
        EndCause::Signal => true,
        _ => false,
    };
    if !failed || said.is_empty() {
        return None;
    }
    let mut analysis = Analysis::default();
    analysis.begin("standard error");
    analysis.push(said);
    analysis.end();
    let events = analysis.findings(None).events;
    let device = || {
        let event = events.iter().rfind(|event| event.kind == Kind::VramOom)?;
        Some(EndCause::DeviceOutOfMemory { evidence: evidence(event) })
    };
    let slurm = || {
        let of_slurm = |event: &&Event| event.kind == Kind::CgroupOom && event.backend.as_deref() == Some("slurm");
        let event = events.iter().rfind(of_slurm)?;
        let step = SlurmStep { job: event.job.clone()?, step: None };
        Some(EndCause::SlurmOomKill { step, evidence: evidence(event) })
    };
    // A kill ended the program: an earlier message about memory, which it may have survived, is not the reason.
    if end.signal.as_ref().is_some_and(|signal| signal.number == libc::SIGKILL) {
        slurm()
    } else {
        device().or_else(slurm)
    }
}

/// The event that `end` itself is: a kill by the kernel for lack of memory, or by an unknown sender. `None` if the end
/// has nothing to do with memory. `file` names the input that reports the end; `numbers` are known figures of the
/// command's memory.
pub fn event_of_end(end: &ProcessEnd, file: &str, numbers: Numbers) -> Option<Event> {
    /// The exit code of a shell whose command was ended by SIGKILL.
    const KILLED: i32 = 128 + libc::SIGKILL;
    let killed = end.signal.as_ref().is_some_and(|signal| signal.number == libc::SIGKILL);
    let (kind, verdict, backend, told) = match &end.cause {
        EndCause::CgroupOomKill { evidence } => (Kind::CgroupOom, Verdict::CgroupKill, Some("linux"), &evidence[..]),
        EndCause::SlurmOomKill { evidence, .. } => (Kind::CgroupOom, Verdict::CgroupKill, Some("slurm"), &evidence[..]),
        EndCause::KernelOomKill { evidence } => (Kind::HostOom, Verdict::HostKill, Some("linux"), &evidence[..]),
        EndCause::Signal if killed => (Kind::SigkillUnattributed, Verdict::SigkillUnattributed, None, &[][..]),
        EndCause::Exited if end.exit_code == Some(KILLED) => {
            (Kind::SigkillUnattributed, Verdict::SigkillUnattributed, None, &[][..])
        }
        _ => return None,
    };
    let job = match &end.cause {
        EndCause::SlurmOomKill { step, .. } => Some(step.job.clone()),
        _ => None,
    };
    // The machine's memory does not explain a kill at a lower limit.
    let numbers = match kind {
        Kind::CgroupOom => Numbers { capacity: None, ..numbers },
        Kind::HostOom => Numbers { allowed: None, ..numbers },
        _ => Numbers { capacity: None, allowed: None, ..numbers },
    };
    let held = numbers.this_process.map_or_else(String::new, |held| format!(" It held {held} at its peak."));
    let line = |text: &String| Evidence { file: file.to_owned(), line: 1, offset: 0, text: text.clone() };
    let mut event = Event {
        kind,
        backend: backend.map(str::to_owned),
        verdict,
        software: None,
        also: Vec::new(),
        numbers,
        evidence: told.iter().map(line).collect(),
        occurrences: 1,
        rank: None,
        pid: None,
        job,
        device: None,
        host: None,
        victim: None,
        advice: Vec::new(),
        explanation: format!("The command {end}.{held}"),
    };
    event.advice = advice(&event, Known::default());
    Some(event)
}

fn evidence(event: &Event) -> Vec<String> {
    let lines = event.evidence.iter().take(1);
    lines
        .map(|line| format!("standard error: {}", line.text.trim().chars().take(MAX_LINE).collect::<String>()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_memory::ByteSize;
    use plimsoll_memory::command::Signal;

    const CUDA: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB \
                        of which 1.20 GiB is free.\n";
    const SLURM: &str =
        "slurmstepd: error: Detected 1 oom_kill event in StepId=4242.0. Some of the step tasks have been OOM Killed.\n";

    fn exited(code: i32) -> ProcessEnd {
        ProcessEnd { exit_code: Some(code), signal: None, cause: EndCause::Exited }
    }

    fn killed(number: i32) -> ProcessEnd {
        ProcessEnd { exit_code: None, signal: Some(Signal::new(number)), cause: EndCause::Signal }
    }

    #[test]
    fn a_device_that_is_full_is_told_from_the_traceback() {
        let text = format!("step 3\nTraceback (most recent call last):\n{CUDA}");
        let end = ProcessEnd { cause: cause_by_text(&exited(1), text.as_bytes()).unwrap(), ..exited(1) };
        let shown = end.to_string();
        let start = "exited with code 1, because the memory of a device was exhausted (standard error: torch.OutOfMemoryError: CUDA";
        assert!(shown.starts_with(start), "{shown}");
        assert!(cause_by_text(&killed(libc::SIGABRT), text.as_bytes()).is_some());
        // One program survived the error, and another was killed by something else.
        assert_eq!(cause_by_text(&exited(0), text.as_bytes()), None);
        assert_eq!(cause_by_text(&killed(libc::SIGKILL), text.as_bytes()), None);
    }

    #[test]
    fn slurm_tells_of_its_kill() {
        let Some(EndCause::SlurmOomKill { step, evidence }) = cause_by_text(&killed(libc::SIGKILL), SLURM.as_bytes())
        else {
            panic!("it is not told")
        };
        assert_eq!((step.to_string().as_str(), evidence.len()), ("Slurm job 4242", 1));
        assert!(cause_by_text(&exited(137), SLURM.as_bytes()).is_some());
    }

    #[test]
    fn a_kill_is_an_event_with_what_is_known_of_the_memory() {
        let numbers = Numbers {
            this_process: Some(ByteSize::mib(95)),
            allowed: Some(ByteSize::mib(96)),
            capacity: Some(ByteSize::gib(8)),
            ..Numbers::default()
        };
        let evidence = || vec!["oom_kill of the control group /a rose by 1".to_owned()];
        let of = |cause, end: ProcessEnd| event_of_end(&ProcessEnd { cause, ..end }, "run.json", numbers);
        let group = of(EndCause::CgroupOomKill { evidence: evidence() }, killed(libc::SIGKILL)).unwrap();
        assert_eq!((group.kind, group.verdict), (Kind::CgroupOom, Verdict::CgroupKill));
        assert_eq!((group.numbers.allowed, group.numbers.capacity), (numbers.allowed, None));
        assert!(group.explanation.contains("It held 95.00 MiB at its peak") && !group.advice.is_empty(), "{group:?}");
        let host = of(EndCause::KernelOomKill { evidence: evidence() }, killed(libc::SIGKILL)).unwrap();
        assert_eq!((host.kind, host.numbers.capacity), (Kind::HostOom, numbers.capacity));
        for end in [killed(libc::SIGKILL), exited(137)] {
            assert_eq!(of(end.cause.clone(), end).unwrap().kind, Kind::SigkillUnattributed);
        }
        for end in [exited(0), exited(1), killed(libc::SIGTERM)] {
            assert_eq!(of(end.cause.clone(), end), None);
        }
        assert_eq!(of(EndCause::Timeout { limit_ns: 1 }, killed(libc::SIGKILL)), None);
    }

    #[test]
    fn what_was_found_out_already_stays() {
        let end = ProcessEnd { cause: EndCause::Cancelled, ..killed(libc::SIGKILL) };
        assert_eq!(cause_by_text(&end, SLURM.as_bytes()), None);
        assert_eq!(cause_by_text(&exited(1), b"\xff\x00 no text"), None);
    }
}
