//! `plimsoll run --diagnose`: diagnoses from the passing output, the end and the memory of a command.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

use plimsoll::diagnose::{Findings, Kind, Verdict};
use plimsoll::record::{Record, VerdictStatus};
use rustix::pty::OpenptFlags;

use crate::support::{plimsoll, run};

/// A training step, then the out-of-memory error of a device, as PyTorch prints it, on standard error.
const FULL: &str = "echo 'step 7: loss 1.9'; printf '  File \"train.py\", line 3\\n    loss.backward()\\n' >&2; \
    echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 1 has a total capacity of 23.69 GiB of \
    which 130.00 MiB is free. Process 9 has 23.55 GiB memory in use. Of the allocated memory 22.90 GiB is allocated by \
    PyTorch, and 120.00 MiB is reserved by PyTorch but unallocated.' >&2; exit 1";

/// Twelve training steps, each of which retains another gigabyte.
const LEAKS: &str = "i=10; while [ $i -lt 22 ]; do echo '[x] [INFO] [utils.py:781:see_memory_usage] After step'; \
    echo \"[x] [INFO] [utils.py:782:see_memory_usage] MA $i GB         Max_MA $i GB         CA 40 GB         Max_CA 40 GB \"; \
    i=$((i+1)); done";

/// `plimsoll run FLAGS -- sh -c SCRIPT`: its exit code, the two streams and the record.
fn diagnosed(folder: &Path, flags: &[&str], script: &str) -> (i32, String, String, Record) {
    let path = folder.join("record.json");
    let mut command = plimsoll();
    command.arg("run").args(flags).arg("--record").arg(&path).args(["--", "sh", "-c", script]);
    let (code, out, err) = run(command.stdin(Stdio::null()));
    let record = Record::read(&path).unwrap_or_else(|error| panic!("{error}\n{err}"));
    (code, out, err, record)
}

/// The result of `plimsoll diagnose FLAGS` for the record.
fn of_record(folder: &Path, flags: &[&str]) -> (i32, Findings) {
    let (code, out, err) = run(plimsoll().arg("diagnose").arg(folder.join("record.json")).arg("--json").args(flags));
    (code, serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}")))
}

#[test]
fn a_full_device_is_explained_and_every_document_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (page, summary, junit) = (file("page.html"), file("summary.md"), file("junit.xml"));
    let flags = ["--diagnose", "--html", &page, "--markdown", &summary, "--junit", &junit];
    let (code, out, err, record) = diagnosed(folder.path(), &flags, FULL);
    assert_eq!((code, out.as_str()), (1, "step 7: loss 1.9\n"));
    assert!(err.starts_with("  File \"train.py\", line 3\n    loss.backward()\ntorch.OutOfMemoryError: "), "{err}");
    let found = record.diagnosis.as_ref().unwrap();
    let event = &found.events[0];
    assert_eq!((found.kind, event.verdict, found.events.len()), (Kind::VramOom, Verdict::Capacity, 1));
    assert_eq!(event.numbers.tried.unwrap().bytes(), 512 << 20);
    assert!(event.also.contains(&Verdict::FirstBackward) && !event.advice.is_empty(), "{event:?}");
    assert!(err.contains("✗ capacity") && err.contains("what to do"), "{err}");
    for document in [&page, &summary, &junit] {
        let text = fs::read_to_string(document).unwrap();
        assert!(
            text.contains("capacity") && text.contains("22.90 GiB") && text.contains("micro-batch"),
            "{document}: {text}"
        );
    }
    let (code, again) = of_record(folder.path(), &[]);
    assert_eq!((code, again.kind, again.verdict), (1, found.kind, found.verdict));
    assert_eq!(again.events, found.events);
}

#[test]
fn a_leak_of_a_run_that_ends_well_is_found_and_fails_it_on_demand() {
    let folder = tempfile::tempdir().unwrap();
    let (code, _, err, record) = diagnosed(folder.path(), &["--diagnose"], LEAKS);
    assert_eq!((code, record.diagnosis.unwrap().verdict), (0, Verdict::Leak), "{err}");
    assert!(record.verdicts.iter().all(|verdict| verdict.subject != "diagnosis"));
    assert_eq!(of_record(folder.path(), &[]).0, 0);
    assert_eq!(of_record(folder.path(), &["--fail-on", "fragmentation,leak"]).0, 1);
    assert_eq!(of_record(folder.path(), &["--fail-on", "fragmentation"]).0, 0);

    for (flags, code, status) in [
        (["--fail-on", "leak,capacity"], 1, VerdictStatus::Fail),
        (["--fail-on", "fragmentation"], 0, VerdictStatus::Pass),
    ] {
        let (ended, _, err, record) = diagnosed(folder.path(), &flags, LEAKS);
        let verdict = record.verdicts.iter().find(|verdict| verdict.subject == "diagnosis").unwrap();
        assert_eq!((ended, verdict.status), (code, status), "{err}");
    }
    for (name, meant) in [("leek", "did you mean `leak`?"), ("not-oom", "such as `leak` or `fragmentation`")] {
        let (code, _, err) = run(plimsoll().args(["run", "--fail-on", name, "--", "true"]));
        assert!(code == 2 && err.contains(name) && err.contains(meant), "{err}");
    }
}

