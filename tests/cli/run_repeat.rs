//! `plimsoll run --repeat`: several runs of a command in one record.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use plimsoll::ByteSize;
use plimsoll::meter::{Metric, Source};
use plimsoll::record::{Policy, Record, RunState, VerdictStatus};

use crate::support::{comes, plimsoll, run};

/// A folder in which a script counts its runs: `run N` is the N-th, from 1.
struct Counted {
    dir: tempfile::TempDir,
}

impl Counted {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn command(&self, flags: &[&str], script: &str) -> Command {
        let mut command = plimsoll();
        let script = format!("echo >> count; N=$(wc -l < count); {script}");
        command.arg("run").args(flags).args(["--record", "record.json", "--", "sh", "-c", &script]);
        command.current_dir(self.dir.path());
        command
    }

    fn runs(&self) -> usize {
        fs::read_to_string(self.dir.path().join("count")).unwrap_or_default().lines().count()
    }

    fn record(&self) -> Record {
        Record::read(&self.dir.path().join("record.json")).unwrap()
    }
}

/// A buffer of 16 MiB in the first run, 96 in the second, 32 in the third.
const GROWS: &str = "set -- 16 96 32; shift $((N-1)); exec dd if=/dev/zero of=/dev/null count=1 bs=${1}M 2>/dev/null";

#[test]
fn every_run_is_in_the_record_and_the_worst_is_judged() {
    let counted = Counted::new();
    let (code, _, report) = run(&mut counted.command(&["--repeat", "3", "--peak-rss", "64MiB"], GROWS));
    assert_eq!(code, 1, "{report}");
    let record = counted.record();
    assert_eq!((record.runs.len(), record.state), (3, RunState::Complete));
    let peak = |phases: &[plimsoll::meter::PhaseReadings]| phases[0].readings[&Metric::PeakRss].bytes;
    let peaks: Vec<_> = record.runs.iter().map(|run| peak(&run.phases)).collect();
    for (peak, mib) in peaks.iter().zip([16, 96, 32]) {
        assert!((ByteSize::mib(mib)..ByteSize::mib(mib + 8)).contains(peak), "{peaks:?}");
    }
    assert_eq!(peak(&record.phases), peaks[1], "the record's phases are those of the largest run");
    assert!(!record.phases[0].timeline.is_empty() && record.runs.iter().all(|run| run.phases[0].timeline.is_empty()));
    assert!(record.runs.is_sorted_by_key(|run| run.started_ns + run.wall_ns));
    assert!(record.runs.iter().all(|run| run.cpu_time().is_some() && run.wall_ns <= record.wall_ns));
    let ceiling = &record.verdicts[1];
    assert!(ceiling.message.ends_with("; run 2 of 3 was the worst by it"), "{}", ceiling.message);
    assert!(report.contains("3 runs exited with code 0") && report.contains("\n median  "), "{report}");
}

#[test]
fn a_warm_up_counts_for_nothing() {
    let counted = Counted::new();
    let (code, _, report) =
        run(&mut counted.command(&["--repeat", "1", "--warmup", "2", "--peak-rss", "64MiB"], GROWS));
    assert_eq!((code, counted.runs()), (0, 3), "{report}");
    let record = counted.record();
    assert!(record.runs.is_empty());
    let Policy::Process(policy) = &record.policy else { panic!("{record:?}") };
    let repetition = policy.repetition.unwrap();
    assert_eq!((repetition.repeat, repetition.warmup), (1, 2));
}

#[test]
fn a_run_that_fails_is_the_last_unless_it_is_to_go_on() {
    let fails = "test $N != 2 || exit 9";
    let counted = Counted::new();
    let (code, _, report) = run(&mut counted.command(&["--repeat", "4"], fails));
    assert_eq!((code, counted.runs()), (9, 2), "{report}");
    assert!(report.contains("run 2 of 4: it exited with code 9"), "{report}");
    let counted = Counted::new();
    let (code, _, report) = run(&mut counted.command(&["--repeat", "4", "--keep-going"], fails));
    assert_eq!((code, counted.runs(), counted.record().runs.len()), (9, 4, 4), "{report}");
    let counted = Counted::new();
    let (code, _, report) = run(&mut counted.command(&["--warmup", "3", "--repeat", "4"], fails));
    assert_eq!((code, counted.runs()), (9, 2), "a failed warm-up is reported: {report}");
}

