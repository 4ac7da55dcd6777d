//! `plimsoll run`: a command under the meter.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use plimsoll::ByteSize;
use plimsoll::command::EndCause;
use plimsoll::meter::{CpuSource, Metric, Source, worst_reading};
use plimsoll::record::{Record, Semantics};

use crate::support::{comes, plimsoll, run};

/// `plimsoll run FLAGS -- sh -c SCRIPT`.
fn shell(flags: &[&str], script: &str) -> Command {
    let mut command = plimsoll();
    command.arg("run").args(flags).args(["--", "sh", "-c", script]);
    command
}

/// Whether a `sleep` of this many seconds runs.
pub fn sleeps(seconds: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line.starts_with(b"sleep\0") && line.split(|&byte| byte == 0).any(|argument| argument == seconds.as_bytes())
    })
}

#[test]
fn input_output_and_exit_code_are_the_commands_own() {
    let mut child = shell(&["--peak-rss", "1GiB"], "cat; echo aside >&2; exit 7")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"words\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(7), &b"words\n"[..]));
    let aside = String::from_utf8(output.stderr).unwrap();
    assert!(aside.starts_with("aside\n") && aside.contains("✓ ceiling peak_rss"), "{aside}");
    assert!(aside.contains("the command exited with code 7"), "{aside}");
}

/// A program that ends before a second sample and is smaller than what it was forked from has no mark of its own: the
/// reading at its start is not its peak.
#[test]
fn a_ceiling_below_what_the_shortest_program_takes_never_holds() {
    for _ in 0..5 {
        let (code, _, report) = run(plimsoll().args(["run", "--peak-rss", "256KiB", "--", "true"]));
        assert!(matches!(code, 1 | 3), "{report}");
    }
}

#[test]
fn a_signal_is_told_as_a_shell_tells_it() {
    let (code, _, report) = run(&mut shell(&[], "kill -SEGV $$"));
    assert_eq!(code, 139);
    assert!(report.contains("was killed by SIGSEGV (signal 11)"), "{report}");
}

#[test]
fn what_cannot_be_started_is_told_as_a_shell_tells_it() {
    for (program, expected) in [("plimsoll-no-such-program", 127), ("/tmp", 126)] {
        let (code, out, report) = run(plimsoll().args(["run", "--", program]));
        assert_eq!((code, out.as_str()), (expected, ""));
        assert!(report.contains(&format!("error: cannot start `{program}`")), "{report}");
    }
    assert_eq!(run(plimsoll().args(["run", "--peak-rss", "1 XiB", "--", "true"])).0, 2);
}

const TAKES_96_MIB: &str = "dd if=/dev/zero of=/dev/null bs=96M count=1 2>/dev/null";

#[test]
fn a_broken_ceiling_is_exit_code_1() {
    let (code, _, report) = run(&mut shell(&["--peak-rss", "64MiB"], TAKES_96_MIB));
    assert_eq!(code, 1, "{report}");
    assert!(report.contains("✗ ceiling peak_rss") && report.contains("FAILED"), "{report}");
    assert_eq!(run(&mut shell(&["--peak-rss", "128MiB"], TAKES_96_MIB)).0, 0);
}

#[test]
fn what_cannot_be_measured_is_exit_code_3() {
    if std::path::Path::new("/dev/nvidiactl").exists() {
        println!("this machine has a GPU: its memory can be measured, so that this was not tried");
        return;
    }
    let (code, _, report) = run(&mut shell(&["--gpu-peak", "1GiB"], "true"));
    assert_eq!(code, 3, "{report}");
    assert!(report.contains("? ceiling gpu_peak"), "{report}");
}

#[test]
fn daemons_count_and_are_ended() {
    let mark = format!("81{}", std::process::id());
    let dir = tempfile::tempdir().unwrap();
    // The first byte arrives once the block is complete. Both daemons stay: `sleep` has the pipe open, so that `dd` waits
    // for a reader of the rest. A phase begins with a sample.
    let script = format!(
        "mkfifo pipe; (setsid dd if=/dev/zero of=pipe bs=96M 2>/dev/null &); exec 3< pipe; (setsid sleep {mark} &); \
         head -c 1 <&3 >/dev/null; '{}' mark held",
        env!("CARGO_BIN_EXE_plimsoll")
    );
    let (code, _, report) = run(shell(&["--peak-rss", "64MiB"], &script).current_dir(dir.path()));
    assert_eq!(code, 1, "{report}");
    assert!(report.contains("2 that it left running were killed"), "{report}");
    assert!(!sleeps(&mark));
}

#[test]
fn a_timeout_ends_the_tree() {
    let mark = format!("80{}", std::process::id());
    let script = format!("trap '' TERM; (setsid sleep {mark} &); sleep {mark}");
    let (code, _, report) = run(&mut shell(&["--timeout", "300ms"], &script));
    assert_eq!(code, 1, "{report}");
    assert!(report.contains("ran longer than its timeout of 300ms and was killed"), "{report}");
    assert!(!sleeps(&mark));
}

#[test]
fn an_enforced_ceiling_ends_the_command_and_is_no_kill_by_others() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("record.json");
    let script = "dd if=/dev/zero of=/dev/null bs=300M count=1000000 2>/dev/null; sleep 3600";
    let mut command = shell(&["--enforce", "--peak-rss", "64MiB", "--label", "grows"], script);
    let (code, _, report) = run(command.env("PLIMSOLL_RECORD", &path));
    assert_eq!(code, 1, "{report}");
    let record = Record::read(&path).unwrap();
    assert!(matches!(&record.semantics, Semantics::Command(command) if command.label == "grows"));
    let Some(EndCause::CeilingEnforced { metric, limit, .. }) = record.end.map(|end| end.cause) else {
        panic!("{report}");
    };
    assert_eq!((metric, limit), (Metric::PeakRss, ByteSize::mib(64)));
}

