//! Whatever a kernel, a file or a disk does, the run ends in a typed result and a complete record.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use plimsoll::record::{Failure, FailureKind, Record, RunState, ValidationStatus, VerdictStatus};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Scene, comes, kernel, plimsoll, run, torch_python, writer_of};

fn command(scene: &Scene, name: &str, flags: &[&str]) -> Option<Command> {
    let python = torch_python()?;
    let mut command = scene.command("validate");
    command.arg("--kernel").arg(kernel(name)).arg("--python").arg(python).args(flags);
    Some(command)
}

/// Runs a kernel that fails on both entries of a capture; returns the failure of the second, which had its own worker.
fn fails(name: &str, flags: &[&str]) -> Option<Failure> {
    let scene = Scene::new(2);
    let (code, record) = scene.run(&mut command(&scene, name, flags)?);
    assert_eq!((code, record.state), (1, RunState::Complete));
    let error = |index: usize| *record.results.entries[index].validation.clone().unwrap().error.unwrap();
    assert_eq!(error(0).kind, error(1).kind);
    Some(error(1))
}

#[test]
fn a_kernel_that_segfaults() {
    let Some(failure) = fails("segfault", &[]) else { return };
    assert_eq!((failure.kind, failure.signal), (FailureKind::Signal, Some(11)));
    assert!(failure.message.contains("SIGSEGV"));
}

#[test]
fn a_kernel_that_hangs_and_ignores_sigterm() {
    let Some(failure) = fails("hang", &["--timeout", "1s"]) else { return };
    assert_eq!(failure.kind, FailureKind::Timeout);
    assert!(failure.message.contains("1s"), "{}", failure.message);
    assert!(failure.stderr.unwrap().ends_with("hang.py\", line 10 in launch"));
}

/// A kernel whose import waits for what never comes ends soon, and its file shows where.
#[test]
fn a_kernel_that_hangs_while_it_is_loaded() {
    let Some(failure) = fails("hangs_at_import", &["--timeout", "1s"]) else { return };
    assert_eq!(failure.kind, FailureKind::Timeout);
    assert!(failure.message.contains("compiled nothing for 10s"), "{}", failure.message);
    let stderr = failure.stderr.unwrap();
    assert!(
        stderr.contains("hangs_at_import.py\", line 7 in <module>\n") && !stderr.contains("<plimsoll>"),
        "{stderr}"
    );
    assert!(stderr.lines().last().unwrap().ends_with(" in wait"), "the last call is the last line: {stderr}");
}

#[test]
fn a_kernel_that_allocates_without_end_is_stopped_at_the_ceiling() {
    let Some(failure) = fails("allocate", &["--peak-anon", "2GiB"]) else { return };
    assert_eq!(failure.kind, FailureKind::Ceiling);
    assert!(failure.message.contains("2.00 GiB"), "{}", failure.message);
}

#[test]
fn a_kernel_that_asks_for_more_than_there_is() {
    let Some(failure) = fails("too_large", &[]) else { return };
    assert_eq!(failure.kind, FailureKind::HostOom);
}

#[test]
fn a_kernel_that_raises_shows_its_traceback() {
    let Some(failure) = fails("raises", &[]) else { return };
    assert_eq!(failure.kind, FailureKind::Exception);
    assert!(failure.message.contains("no kernel for 7 arguments"), "{}", failure.message);
    assert!(failure.detail.unwrap().contains("raises.py"));
}

#[test]
fn a_kernel_that_exits() {
    let Some(failure) = fails("exits", &[]) else { return };
    assert_eq!((failure.kind, failure.exit_code), (FailureKind::Exit, Some(3)));
}

#[test]
fn a_kernel_that_closes_the_channel() {
    let Some(failure) = fails("closes_all", &[]) else { return };
    assert!(matches!(failure.kind, FailureKind::ChannelClosed | FailureKind::Exit), "{failure:?}");
}

/// The child of a process, once its launch hangs.
fn worker_of(child: &Child) -> Pid {
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let mut worker = None;
    let came = comes(|| {
        let text = fs::read_to_string(&children).unwrap_or_default();
        let first = text.split_whitespace().find_map(|pid| pid.parse().ok());
        worker = first.filter(|pid| fs::read_to_string(format!("/proc/{pid}/status")).is_ok_and(|s| hangs(&s)));
        worker.is_some()
    });
    assert!(came, "no worker came to hang");
    Pid::from_raw(worker.unwrap()).unwrap()
}

/// The kernel `hang` ignores SIGTERM (15): the mask of ignored signals shows when it runs.
fn hangs(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).map(str::trim);
    mask.and_then(|m| u64::from_str_radix(m, 16).ok()).is_some_and(|m| m & (1 << 14) != 0)
}

