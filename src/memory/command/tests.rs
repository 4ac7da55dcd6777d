//! Tests with commands of known behaviour under the meter.

use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::*;
use crate::bytes::ByteSize;
use crate::ceiling::CeilingStatus;
use crate::meter::{Meter, MeterOptions, Metric, ProcessMemory, Source};

fn shell(script: &str) -> Metered {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdin(Stdio::null());
    Metered::new(command)
}

fn run(metered: Metered) -> Ended {
    metered.spawn().unwrap().wait().unwrap()
}

/// `dd` fills one buffer of this size, once.
fn dd(mib: u64) -> Command {
    let mut command = Command::new("dd");
    command.args(["if=/dev/zero", "of=/dev/null", "count=1", &format!("bs={mib}M")]).stderr(Stdio::null());
    command
}

#[test]
fn an_exit_is_reported_by_its_code() {
    let ended = run(shell("exit 7"));
    assert_eq!((ended.end.exit_code, &ended.end.cause), (Some(7), &EndCause::Exited));
    assert_eq!((ended.end.to_string().as_str(), ended.end.shell_exit_code()), ("exited with code 7", 7));
    assert!(!ended.end.success() && run(shell("true")).end.success());
}

#[test]
fn a_signal_is_reported_by_its_name() {
    let ended = run(shell("kill -SEGV $$"));
    assert_eq!(ended.end.signal, Some(Signal::new(libc::SIGSEGV)));
    assert_eq!(ended.end.cause, EndCause::Signal);
    assert_eq!(ended.end.to_string(), "was killed by SIGSEGV (signal 11)");
    assert_eq!(ended.end.shell_exit_code(), 139);
}

#[test]
fn a_program_that_is_not_there_is_no_end_but_an_error() {
    let error = |program: &str| Metered::new(Command::new(program)).spawn().unwrap_err();
    let missing = error("plimsoll-no-such-program");
    assert_eq!(missing.shell_exit_code(), Some(127), "{missing}");
    assert!(missing.to_string().starts_with("cannot start `plimsoll-no-such-program`: No such file"), "{missing}");
    let folder = error("/tmp");
    assert_eq!(folder.shell_exit_code(), Some(126), "{folder}");
}

#[test]
fn a_command_killed_before_it_begins_is_reported_by_the_signal() {
    use std::os::unix::process::CommandExt;
    let is_killed = |error: CommandError| {
        assert!(matches!(error, CommandError::Killed { signal: Signal { number: 9, .. }, .. }), "{error}");
        assert_eq!(error.shell_exit_code(), Some(137));
    };
    let mut command = Command::new("true");
    // SAFETY: between fork and exec it makes one system call.
    unsafe {
        command.pre_exec(|| {
            libc::raise(libc::SIGKILL);
            Ok(())
        })
    };
    is_killed(Metered::new(command).spawn().map(drop).unwrap_err());
    // Called at its latch, when everything is prepared.
    let kill = |pid: u32| -> Result<(), CommandError> {
        let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        // The state that `prepare` needs cannot be read once the child has ended.
        loop {
            ProcessMemory::read(pid.as_raw_nonzero().get().unsigned_abs())?;
        }
    };
    is_killed(
        super::start_latch::start(Command::new("true"), super::start_latch::Birth::default(), kill, |()| ())
            .map(drop)
            .unwrap_err(),
    );
}

#[test]
fn the_peak_of_one_process_is_exact_to_its_end_however_fast_it_is() {
    let base = run(Metered::new(dd(1))).phases.remove(0).readings[&Metric::PeakRss].bytes;
    // The meter samples once a minute, so the reading is what the kernel kept.
    let ended = run(Metered::new(dd(48)).sample_interval(Duration::from_secs(60)));
    let peak = &ended.phases[0].readings[&Metric::PeakRss];
    // A mark below what the child inherited from this process, including other tests, proves nothing.
    let inherited = ProcessMemory::read(std::process::id()).unwrap().peak_rss.unwrap();
    if inherited > ByteSize::mib(48) && peak.source == Source::LowerBound {
        return;
    }
    assert_eq!(peak.source, Source::Exact, "{peak:?}");
    // The base may be a sample from before it had its MiB.
    let above = peak.bytes.saturating_sub(base).bytes();
    // With pages of 16 KiB, processors hold back more than 1 MiB.
    let late = peak.held_back.unwrap_or_default().saturating_sub(ByteSize::mib(1)).bytes();
    assert!((46 << 20..51 << 20).contains(&(above + late)), "{peak:?}, and {base} with 1 MiB");
    assert_eq!(ended.phases[0].processes[0].peak_rss.bytes, peak.bytes);
}