#[test]
fn the_streams_pass_byte_for_byte_and_in_their_order_where_they_are_one() {
    let folder = tempfile::tempdir().unwrap();
    let script = "printf 'no \\377 text\\rbar'; printf 'half a ' >&2; cat; echo line >&2; exit 9";
    let mut command = plimsoll();
    command.args(["run", "--diagnose", "--json", "--", "sh", "-c", script]).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"given").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(9), &b"no \xff text\rbargiven"[..]));
    assert!(output.stderr.starts_with(b"half a line\n{"));

    let both = folder.path().join("both.log");
    let log = File::create(&both).unwrap();
    let script = "i=0; while [ $i -lt 200 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done";
    let mut command = plimsoll();
    command.args(["run", "--diagnose", "--json", "--", "sh", "-c", script]).stdin(Stdio::null());
    assert!(command.stdout(log.try_clone().unwrap()).stderr(log).status().unwrap().success());
    let expected: String = (0..200).map(|i| format!("out {i}\nerr {i}\n")).collect();
    assert!(fs::read_to_string(both).unwrap().starts_with(&expected));
}

#[test]
fn a_terminal_stays_a_terminal_and_is_read_all_the_same() {
    let ours = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    rustix::pty::grantpt(&ours).unwrap();
    rustix::pty::unlockpt(&ours).unwrap();
    let name = rustix::pty::ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    let terminal = || Stdio::from(File::options().read(true).write(true).open(&name).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.json");
    let mut command = plimsoll();
    command.args(["run", "--diagnose", "--record"]).arg(&path);
    command.args(["--", "sh", "-c", &format!("test -t 0 && test -t 1 && test -t 2 || exit 5; {FULL}")]);
    let mut child = command.stdin(terminal()).stdout(terminal()).stderr(terminal()).spawn().unwrap();
    drop(command);
    let mut shown = Vec::new();
    let _ = File::from(ours).read_to_end(&mut shown);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(String::from_utf8_lossy(&shown).contains("✗ capacity"));
    assert_eq!(Record::read(&path).unwrap().diagnosis.unwrap().verdict, Verdict::Capacity);
}

#[test]
fn a_kill_is_an_event_and_a_failure_without_a_reason_says_so() {
    let folder = tempfile::tempdir().unwrap();
    for flags in [&["--diagnose"][..], &[]] {
        let (code, _, err, _) = diagnosed(folder.path(), flags, "kill -9 $$");
        assert_eq!(code, 137, "{err}");
        let (code, found) = of_record(folder.path(), &[]);
        assert_eq!((code, found.verdict), (1, Verdict::SigkillUnattributed), "{flags:?}");
    }
    // Without --diagnose its output is not known.
    diagnosed(folder.path(), &[], "exit 3");
    let (code, found) = of_record(folder.path(), &[]);
    assert_eq!((code, found.kind), (0, Kind::None));
    assert!(found.dismissed[0].reason.contains("--diagnose"), "{found:?}");
    let (code, _, err, record) = diagnosed(folder.path(), &["--diagnose"], "echo ValueError: 3 >&2; exit 3");
    assert_eq!((code, record.diagnosis.unwrap().kind), (3, Kind::None), "{err}");
    assert!(of_record(folder.path(), &[]).1.dismissed.is_empty());
}

#[test]
fn the_phase_in_which_it_ended_is_named_and_every_run_is_read() {
    let folder = tempfile::tempdir().unwrap();
    // A mark is answered once the phase has begun, however soon the command ends afterwards.
    let script = format!("{program} mark load; {program} mark train; {FULL}", program = env!("CARGO_BIN_EXE_plimsoll"));
    let (_, _, err, record) = diagnosed(folder.path(), &["--diagnose"], &script);
    let found = record.diagnosis.unwrap();
    assert!(found.events[0].explanation.ends_with("ended in the phase `train`."), "{err}");

    let mark = folder.path().join("second").display().to_string();
    let script = format!("test -e {mark} || {{ touch {mark}; exit 0; }}; {FULL}");
    let (code, _, err, record) = diagnosed(folder.path(), &["--diagnose", "--repeat", "3"], &script);
    let found = record.diagnosis.unwrap();
    assert_eq!((code, found.events[0].evidence[0].file.as_str()), (1, "output of run 2"), "{err}");
    assert_eq!(found.inputs.len(), 2, "the run that failed was the last");
}

#[test]
fn two_commands_in_turns_are_not_watched() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    let (code, _, err) = run(command.args(["ab", "--repeat", "1", "--diagnose", "--", "true", "--vs", "true"]));
    assert!(code == 2 && err.contains("--diagnose"), "{err}");
}
