//! The end of a worker as a typed [`Failure`].

use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use plimsoll::command::Signal;
use plimsoll::meter::OomKills;
use plimsoll::record::{Failure, FailureKind};
use signal_hook::consts::SIGKILL;

use super::loading::Stuck;
use super::process::{Cause, End};
use crate::protocol::Reason;

/// The failure of the current entry when a worker ends by `end`. `oom_kills` is how many processes the kernel's OOM
/// killer took while the worker lived; absent if that could not be read.
pub fn failure(end: &End, oom_kills: Option<u64>) -> Failure {
    let pid = end.pid;
    let (kind, message) = match &end.cause {
        Cause::TimedOut(limit) => (
            FailureKind::Timeout,
            format!("no answer within {}; worker {pid} was killed", humantime::format_duration(*limit)),
        ),
        Cause::Stopped => (
            FailureKind::Timeout,
            format!(
                "worker {pid} was stopped (SIGSTOP) and did not go on, so it was killed: the kernel may stop its own process"
            ),
        ),
        Cause::NotLoaded(stuck) => (FailureKind::Timeout, not_loaded(*stuck, pid, &end.output)),
        Cause::Cancelled => (FailureKind::Cancelled, format!("the run was cancelled; worker {pid} was killed")),
        Cause::Breached(breach) => (FailureKind::Ceiling, format!("{breach}; worker {pid} was killed")),
        Cause::Refused(reply) => {
            (FailureKind::ChannelClosed, bounded(format!("worker {pid} broke the protocol: it sent {reply:?}")))
        }
        Cause::Protocol(what) => {
            (FailureKind::ChannelClosed, bounded(format!("worker {pid} broke the protocol: it sent {what}")))
        }
        Cause::Unasked => (
            FailureKind::Tampered,
            format!(
                "worker {pid} sent an answer without a request: the kernel writes to the channel of its worker, so \
                 that no answer can be trusted"
            ),
        ),
        Cause::Ahead => (
            FailureKind::Tampered,
            format!(
                "worker {pid} asked for the values of another launch than the next one: the kernel works ahead of its \
                 launches, so that no time can be trusted"
            ),
        ),
        Cause::Late(what) => (
            FailureKind::Tampered,
            format!("worker {pid} sent {what}: the kernel answers in its place, so that no time can be trusted"),
        ),
        Cause::ChannelClosed => (
            FailureKind::ChannelClosed,
            format!(
                "worker {pid} still runs but closed its channel: the kernel may close descriptors that it did not open"
            ),
        ),
        Cause::Died => died(end, oom_kills),
    };
    let own_signal = matches!(end.cause, Cause::Died).then(|| end.status.signal()).flatten();
    let exit_code = matches!(end.cause, Cause::Died).then(|| end.status.code()).flatten();
    let evidence = oom_kills.filter(|&n| n > 0).map(|n| format!("{} rose by {n}", OomKills::COUNTER));
    let output = last_call_last(end.output.trim());
    Failure {
        kind,
        message,
        detail: None,
        signal: own_signal,
        exit_code,
        evidence: evidence.into_iter().collect(),
        stderr: (!output.is_empty()).then_some(output),
    }
}

/// What happened to a load, and what to do. Of its output, what the worker itself says counts.
fn not_loaded(stuck: Stuck, pid: u32, output: &str) -> String {
    let long = |limit: Duration| humantime::format_duration(limit);
    let waits = output.lines().rev().find_map(|line| line.strip_prefix(WAITS));
    match (stuck, waits) {
        (Stuck::Idle(limit), Some(lock)) => bounded(format!(
            "the kernel did not load: worker {pid} waited {} for the lock {lock} of a build, which no process here \
             holds, and was killed; remove the file if nothing else builds there",
            long(limit)
        )),
        (Stuck::Idle(limit), None) => format!(
            "the kernel did not load: worker {pid} computed, read and compiled nothing for {}, and was killed; look for \
             what its file waits for when it is imported (a lock, a network, another process), or allow a longer wait \
             with --timeout",
            long(limit)
        ),
        (Stuck::Computing(limit), _) => format!(
            "the kernel did not load: worker {pid} computed for {} without reading or compiling anything, and was \
             killed; look for an endless loop in what its file does when it is imported, or allow more with --timeout",
            long(limit)
        ),
        (Stuck::Long(limit), _) => format!(
            "the kernel did not load within {}, and worker {pid} was killed; build it before the run, or allow more \
             with --timeout",
            long(limit)
        ),
    }
}

/// What the Python worker says while it waits for a lock that nobody holds.
const WAITS: &str = "plimsoll worker: nobody here holds the lock ";
/// The heads of Python's lists of calls when a signal asks for them, and when an exception does.
const FIRST: &str = "(most recent call first):";
const LAST: &str = "(most recent call last):";