#[test]
fn a_record_is_written_or_printed() {
    let (code, _, json) = run(&mut shell(&["--json"], "exit 3"));
    let record: Record = serde_json::from_str(&json).unwrap();
    assert_eq!((code, record.exit_code, record.end.unwrap().exit_code), (3, 3, Some(3)));
    let (code, out, report) = run(shell(&["--record", "/nowhere/record.json"], "echo ran").env("TZ", "UTC"));
    assert_eq!((code, out.as_str()), (2, ""), "the command did not run: {report}");
}

#[test]
fn the_peak_of_one_process_is_exact_between_samples() {
    let (_, _, json) = run(&mut shell(
        &["--json", "--sample-interval", "60s"],
        "exec dd if=/dev/zero of=/dev/null count=1 bs=48M 2> /dev/null",
    ));
    let record: Record = serde_json::from_str(&json).unwrap();
    let peak = &record.phases[0].readings[&Metric::PeakRss];
    assert_eq!(peak.source, Source::Exact, "{peak:?}");
    assert!((ByteSize::mib(48)..ByteSize::mib(54)).contains(&peak.bytes), "{peak:?}");
}

#[test]
fn processor_time_is_exact_with_that_of_orphans_and_to_the_tick_by_phases() {
    let dir = tempfile::tempdir().unwrap();
    // Each takes 100 ms by the kernel's own count of nanoseconds; the last one is orphaned by its parent.
    let burn = "while read ns rest < /proc/self/schedstat; [ $ns -lt 100000000 ]; do :; done";
    let script = format!("mkfifo end; (sh -c '{burn}; echo > end' &) ; ({burn}) & {burn}; wait; read word < end");
    let metered = |flags: &[&str], script: &str| {
        let (code, _, json) = run(shell(&[&["--json"], flags].concat(), script).current_dir(dir.path()));
        assert_eq!(code, 0, "{json}");
        serde_json::from_str::<Record>(&json).unwrap().phases
    };
    let activity = metered(&[], &script).remove(0).activity;
    assert_eq!(activity.cpu_source, CpuSource::Reaped);
    let taken = Duration::from_nanos(activity.cpu_user_ns.unwrap() + activity.cpu_system_ns.unwrap());
    // More than two of the three, but none counted twice; switches between processes cost a little on a busy machine.
    assert!((Duration::from_millis(300)..Duration::from_millis(600)).contains(&taken), "{taken:?}");
    let phases = metered(&[], concat!("'", env!("CARGO_BIN_EXE_plimsoll"), "' mark next"));
    assert!(phases.len() == 2 && phases.iter().all(|phase| phase.activity.cpu_source == CpuSource::Tick));
}

#[test]
fn a_process_whose_first_thread_has_ended_is_measured_and_ended() {
    let dir = tempfile::tempdir().unwrap();
    let source = r#"
        #include <fcntl.h>
        #include <pthread.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <unistd.h>
        static pthread_t first;
        static void *others(void *arg) {
            pthread_join(first, NULL);
            memset(malloc(64 << 20), 1, 64 << 20);
            dprintf(open("held", O_WRONLY), "%d\n", getpid());
            sleep(60);
            return arg;
        }
        int main(void) {
            pthread_t thread;
            first = pthread_self();
            pthread_create(&thread, NULL, others, NULL);
            pthread_exit(NULL);
        }"#;
    std::fs::write(dir.path().join("outlived.c"), source).unwrap();
    let mut compiler = Command::new("cc");
    compiler.current_dir(dir.path()).args(["-pthread", "-o", "outlived", "outlived.c"]);
    assert!(compiler.status().unwrap().success());
    // The mark is a moment at which the memory is read.
    let script = "mkfifo held; ./outlived & read pid < held; \"$PLIMSOLL\" mark next; echo $pid > pid";
    let mut command = shell(&["--json"], script);
    let (code, _, json) = run(command.current_dir(dir.path()).env("PLIMSOLL", env!("CARGO_BIN_EXE_plimsoll")));
    assert_eq!(code, 0, "{json}");
    let record: Record = serde_json::from_str(&json).unwrap();
    let (_, peak) = worst_reading(&record.phases, Metric::PeakRss).unwrap();
    assert!(peak.bytes >= ByteSize::mib(64), "{peak:?}");
    let pid = std::fs::read_to_string(dir.path().join("pid")).unwrap();
    assert!(!Path::new("/proc").join(pid.trim()).exists(), "it was left behind");
}

#[test]
fn termination_is_handed_on() {
    let mark = format!("79{}", std::process::id());
    let mut child =
        shell(&[], &format!("trap 'exit 5' TERM; sleep {mark} & wait")).stderr(Stdio::null()).spawn().unwrap();
    assert!(comes(|| sleeps(&mark)));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(5));
    assert!(!sleeps(&mark));
}

#[test]
fn a_killed_meter_leaves_no_command() {
    let mark = format!("78{}", std::process::id());
    let mut child = shell(&[], &format!("exec sleep {mark}")).stderr(Stdio::null()).spawn().unwrap();
    assert!(comes(|| sleeps(&mark)));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(comes(|| !sleeps(&mark)));
}