#[test]
fn a_small_child_of_a_large_parent_is_not_taken_for_large() {
    let large = vec![1u8; 64 << 20];
    let peak =
        run(shell("true").sample_interval(Duration::from_secs(60))).phases.remove(0).readings.remove(&Metric::PeakRss);
    assert!(large.iter().step_by(4096).all(|&byte| byte == 1));
    // Too fast for a sample, and its mark hidden below what it inherited: only the kernel's report at its exit is exact.
    if let Some(peak) = peak {
        assert!(peak.bytes < ByteSize::mib(16), "{peak:?}");
        assert_eq!(peak.source == Source::Exact, peak.bytes > ByteSize::new(256 << 10), "{peak:?}");
    }
}

#[test]
fn the_shortest_program_is_looked_at_before_it_begins() {
    for _ in 0..20 {
        let ended = run(Metered::new(Command::new("true")).sample_interval(Duration::from_secs(60)));
        let phase = &ended.phases[0];
        for metric in [Metric::PeakRss, Metric::PeakAnon, Metric::PeakRssGrowth] {
            assert!(phase.readings.contains_key(&metric), "{metric}: {:?}", phase.unavailable);
        }
        assert!(phase.readings[&Metric::PeakRss].bytes < ByteSize::mib(16));
    }
}

#[test]
fn a_child_that_waits_long_at_its_gate_is_not_taken_for_its_parent() {
    let held = vec![1u8; 64 << 20];
    let prepare = |pid| {
        let options = MeterOptions { root: pid, before_exec: true, pss: false, ..MeterOptions::default() };
        let meter = Meter::start_with(options)?;
        meter.phase("run");
        std::thread::sleep(Duration::from_millis(250));
        Ok(meter)
    };
    let mut command = Command::new("sleep");
    command.arg("0.1");
    let (mut child, meter, inherited) =
        start_latch::start(command, start_latch::Birth::default(), prepare, Meter::sample).unwrap();
    let phase = meter.finish().remove(0);
    child.wait().unwrap();
    assert!(held.iter().step_by(4096).all(|&byte| byte == 1));
    assert!(phase.readings[&Metric::PeakRss].bytes < ByteSize::mib(32), "{:?}", phase.readings);
    // This is its mark at the end; absent if it could not be stopped at its first instruction.
    assert!(inherited.is_none_or(|inherited| inherited >= ByteSize::mib(64)), "{inherited:?}");
}

#[test]
fn a_timeout_ends_the_whole_tree() {
    let mark = format!("86{}", std::process::id());
    let ended =
        run(shell(&format!("sleep {mark} & (sleep {mark} &); sleep {mark}")).timeout(Duration::from_millis(300)));
    assert_eq!(ended.end.cause, EndCause::Timeout { limit_ns: 300_000_000 });
    assert_eq!(ended.end.to_string(), "ran longer than its timeout of 300ms and was killed");
    assert!(!runs(&mark));
}

/// Whether a process with `word` in its command line is running.
fn runs(word: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        entry.file_name().to_str().is_some_and(|name| name != std::process::id().to_string())
            && line.split(|&byte| byte == 0).any(|argument| argument == word.as_bytes())
    })
}

#[test]
fn nothing_of_a_tree_goes_on_while_it_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("went-on");
    for _ in 0..20 {
        let script = format!("sleep 3600; echo x > {}", file.display());
        assert_eq!(run(shell(&script).timeout(Duration::from_millis(30))).end.signal, Some(Signal::new(libc::SIGKILL)));
        assert!(!file.exists());
    }
}

#[test]
fn what_a_tree_leaves_running_is_ended_with_it() {
    let mark = format!("85{}", std::process::id());
    let ended = run(shell(&format!("sleep {mark} & sleep 0.2")));
    assert_eq!((ended.end.exit_code, ended.left_running), (Some(0), 1));
    assert!(!runs(&mark));
}