/// `output`, in which lists of Python's calls are in the order of a traceback, without the worker's own.
fn last_call_last(output: &str) -> String {
    let is_call = |line: &&str| line.starts_with("  File ");
    let (mut lines, mut rest) = (Vec::new(), output.lines().peekable());
    while let Some(line) = rest.next() {
        let Some(head) = line.strip_suffix(FIRST) else {
            lines.push(line.to_owned());
            continue;
        };
        let calls: Vec<_> = std::iter::from_fn(|| rest.next_if(is_call)).collect();
        let own = |line: &&&str| line.starts_with("  File \"<plimsoll>/") || line.starts_with("  File \"<string>\"");
        let calls: Vec<_> = calls.iter().filter(|line| !own(line)).rev().map(|line| (*line).to_owned()).collect();
        if !calls.is_empty() {
            lines.push(format!("{head}{LAST}"));
            lines.extend(calls);
        }
    }
    lines.join("\n")
}

fn died(end: &End, oom_kills: Option<u64>) -> (FailureKind, String) {
    let pid = end.pid;
    let Some(signal) = end.status.signal() else {
        let code = end.status.code().unwrap_or_default();
        return (FailureKind::Exit, format!("worker {pid} exited with code {code} before it answered"));
    };
    let signal = Signal::new(signal);
    match (signal.number, oom_kills) {
        (SIGKILL, Some(1..)) => (
            FailureKind::OomKill,
            format!(
                "the kernel's out-of-memory killer took worker {pid}: it needed more memory than its limit or the machine has"
            ),
        ),
        (SIGKILL, _) => (FailureKind::Signal, format!("worker {pid} was killed by {signal}, sender not shown")),
        _ => (FailureKind::Signal, format!("worker {pid} was killed by {signal}")),
    }
}

/// The kind of failure that a worker reports. If a later worker reports that something is unavailable, the machine has
/// lost it since the first worker.
pub fn reported(reason: Reason, message: String, detail: Option<String>) -> Failure {
    let kind = reason.failure();
    let (message, detail) = (bounded(message), detail.map(bounded));
    Failure { kind, message, detail, signal: None, exit_code: None, evidence: Vec::new(), stderr: None }
}

/// How much of a worker's standard error is kept, in bytes: a record must not hold text of unlimited length.
const LONGEST_STDERR: usize = 64 << 10;

/// The front of a long text.
fn bounded(mut text: String) -> String {
    if text.len() > LONGEST_STDERR {
        let end = (0..=LONGEST_STDERR).rev().find(|&end| text.is_char_boundary(end)).unwrap_or_default();
        text.truncate(end);
        text.push_str(" [the rest left out]");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_listed_as_in_a_traceback_and_those_of_the_worker_are_not() {
        let output = "said\nThread 0x01 [poll] (most recent call first):\n  File \"<plimsoll>/plimsoll_live.py\", line 9 in x\n\
            Current thread 0x02 (most recent call first):\n  File \"/k.py\", line 3 in load\n  File \"/k.py\", line 4 in <module>\n  \
            File \"<plimsoll>/plimsoll_torch.py\", line 486 in load_kernel\n  File \"<string>\", line 1 in <module>\nmore";
        let expected = "said\nCurrent thread 0x02 (most recent call last):\n  File \"/k.py\", line 4 in <module>\n  \
            File \"/k.py\", line 3 in load\nmore";
        assert_eq!(last_call_last(output), expected);
    }

    #[test]
    fn a_load_that_waits_for_a_lock_names_it() {
        let idle = Stuck::Idle(Duration::from_secs(60));
        assert!(not_loaded(idle, 7, "said\n").contains("with --timeout"));
        let output = format!("said\n{WAITS}/b/lock\n");
        assert!(not_loaded(idle, 7, &output).contains("waited 1m for the lock /b/lock of a build"));
        assert!(!not_loaded(Stuck::Long(Duration::from_secs(600)), 7, &output).contains("/b/lock"));
    }

    #[test]
    fn a_message_of_any_length_is_cut() {
        let long = format!("x{}", "é".repeat(1 << 20));
        let failure = reported(FailureKind::Exception.into(), long.clone(), Some(long));
        for text in [Some(failure.message), failure.detail] {
            let text = text.unwrap();
            assert!(text.len() < LONGEST_STDERR + 30 && text.ends_with("é [the rest left out]"), "{}", text.len());
        }
        let short = reported(FailureKind::Exception.into(), "short".to_owned(), None);
        assert_eq!((&*short.message, short.detail), ("short", None));
    }
}
