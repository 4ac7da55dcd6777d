//! Programs known to hold 128 MiB at once, in the ways in which a process tree can: the peak must show it.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use plimsoll::bytes::MIB;
use plimsoll::meter::{Metric, PhaseReadings, ProcessPeak, Source};
use plimsoll::record::Record;

use crate::support::{plimsoll, run};

/// `hold.py NAME`: takes 64 MiB, creates a file to say so, and ends once the file `go` exists.
const HOLD: &str = r"
import os, sys, time
data = bytearray(b'\1') * (64 << 20)
open('ready.' + sys.argv[1], 'w').close()
while not os.path.exists('go'):
    time.sleep(0.005)
";

/// Begins the phase `held`, whose first sample is taken before `mark` returns, while both hold their memory.
const MARK: &str = "while ! test -e ready.a -a -e ready.b; do sleep 0.01; done; \"$PLIMSOLL\" mark held; touch go";

const POOL: &str = r"
import multiprocessing, os, subprocess
def hold(ready, go):
    data = bytearray(b'\1') * (64 << 20)
    ready.wait()
    go.wait()
if __name__ == '__main__':
    processes = multiprocessing.get_context('fork')
    ready, go = processes.Barrier(3), processes.Barrier(3)
    workers = [processes.Process(target=hold, args=(ready, go)) for _ in range(2)]
    [worker.start() for worker in workers]
    ready.wait()
    subprocess.run([os.environ['PLIMSOLL'], 'mark', 'held'], check=True)
    go.wait()
    [worker.join() for worker in workers]
";

/// The readings while `command` holds its memory.
fn held(command: &[&str]) -> PhaseReadings {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("hold.py"), HOLD).unwrap();
    fs::write(dir.path().join("pool.py"), POOL).unwrap();
    let makefile = format!("all: a b c\na b:\n\tpython3 hold.py $@\nc:\n\t{}\n", MARK.replace('$', "$$"));
    fs::write(dir.path().join("Makefile"), makefile).unwrap();
    let mut metered = plimsoll();
    metered.args(["run", "--json", "--"]).args(command).current_dir(dir.path()).stdin(Stdio::null());
    let (code, _, json) = run(metered.env("PLIMSOLL", Path::new(env!("CARGO_BIN_EXE_plimsoll"))));
    let record: Record =
        serde_json::from_str(&json[json.find('{').unwrap()..]).unwrap_or_else(|e| panic!("{e}: {json}"));
    assert_eq!(code, 0, "{json}");
    record.phases.into_iter().find(|phase| phase.phase == "held").unwrap_or_else(|| panic!("{json}"))
}

/// Besides that, each Python has some 10 MiB of its own, most of it shared, and so does this program.
#[track_caller]
fn assert_holds(phase: &PhaseReadings, processes: u64) {
    for metric in [Metric::PeakAnon, Metric::PeakRss] {
        let peak = phase.readings[&metric].bytes.bytes();
        assert!(
            (128 * MIB..(128 + 24 * processes) * MIB).contains(&peak),
            "{metric}: {}",
            phase.readings[&metric].bytes
        );
    }
}

#[test]
fn two_at_once_below_a_shell() {
    assert_holds(&held(&["sh", "-c", &format!("python3 hold.py a & python3 hold.py b & {MARK}; wait")]), 3);
}

#[test]
fn two_at_once_below_make() {
    assert_holds(&held(&["make", "-s", "-j3"]), 4);
}

#[test]
fn two_that_a_python_has_forked() {
    assert_holds(&held(&["python3", "pool.py"]), 3);
}

#[test]
fn two_daemons_that_a_shell_has_left() {
    let script = format!("(setsid python3 hold.py a & setsid python3 hold.py b &); {MARK}");
    assert_holds(&held(&["sh", "-c", &script]), 3);
}