#[test]
fn a_worker_killed_in_mid_entry_costs_that_entry_alone() {
    let scene = Scene::new(2);
    let Some(mut command) = command(&scene, "hang", &["--timeout", "1h"]) else { return };
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let first = worker_of(&child);
    kill_process(first, Signal::KILL).unwrap();
    loop {
        let second = worker_of(&child);
        if second != first {
            kill_process(second, Signal::KILL).unwrap();
            break;
        }
    }
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let record = Record::read(&scene.record()).unwrap();
    for result in &record.results.entries {
        let error = result.validation.as_ref().unwrap().error.as_ref().unwrap();
        assert_eq!((error.kind, error.signal), (FailureKind::Signal, Some(9)), "{error:?}");
    }
}

#[test]
fn ctrl_c_ends_every_child_and_leaves_a_record_that_says_so() {
    let scene = Scene::new(3);
    let Some(mut command) = command(&scene, "hang", &[]) else { return };
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let worker = worker_of(&child);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!Path::new(&format!("/proc/{}", worker.as_raw_nonzero())).exists());
    let record = Record::read(&scene.record()).unwrap();
    assert_eq!(record.state, RunState::Interrupted);
    // Nobody knows whether the kernel would have failed.
    let verdict = &record.verdicts[0];
    assert_eq!((verdict.status, record.exit_code), (VerdictStatus::Inconclusive, 3), "{}", verdict.message);
    let results: Vec<_> = record.results.entries.iter().map(|result| result.validation.clone().unwrap()).collect();
    let reasons: Vec<_> = results.iter().map(|result| (result.status, result.not_run.as_deref().unwrap())).collect();
    let (during, before) = ("the run was interrupted during its launch", "the run was interrupted before it");
    assert_eq!(reasons, [during, before, before].map(|reason| (ValidationStatus::NotRun, reason)));
}

#[test]
fn ctrl_c_while_a_kernel_is_timed_is_no_failure_of_it() {
    let record = interrupted(&[]);
    assert_eq!(record.verdicts[0].message, "0 of 2 entries timed, 2 were not run");
}

#[test]
fn ctrl_c_while_a_kernel_is_audited_is_no_failure_of_it() {
    let record = interrupted(&["--audit"]);
    assert!(record.verdicts[0].message.starts_with("0 of 2 entries timed"), "{:?}", record.verdicts);
}

/// The record of a `profile` with `flags` that is interrupted while its kernel is timed.
fn interrupted(flags: &[&str]) -> Record {
    let scene = Scene::new(2);
    let mut command = scene.command("profile");
    command.args(["--kernel", "builtin:embedding", "--launches", "1000000000"]).args(flags);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // A worker has begun to time once it has used this much processor time, in clock ticks.
    let ticks = |pid: &str| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit(')').next()?.split_whitespace().nth(11)?.parse::<u64>().ok()
    };
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let workers = || fs::read_to_string(&children).unwrap_or_default();
    assert!(comes(|| workers().split_whitespace().any(|pid| ticks(pid) > Some(50))), "no worker times anything");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let record = Record::read(&scene.record()).unwrap();
    assert_eq!((record.state, record.exit_code), (RunState::Interrupted, 3), "{:?}", record.verdicts);
    for result in &record.results.entries {
        let error = &result.profile.as_ref().unwrap().error;
        assert!(error.is_none(), "{error:?}");
    }
    record
}

#[test]
fn a_supervisor_that_is_killed_takes_its_worker_with_it() {
    let scene = Scene::new(1);
    let Some(mut command) = command(&scene, "hang", &[]) else { return };
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let worker = worker_of(&child);
    child.kill().unwrap();
    child.wait().unwrap();
    let alive = || {
        fs::read_to_string(format!("/proc/{}/status", worker.as_raw_nonzero())).is_ok_and(|s| !s.contains("State:\tZ"))
    };
    assert!(comes(|| !alive()), "the worker lives on");
}

/// Changes entry 1 while the kernel hangs on entry 0, whose worker is then killed.
fn entry_changed_during_the_run(change: impl FnOnce(&Scene)) -> Option<Record> {
    let scene = Scene::new(2);
    let mut command = command(&scene, "hang", &["--timeout", "1h"])?;
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let worker = worker_of(&child);
    change(&scene);
    kill_process(worker, Signal::KILL).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    Some(Record::read(&scene.record()).unwrap())
}