#[test]
fn each_run_reads_the_same_file_and_none_the_pipe_of_another() {
    let counted = Counted::new();
    let input = counted.dir.path().join("input");
    fs::write(&input, "words\n").unwrap();
    let mut command = counted.command(&["--repeat", "2"], "cat");
    let (_, out, report) = run(command.stdin(File::open(&input).unwrap()));
    assert_eq!(out, "words\nwords\n", "{report}");
    let counted = Counted::new();
    let mut command = counted.command(&["--repeat", "2"], "cat");
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // The pipe stays open: a run that reads from it would wait forever.
    assert_eq!(child.wait_with_output().unwrap().stdout, b"");
}

#[test]
fn a_signal_ends_the_runs_and_the_record_says_so() {
    let counted = Counted::new();
    let mut child = counted.command(&["--repeat", "50"], "trap 'exit 0' TERM; sleep 3600 & touch waits; wait");
    let mut child = child.stderr(Stdio::null()).spawn().unwrap();
    assert!(comes(|| counted.dir.path().join("waits").exists()));
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3));
    let record = counted.record();
    assert_eq!((record.state, record.verdicts[0].status), (RunState::Interrupted, VerdictStatus::Inconclusive));
    assert!(record.verdicts[0].message.contains("a signal ended the runs after 1 of 50"), "{:?}", record.verdicts);
}

#[test]
fn the_memory_of_a_control_group_is_of_the_command_alone() {
    let counted = Counted::new();
    let script = "exec dd if=/dev/zero of=/dev/null count=1 bs=48M 2>/dev/null";
    let (code, _, report) = run(&mut counted.command(&["--peak-cgroup", "1GiB"], script));
    let record = counted.record();
    let Some(reading) = record.phases[0].readings.get(&Metric::PeakCgroup) else {
        assert_eq!(code, 3, "{report}");
        assert!(report.contains("no control group can be made for it"), "{report}");
        return println!("not possible here: a control group");
    };
    assert_eq!(code, 0, "{report}");
    assert!((ByteSize::mib(48)..ByteSize::mib(72)).contains(&reading.bytes), "{reading:?}");
    assert_eq!(reading.source, Source::Exact, "the command is over at once: {reading:?}");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&report).contains(&words(&reading.counter)), "{report}");
}

#[test]
fn each_run_is_prepared_and_nothing_of_that_is_measured() {
    let counted = Counted::new();
    // It reads what a pipe would give, prints, takes memory, and leaves a process behind.
    let prepare = "cat; echo >> prepared; echo printed; dd if=/dev/zero of=/dev/null count=1 bs=64M 2>/dev/null; \
                   sleep 1000 & echo $! > left; test $(wc -l < prepared) -lt 5";
    let flags = ["--repeat", "3", "--warmup", "1", "--prepare", prepare, "--peak-rss", "32MiB"];
    let script = "test $(wc -l < prepared) = $N && ! test -e /proc/$(cat left)/exe";
    let (code, out, report) = run(&mut counted.command(&flags, script));
    assert_eq!((code, out.as_str()), (0, ""), "{report}");
    assert_eq!((counted.runs(), counted.record().runs.len()), (4, 3));

    // The fifth fails, after four of this folder.
    let (code, _, report) = run(&mut counted.command(&flags, script));
    assert_eq!((code, counted.runs()), (2, 4), "{report}");
    assert!(report.contains("exited with code 1, so the run that it prepares was not started; "), "{report}");
    assert!(report.starts_with("error: --prepare `cat; "), "{report}");
}