#[test]
fn files_in_memory_are_named_if_no_figure_counts_them() {
    const SHARED: &str = "/dev/shm";
    let is_tmpfs = fs::read_to_string("/proc/self/mounts").unwrap().contains(" /dev/shm tmpfs rw");
    let Some(dir) = is_tmpfs.then(|| tempfile::tempdir_in(SHARED).ok()).flatten() else {
        eprintln!("not possible here: no tmpfs can be written at {SHARED}");
        return;
    };
    let script = "head -c 96M /dev/zero > file; sleep 0.5; rm file";
    let report = |flags: &[&str]| {
        let mut command = plimsoll();
        command.arg("run").args(flags).args(["--", "sh", "-c", script]).current_dir(dir.path());
        let (code, _, report) = run(&mut command);
        assert_eq!(code, 0, "{report}");
        report.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let said = "that no process mapped and no figure counts: --cgroup counts them";
    let text = report(&[]);
    assert!(text.contains("files in memory (tmpfs) grew by ") && text.contains(said), "{text}");
    assert!(!report(&["--cgroup"]).contains(said));
}

/// The interpreter itself: a python3 that is a script would replace itself several times.
fn python() -> String {
    let (_, python, _) = run(Command::new("python3").args(["-c", "import sys; print(sys.executable)"]));
    python.trim().to_owned()
}

/// Children that hold 48 MiB and end at once, too short for samples: one after another, or all at the same time.
const SHORT: &str = r"
import os, sys
at_once, go = sys.argv[1] == 'at-once', os.pipe()
for _ in range(3):
    if os.fork() == 0:
        data = bytearray(b'\1') * (48 << 20)
        if at_once:
            os.close(go[1])
            os.read(go[0], 1)
        os._exit(0)
    at_once or os.wait()
os.close(go[1])
while at_once:
    try:
        os.wait()
    except ChildProcessError:
        break
";

/// The marks that the kernel reports at the exit of each process bound the peak of the tree from both sides.
#[test]
fn processes_too_short_for_samples_bound_the_peak() {
    let (_, doctor, _) = run(plimsoll().args(["doctor", "--json"]));
    let python = python();
    let reported = doctor.contains("the mark of every process");
    for (order, together) in [("one-by-one", 1), ("at-once", 3)] {
        let mut metered = plimsoll();
        metered.args(["run", "--json", "--no-config", "--sample-interval", "10s", "--", &python, "-c", SHORT, order]);
        let (code, _, json) = run(metered.stdin(Stdio::null()));
        let record: Record = serde_json::from_str(&json[json.find('{').unwrap()..]).unwrap();
        assert_eq!(code, 0, "{json}");
        let phase = &record.phases[0];
        let peak = &phase.readings[&Metric::PeakRss];
        assert!(peak.source != Source::Exact && peak.bytes.bytes() >= 48 * MIB, "{order}: {peak:?}");
        if !reported {
            assert_eq!(phase.peak_rss_at_most, None, "{order}");
            continue;
        }
        // Each Python has up to 24 MiB of its own. A slow machine hears late that one has ended, and takes it for a second one
        // beside the next; never all three.
        let late = if together == 1 { 48 * MIB } else { 0 };
        let largest = phase.processes.iter().map(|process| process.peak_rss.bytes.bytes()).max().unwrap();
        let most = phase.peak_rss_at_most.unwrap_or_else(|| panic!("{order}: {json}")).bytes();
        let least = together * 48 * MIB + largest - 48 * MIB;
        assert!(most >= least && most < least + late + (together + 1) * 24 * MIB, "{order}: {least} {most}");
        let exact = |process: &&ProcessPeak| process.peak_rss.source == Source::Exact;
        let children =
            phase.processes.iter().filter(exact).filter(|process| process.peak_rss.bytes.bytes() >= 48 * MIB);
        assert_eq!(children.count(), 3, "{order}: {:?}", phase.processes);
    }
}

/// A child of 48 MiB whose parent ignores SIGCHLD, so that the kernel reaps it and adds nothing to its parent's usage.
const IGNORED: &str = r"
import os, signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork() == 0:
    data = bytearray(b'\1') * (48 << 20)
    os._exit(0)
try:
    os.wait()
except ChildProcessError:
    pass
";

#[test]
fn a_child_that_nobody_reaps_leaves_no_exact_figure_without_it() {
    // A user namespace does without the kernel's reports of forks and exits.
    let unshared = ["unshare", "--user", "--map-root-user"];
    let mut probe = Command::new(unshared[0]);
    let possible = probe.args(&unshared[1..]).arg("true").output().is_ok_and(|output| output.status.success());
    for words in [&[][..], &unshared[..]].into_iter().take(1 + usize::from(possible)) {
        let mut command = match words {
            [] => plimsoll(),
            [first, rest @ ..] => {
                let mut command = Command::new(first);
                command.args(rest).arg(env!("CARGO_BIN_EXE_plimsoll"));
                command
            }
        };
        command.args(["run", "--json", "--no-config", "--sample-interval", "10s", "--", &python(), "-c", IGNORED]);
        let (code, _, json) = run(command.stdin(Stdio::null()));
        assert_eq!(code, 0, "{json}");
        let record: Record = serde_json::from_str(&json[json.find('{').unwrap()..]).unwrap();
        let phase = &record.phases[0];
        let (peak, count) = (&phase.readings[&Metric::PeakRss], phase.process_count.unwrap());
        assert!(peak.source != Source::Exact || peak.bytes.bytes() >= 48 * MIB, "{words:?}: {peak:?}");
        assert!(count.source != Source::Exact || count.count > 1, "{words:?}: {count:?}");
    }
}