#[test]
fn a_dropped_run_leaves_nothing() {
    let mark = format!("84{}", std::process::id());
    let mut command = Command::new("sh");
    command.args(["-c", &format!("sleep {mark} & echo; sleep {mark}")]).stdout(Stdio::piped());
    let mut running = Metered::new(command).spawn().unwrap();
    let output = running.stdout().unwrap();
    assert_eq!(running.step(&[output.as_fd()]).unwrap(), Step::Ready);
    // A forked shell may not have executed its program yet.
    while !runs(&mark) {
        std::thread::yield_now();
    }
    drop(running);
    assert!(!runs(&mark));
}

#[test]
fn an_enforced_ceiling_ends_the_tree_and_says_what_did() {
    let metered = shell("dd if=/dev/zero of=/dev/null bs=200M count=1000 2>/dev/null; exit 0")
        .ceilings("peak_rss = 64 MiB".parse().unwrap())
        .enforce(true);
    let ended = run(metered);
    let EndCause::CeilingEnforced { metric, limit, by, evidence } = &ended.end.cause else { panic!("{:?}", ended.end) };
    assert_eq!((*metric, *limit), (Metric::PeakRss, ByteSize::mib(64)));
    assert!(!evidence.is_empty() && !by.to_string().is_empty());
    assert_eq!(ended.verdicts[0].status, CeilingStatus::Broken);
    assert!(ended.end.to_string().starts_with("was killed at its ceiling peak_rss <= 64.00 MiB by "), "{}", ended.end);
}

#[test]
fn a_system_call_that_takes_gigabytes_is_ended_at_a_ceiling_and_not_waited_for() {
    const ALL: u64 = 3 << 30;
    // Only the watchdog: no control group can enforce this ceiling. Pages of 4 KiB keep the kernel busy longest.
    let script = format!(
        "import ctypes, mmap\n\
         ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)\n\
         mmap.mmap(-1, {ALL}, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x8000)"
    );
    let mut command = Command::new("python3");
    command.args(["-c", &script]);
    let ended = run(Metered::new(command)
        .ceilings("peak_anon = 64 MiB".parse().unwrap())
        .sample_interval(Duration::from_millis(2))
        .enforce(true));
    assert!(matches!(ended.end.cause, EndCause::CeilingEnforced { .. }), "{}", ended.end);
    // A process that was stopped rather than killed would have all of it before it stops.
    let peak = ended.phases[0].readings[&Metric::PeakRss].bytes;
    assert!(peak < ByteSize::new(ALL), "{peak}");
}

#[test]
fn a_tree_that_forks_while_it_is_ended_is_ended_whole() {
    let mark = format!("87{}", std::process::id());
    // Most of these processes end before anybody sees them.
    let script = format!(
        "for i in 1 2 3 4; do (sleep {mark} & sleep {mark}) & done; \
        i=0; while [ $i -lt 100000 ]; do (:) & i=$((i+1)); done; wait"
    );
    let ended = run(shell(&script).timeout(Duration::from_millis(200)));
    assert!(matches!(ended.end.cause, EndCause::Timeout { .. }), "{}", ended.end);
    assert!(!runs(&mark));
}

#[test]
fn a_broken_ceiling_that_is_not_enforced_is_judged_at_the_end() {
    let ended = run(Metered::new(dd(96)).ceilings("peak_rss = 64 MiB, peak_swap = 1 TiB".parse().unwrap()));
    assert!(ended.end.success());
    assert_eq!(ended.verdicts[0].status, CeilingStatus::Broken);
    assert_eq!(ended.enforcement, None);
}

#[test]
fn phases_are_distinguished() {
    let mut command = Command::new("cat");
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut running = Metered::new(command).first_phase(None).name("reader").spawn().unwrap();
    for phase in ["read", "write"] {
        running.phase(phase);
    }
    running.finish_phases();
    drop(running.stdin());
    let ended = running.wait().unwrap();
    let names: Vec<&str> = ended.phases.iter().map(|phase| phase.phase.as_str()).collect();
    assert_eq!(names, ["read", "write"]);
    assert_eq!(ended.phases[1].processes[0].name, "reader");
}

#[cfg(feature = "schema")]
#[test]
fn an_end_is_the_same_in_json() {
    for script in ["exit 3", "kill -KILL $$"] {
        let end = run(shell(script)).end;
        let json = serde_json::to_string(&end).unwrap();
        assert_eq!(serde_json::from_str::<ProcessEnd>(&json).unwrap(), end, "{json}");
    }
}