#[test]
fn an_entry_removed_or_truncated_while_the_run_goes_on() {
    let removed = |scene: &Scene| fs::remove_file(scene.entry(1)).unwrap();
    let truncated = |scene: &Scene| {
        let file = fs::OpenOptions::new().write(true).open(scene.entry(1)).unwrap();
        file.set_len(1000).unwrap();
    };
    for record in [entry_changed_during_the_run(removed), entry_changed_during_the_run(truncated)] {
        let Some(record) = record else { return };
        let error = record.results.entries[1].validation.as_ref().unwrap().error.as_ref().unwrap();
        assert_eq!(error.kind, FailureKind::Input);
        assert!(error.message.contains("entry_000001.pt"), "{}", error.message);
    }
}

#[test]
fn a_full_disk_under_the_record_is_found_before_the_work() {
    let scene = Scene::new(1);
    let disk = scene.path("disk");
    fs::create_dir(&disk).unwrap();
    let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(&disk).output();
    if !mount.is_ok_and(|output| output.status.success()) {
        eprintln!("not run: it mounts a small tmpfs, which needs root");
        assert!(std::env::var_os("CI").is_none(), "CI runs as root");
        return;
    }
    let mut command = plimsoll();
    command
        .arg("check")
        .arg(scene.capture())
        .args(["--kernel", "builtin:embedding", "--record"])
        .arg(disk.join("r.json"));
    let (code, _, err) = run(&mut command);
    let left = fs::read_dir(&disk).unwrap().count();
    assert!(Command::new("umount").arg(&disk).status().unwrap().success());
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("r.json") && err.contains("space"), "{err}");
    assert_eq!(left, 0);
}

/// `check` on the kernel of the library of signals.
fn check_signals(scene: &Scene) -> Command {
    let library = crate::library::built(scene, "tests/kernels/library/signals.c");
    let mut command = scene.command("check");
    command.args(["--kernel", &crate::library::kernel(&library, "signals_its_parent")]);
    command.args(["--launches", "5", "--warmup", "1"]);
    command
}

#[test]
fn signals_of_a_kernel_to_the_supervisor_end_nothing() {
    let scene = Scene::new(2);
    let (code, record) = scene.run(&mut check_signals(&scene));
    assert_eq!((code, record.state), (0, RunState::Complete), "{:#?}", record.verdicts);
}

#[test]
fn a_check_that_waits_for_a_record_can_be_ended() {
    let scene = Scene::new(1);
    let pipe = scene.path("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
    let mut check = scene.command("check");
    let mut child = check.args(["--kernel", "builtin:embedding", "--resume"]).arg(&pipe).spawn().unwrap();
    // The check goes on to wait for what is written.
    let _writer = writer_of(&pipe);
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&child.wait().unwrap()), Some(15));
}

#[test]
fn a_worker_that_is_killed_while_it_starts_is_started_once_more() {
    for (kills, code) in [("1", 0), ("2", 1)] {
        let scene = Scene::new(3);
        let folder = scene.path("kills");
        fs::create_dir(&folder).unwrap();
        let mut check = check_signals(&scene);
        let (found, record) = scene.run(check.env("TEST_KILLS", kills).env("TEST_KILLS_IN", &folder));
        assert_eq!(found, code, "{kills} killed: {:#?}", record.verdicts);
        assert_eq!(fs::read_dir(&folder).unwrap().count().to_string(), kills);
        let failed = record.results.entries.iter().filter(|entry| entry.validation.as_ref().unwrap().error.is_some());
        assert_eq!(failed.count(), if code == 0 { 0 } else { 3 });
        // The killed worker is in the record like any other.
        assert_eq!(record.releases[0].reason, plimsoll::record::ReleaseReason::Failure);
    }
}

#[test]
fn a_record_that_does_not_fit_on_the_disk_is_no_verdict_that_holds() {
    let scene = Scene::new(1200);
    let disk = scene.path("disk");
    fs::create_dir(&disk).unwrap();
    // Room for what is reserved in advance, and no more.
    let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=1032k", "tmpfs"]).arg(&disk).output();
    if !mount.is_ok_and(|output| output.status.success()) {
        eprintln!("not run: it mounts a small tmpfs, which needs root");
        assert!(std::env::var_os("CI").is_none(), "CI runs as root");
        return;
    }
    let mut command = plimsoll();
    command.arg("check").arg(scene.capture()).args(["--kernel", "builtin:embedding", "--launches", "1"]);
    let (code, out, err) = run(command.arg("--record").arg(disk.join("r.json")));
    assert!(Command::new("umount").arg(&disk).status().unwrap().success());
    assert!(code == 2 && err.contains("r.json") && err.contains("space"), "{code} {err}");
    assert!(!out.contains("HOLDS") && !out.contains("exit 0"), "{out}");
}
