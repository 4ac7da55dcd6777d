//! The end of a worker as a typed [`Failure`].

use std::os::unix::process::ExitStatusExt;

use plimsoll::command::Signal;
use plimsoll::meter::OomKills;
use plimsoll::record::{Failure, FailureKind};
use signal_hook::consts::SIGKILL;

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
    let output = end.output.trim();
    Failure {
        kind,
        message,
        detail: None,
        signal: own_signal,
        exit_code,
        evidence: evidence.into_iter().collect(),
        stderr: (!output.is_empty()).then(|| output.to_owned()),
    }
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
