//! Entries that failed in every way.

use super::*;

/// A run in which each entry failed in another way, the last one was not reached, and a ceiling broke.
pub(crate) fn failing() -> Record {
    let mut record = record();
    let kinds = FailureKind::ALL;
    capture(&mut record).entries = (0..kinds.len() + 4).map(entry).collect();
    record.semantics_digest = record.semantics.digest();
    let mut results: Vec<EntryResult> = (0..kinds.len() + 4).map(result).collect();
    for (result, kind) in results.iter_mut().zip(kinds) {
        let mut failure = Failure::new(kind, message_of(kind));
        failure.signal = (kind == FailureKind::Signal).then_some(11);
        failure.exit_code = (kind == FailureKind::Exit).then_some(3);
        if kind == FailureKind::OomKill {
            failure.evidence.push("memory.events: oom_kill 0 -> 1".to_owned());
        }
        if kind == FailureKind::Exception {
            failure.detail = Some("Traceback (most recent call last):\n  File \"k.py\", line 3, in launch".to_owned());
            failure.stderr = Some("k.py: about to divide\n".to_owned());
        }
        result.validation = Some(Validation { worker: Some(1), ..Validation::failed(failure.clone()) });
        result.profile = None;
    }
    let count = kinds.len();
    let blind = Blindness { zeros: true, nan: false, previous: Some(true), ..Blindness::default() };
    results[count].validation = Some(Validation::compared(vec![mismatching(count)], Some(Blindness::default())));
    let mut wrong_shape = matching(count + 1);
    wrong_shape.passed = false;
    wrong_shape.problem = Some("expected bfloat16 [1, 7, 192], got bfloat16 [7, 192]".to_owned());
    wrong_shape.elements = None;
    results[count + 1].validation = Some(Validation::compared(vec![wrong_shape], None));
    results[count + 2].validation = Some(Validation::compared(vec![matching(count + 2)], Some(blind)));
    results[count + 2].profile = Some(Profile::failed(Failure::new(FailureKind::DeviceOom, "tried to get 2.00 GiB")));
    results[count + 3].validation = Some(Validation::not_run("interrupted before it was launched"));
    results[count + 3].profile = Some(Profile::not_run("interrupted before it was launched"));
    record.results = Results { entries: results.into(), timing: None, versus: None };
    record.state = RunState::Interrupted;
    record.releases[0].proof.recovered = Some(false);
    for phase in &mut record.phases {
        phase.readings.remove(&Metric::PeakPss);
        phase.unavailable.insert(Metric::PeakPss, "/proc/4242/smaps_rollup: Permission denied".to_owned());
    }
    let counts = "1 of 19 entries match, 2 do not, 15 failed, 1 was not run";
    record.verdicts = verdicts(
        [
            Verdict::new("validation", VerdictStatus::Fail, counts),
            Verdict::new("profile", VerdictStatus::Inconclusive, "interrupted"),
        ],
        &record.phases,
        "peak_rss = 768 MiB, peak_pss = 768 MiB",
    );
    record.exit_code = exit_code(&record.verdicts);
    record
}

fn message_of(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Timeout => "no answer within 1m; worker 1 was killed",
        FailureKind::Signal => "worker 1 was killed by SIGSEGV",
        FailureKind::Exit => "worker 1 exited with code 3 before it answered",
        FailureKind::Exception => "ZeroDivisionError: division by zero",
        FailureKind::HostOom => "cannot allocate 64.00 GiB",
        FailureKind::DeviceOom => "CUDA out of memory: tried to allocate 2.00 GiB",
        FailureKind::DeviceFault => {
            "the kernel failed on the device (CUDA_ERROR_ILLEGAL_ADDRESS), seen at cuEventSynchronize"
        }
        FailureKind::OomKill => {
            "the kernel's out-of-memory killer took worker 1: it needed more memory than its limit or the machine has"
        }
        FailureKind::Ceiling => "peak_rss <= 768.00 MiB broke in phase profile: 801.25 MiB; worker 1 was killed",
        FailureKind::MutatedInput => {
            "the kernel wrote to its input `weight`: if it is meant to, declare it with --mutates weight"
        }
        FailureKind::StaleOutput => {
            "the output is that of entry_000009.pt, which was launched before with arguments at the same addresses: the \
             kernel returns a result that it kept"
        }
        FailureKind::LateWrite => {
            "the output changed after the launch had returned: another thread of the kernel writes to it"
        }
        FailureKind::NotATensor => "the kernel returned an object of type `kernel.Lazy`",
        FailureKind::UnwrittenOutput => {
            "the output of a timed launch still holds the fill of its memory (16 of 16 elements differ): the kernel did \
             not write it; write every element in every launch"
        }
        FailureKind::TimeMismatch => {
            "the worker reported 1ms for 50 launches, but the supervisor's clock measured 9ms, of which Plimsoll used at \
             most 10us; 64 regions did not fit: the kernel changes the clock, or the times that it reports"
        }
        FailureKind::Tampered => {
            "worker 1 sent an answer without a request: the kernel writes to the channel of its worker, so that no \
             answer can be trusted"
        }
        FailureKind::Unsupported => "padding_idx is not supported",
        FailureKind::Input => "entry_000009.pt was truncated during the run",
        FailureKind::ChannelClosed => {
            "worker 1 still runs but closed its channel: the kernel may close descriptors that it did not open"
        }
        FailureKind::Cancelled => "the run was cancelled; worker 1 was killed",
    }
}
