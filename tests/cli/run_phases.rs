//! The phases of a command under `plimsoll run`: by lines of its output, by a descriptor, by `plimsoll mark`.

use std::fs::File;
use std::io::Read as _;
use std::process::{Command, Stdio};

use plimsoll::ByteSize;
use plimsoll::meter::{Metric, PhaseReadings};
use plimsoll::record::Record;
use rustix::pty::OpenptFlags;

use crate::support::{plimsoll, run};

/// Runs `sh -c SCRIPT` under the meter with `plimsoll` in its path; returns the exit code, its output, the report and
/// the record.
fn phases(flags: &[&str], script: &str) -> (i32, String, String, Record) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("record.json");
    let mut command = plimsoll();
    command.arg("run").args(flags).arg("--record").arg(&path).args(["--", "sh", "-c", script]);
    let programs = std::path::Path::new(env!("CARGO_BIN_EXE_plimsoll")).parent().unwrap().display().to_string();
    command.env("PATH", format!("{programs}:{}", std::env::var("PATH").unwrap()));
    let (code, out, report) = run(command.stdin(Stdio::null()));
    let record = Record::read(&path).unwrap_or_else(|error| panic!("{error}\n{report}"));
    (code, out, report, record)
}

fn names(record: &Record) -> Vec<&str> {
    record.phases.iter().map(|phase| phase.phase.as_str()).collect()
}

fn peak(phase: &PhaseReadings) -> ByteSize {
    phase.readings[&Metric::PeakRss].bytes
}

/// Holds this many MiB until its reader has slept: the first byte comes after the last was read.
fn takes(mib: u64) -> String {
    format!("head -c {mib}M /dev/zero | tail -c {mib}M | (head -c 1 >/dev/null; sleep 0.7; wc -c >/dev/null)")
}

#[test]
fn a_mark_begins_a_phase_with_peaks_of_its_own() {
    let script = format!(
        "plimsoll mark small; {small}; plimsoll mark large; {}; plimsoll mark 'small again'; {small}",
        takes(96),
        small = takes(8),
    );
    let (code, _, report, record) = phases(&[], &script);
    assert_eq!((code, names(&record)), (0, vec!["run", "small", "large", "small again"]), "{report}");
    let peaks: Vec<_> = record.phases.iter().map(peak).collect();
    // The command that marks is part of the tree as well.
    assert!(peaks[2] > ByteSize::mib(72) && peaks[1] < ByteSize::mib(64) && peaks[3] < ByteSize::mib(64), "{peaks:?}");
    assert!(record.phases.iter().all(|phase| phase.wall_ns > 0), "{report}");
}

#[test]
fn lines_of_output_begin_phases_and_pass_through_byte_for_byte() {
    let script = format!(
        "echo early; echo '== load'; {}; printf 'no \\377 text\\r== train 1\\nlate'; sleep 0.1; echo '== eval' >&2; exit 6",
        takes(48)
    );
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("record.json");
    let mut command = plimsoll();
    command.args(["run", "--phase", r"^== (\w+)", "--record"]).arg(&path).args(["--", "sh", "-c", &script]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(6));
    assert_eq!(output.stdout, b"early\n== load\nno \xff text\r== train 1\nlate");
    assert!(output.stderr.starts_with(b"== eval\n"));
    let record = Record::read(&path).unwrap();
    assert_eq!(names(&record)[..3], ["run", "load", "train"]);
}

#[test]
fn a_descriptor_takes_the_names_of_phases() {
    for number in ["3", "9"] {
        let script = format!("echo load >&{number}; sleep 0.1; echo train >&{number}; sleep 0.1");
        let (code, out, report, record) = phases(&["--phase-fd", number], &script);
        assert_eq!((code, out.as_str(), names(&record)), (0, "", vec!["run", "load", "train"]), "{report}");
    }
    assert_eq!(run(plimsoll().args(["run", "--phase-fd", "2", "--", "true"])).0, 2);
    assert_eq!(run(plimsoll().args(["run", "--phase", "(", "--", "true"])).0, 2);
}

#[test]
fn a_mark_without_a_run_says_so() {
    let (code, _, error) = run(plimsoll().args(["mark", "load"]));
    assert_eq!(code, 2);
    assert!(error.contains("there is no run to mark: PLIMSOLL_MARKS is not set"), "{error}");
    let (code, _, error) = run(plimsoll().args(["mark", "load"]).env("PLIMSOLL_MARKS", "@plimsoll-nobody"));
    assert_eq!(code, 2);
    assert!(error.contains("the run at @plimsoll-nobody does not answer"), "{error}");
}

#[test]
fn more_phases_than_are_kept_go_into_the_last() {
    let script = "i=0; while test $i -lt 300; do i=$((i+1)); echo phase $i >&3; done; sleep 0.3";
    let (code, _, report, record) = phases(&["--phase-fd", "3"], script);
    assert_eq!((code, record.phases.len()), (0, plimsoll::command::MAX_PHASES), "{report}");
    assert!(report.contains("note: 45 phases were too many, and belong to the last"), "{report}");
}

#[test]
fn a_terminal_stays_a_terminal_where_its_lines_are_looked_at() {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = rustix::pty::openpt(flags).unwrap();
    rustix::pty::grantpt(&ours).unwrap();
    rustix::pty::unlockpt(&ours).unwrap();
    let size = rustix::termios::Winsize { ws_row: 33, ws_col: 77, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&ours, size).unwrap();
    let name = rustix::pty::ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    let terminal = || Stdio::from(File::options().read(true).write(true).open(&name).unwrap());
    let mut command = plimsoll();
    let script = "test -t 1 && test -t 2 && stty size <&1; echo '== load' >&2";
    command.args(["run", "--json", "--phase", "^== (.*)$", "--", "sh", "-c", script]);
    let mut child = command.stdin(Stdio::null()).stdout(terminal()).stderr(terminal()).spawn().unwrap();
    drop(command);
    let mut shown = Vec::new();
    // Reading ends with an error once nobody has the other side open.
    let _ = File::from(ours).read_to_end(&mut shown);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let shown = String::from_utf8(shown).unwrap();
    assert!(shown.starts_with("33 77\r\n== load\r\n{\r\n"), "{shown:?}");
}

/// A few lines in any language can mark phases.
#[test]
fn the_example_of_the_documentation_marks() {
    let guide = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/run.md")).unwrap();
    let (_, example) = guide.split_once("```python\n").expect("there is an example in Python");
    let example = example.split_once("```").unwrap().0;
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(["run", "--json", "--", "python3", "-c", example]).env_remove("PLIMSOLL_MARKS");
    let (code, _, json) = run(command.stdin(Stdio::null()));
    assert_eq!(code, 0, "{json}");
    let record: Record = serde_json::from_str(&json).unwrap();
    assert_eq!(names(&record), ["run", "load"]);
}

#[test]
fn every_short_process_is_counted_where_the_kernel_tells_and_else_it_is_a_lower_bound() {
    let (code, _, report, record) = phases(&[], "i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i+1)); done");
    assert_eq!(code, 0, "{report}");
    let count = record.phases[0].process_count.unwrap();
    match count.source {
        plimsoll::meter::Source::Exact => assert_eq!(count.count, 201, "{report}"),
        _ => assert!(report.contains("at least "), "{report}"),
    }
}
