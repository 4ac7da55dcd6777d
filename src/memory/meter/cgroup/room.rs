//! Makes room for control groups if the process's group allows none: in version 2 a group with processes gives its
//! children no controllers, and the groups above it belong to others.
//!
//! - If this user owns the group and nobody else is in it (a delegated scope, a container's group), it becomes a
//!   parent: the process moves into a leaf below it.
//! - Otherwise the user's systemd is asked for a scope with `Delegate=yes` (`busctl --user call`), as BenchExec does,
//!   and the same happens there. A login session needs this: its own scope belongs to root.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::create::{file_name, parent};
use super::hierarchy::{CgroupVersion, Group, words_of};
use crate::meter::error::MeterError;
use crate::meter::process::ProcessId;
use crate::meter::text::numbers;

/// How long systemd may take to move a process into its scope.
const WAIT_FOR_SCOPE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(2);

/// Makes it possible to create groups from where this process is, which may move it permanently.
///
/// `companions` are processes of this user that may move with it, because they belong to the same program.
pub(super) fn make_room(own: impl Fn() -> Result<Group, MeterError>, companions: &[u32]) -> Result<(), MeterError> {
    let group = own()?;
    if group.version == CgroupVersion::V1 {
        return Err(no_room("version 1 cannot delegate groups to a user"));
    }
    if parent(&group).is_ok() {
        return Ok(());
    }
    let pid = std::process::id();
    let taken = take_over(&group, &[companions, &[pid]].concat());
    let Err(own_is_not) = taken else { return Ok(()) };
    // A scope is elsewhere, so it would escape limits of this group that do not apply to all of the user's groups.
    if let Some(limited) = limited_above(&group) {
        return Err(no_room(&format!("{limited} has a limit that a scope would escape")));
    }
    let name = request_scope(pid)
        .map_err(|reason| no_room(&format!("{own_is_not}; no scope of the user's systemd: {reason}")))?;
    let scope = await_scope(&own, &name)?;
    take_over(&scope, &[pid]).map_err(|reason| no_room(&format!("the scope {name}: {reason}")))
}

fn no_room(reason: &str) -> MeterError {
    MeterError::NoCgroup { reason: reason.to_owned() }
}

/// Turns a group into a parent: its processes, all of which must be among `ours`, move into a leaf below it.
fn take_over(group: &Group, ours: &[u32]) -> Result<(), String> {
    let path = &group.path;
    let failed = |what: &str, error: std::io::Error| format!("{what} {}: {error}", path.display());
    if !words_of(fs::read(path.join("cgroup.controllers")).ok(), b"memory") {
        return Err(format!("{} has no memory controller", path.display()));
    }
    let procs = fs::read(path.join("cgroup.procs")).map_err(|error| failed("cannot read", error))?;
    let others = numbers(&procs).filter(|pid| !ours.iter().any(|own| u64::from(*own) == *pid)).count();
    if others > 0 {
        return Err(format!("{} has {others} processes of others in it", path.display()));
    }
    let leaf = path.join(file_name("self").map_err(|error| error.to_string())?);
    fs::create_dir(&leaf).map_err(|error| failed("cannot create a group in", error))?;
    let give_up = |what: &str, error: std::io::Error| {
        for pid in numbers(&fs::read(leaf.join("cgroup.procs")).unwrap_or_default()) {
            let _ = fs::write(path.join("cgroup.procs"), pid.to_string());
        }
        let _ = fs::remove_dir(&leaf);
        failed(what, error)
    };
    for pid in numbers(&procs) {
        fs::write(leaf.join("cgroup.procs"), pid.to_string())
            .map_err(|error| give_up("cannot move a process within", error))?;
    }
    fs::write(path.join("cgroup.subtree_control"), "+memory")
        .map_err(|error| give_up("cannot give groups the memory controller in", error))
}

/// The nearest group with its own limit. A limit on a whole slice also applies to scopes in it.
fn limited_above(group: &Group) -> Option<String> {
    let above = group.path.ancestors().take_while(|path| path.starts_with(&group.mount));
    let is_slice = |path: &Path| path.extension().is_some_and(|extension| extension == "slice");
    let limit = |path: &Path| fs::read(path.join("memory.max")).unwrap_or_default();
    let is_limited = |path: &&Path| {
        let limit = limit(path);
        !limit.is_empty() && limit.trim_ascii() != b"max"
    };
    above.filter(|path| !is_slice(path)).find(is_limited).map(|path| path.display().to_string())
}

/// Asks the user's systemd to put this process into a scope of its own; returns the scope's name.
fn request_scope(pid: u32) -> Result<String, String> {
    let ProcessId { start_ticks, .. } = ProcessId::of(pid).map_err(|error| error.to_string())?;
    let name = format!("plimsoll-{pid}-{start_ticks}.scope");
    let mut command = Command::new("busctl");
    command.args(["--user", "--quiet", "--timeout=5", "call", "org.freedesktop.systemd1", "/org/freedesktop/systemd1"]);
    command.args(["org.freedesktop.systemd1.Manager", "StartTransientUnit", "ssa(sv)a(sa(sv))", &name, "fail", "4"]);
    command.args(["Description", "s", "plimsoll run", "Delegate", "b", "true", "CollectMode", "s"]);
    command.args(["inactive-or-failed", "PIDs", "au", "1", &pid.to_string(), "0"]);
    // A session without a login (cron, su) can still find the bus, if the user has one.
    if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        command.env("XDG_RUNTIME_DIR", format!("/run/user/{}", rustix::process::geteuid().as_raw()));
    }
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("busctl: {error}"))?;
    if output.status.success() {
        return Ok(name);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said.lines().next().map_or_else(|| format!("busctl: {}", output.status), |line| line.trim().to_owned()))
}

/// Waits until this process is in the scope: systemd answers before it has moved it.
fn await_scope(own: &impl Fn() -> Result<Group, MeterError>, name: &str) -> Result<Group, MeterError> {
    let began = Instant::now();
    loop {
        let group = own()?;
        if group.path.file_name().is_some_and(|file| file == name) {
            return Ok(group);
        }
        if began.elapsed() > WAIT_FOR_SCOPE {
            return Err(no_room(&format!("systemd did not move this process into the scope {name}")));
        }
        std::thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(files: &[(&str, &str)]) -> (tempfile::TempDir, Group) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("user.slice/session-1.scope");
        fs::create_dir_all(&path).unwrap();
        files.iter().for_each(|(name, text)| fs::write(path.join(name), text).unwrap());
        let group = Group { version: CgroupVersion::V2, path, mount: dir.path().into() };
        (dir, group)
    }

    #[test]
    fn a_group_of_our_own_becomes_a_parent_and_one_of_others_does_not() {
        let files =
            [("cgroup.controllers", "cpu memory\n"), ("cgroup.procs", "7\n9\n"), ("cgroup.subtree_control", "")];
        let (_dir, group) = group(&files);
        let error = take_over(&group, &[7]).unwrap_err();
        assert!(error.contains("1 processes of others"), "{error}");
        take_over(&group, &[9, 7]).unwrap();
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        assert_eq!(read(&group.path.join("cgroup.subtree_control")), "+memory");
        let leaf = fs::read_dir(&group.path).unwrap().flatten().find(|entry| entry.path().is_dir()).unwrap();
        // The kernel moves each process that is written; a regular file keeps the last one.
        assert_eq!(read(&leaf.path().join("cgroup.procs")), "9");
    }

    #[test]
    fn processes_go_back_if_the_group_cannot_become_a_parent() {
        let (_dir, group) = group(&[("cgroup.controllers", "memory\n"), ("cgroup.procs", "7\n9\n")]);
        // What cannot be written to, whoever tries.
        fs::create_dir(group.path.join("cgroup.subtree_control")).unwrap();
        let error = take_over(&group, &[9, 7]).unwrap_err();
        assert!(error.contains("cannot give groups the memory controller"), "{error}");
        // The leaf of this test has the last process alone, which a kernel would have moved back as it does each.
        assert_eq!(fs::read_to_string(group.path.join("cgroup.procs")).unwrap(), "9");
    }

    #[test]
    fn a_group_without_the_controller_is_left_as_it_is() {
        let (_dir, group) = group(&[("cgroup.controllers", "cpu\n"), ("cgroup.procs", "7\n")]);
        let error = take_over(&group, &[7]).unwrap_err();
        assert!(error.contains("no memory controller"), "{error}");
        assert!(fs::read_dir(&group.path).unwrap().flatten().all(|entry| entry.path().is_file()));
    }

    #[test]
    fn a_limit_of_a_slice_is_no_reason_against_a_scope_and_one_of_a_scope_is() {
        let (dir, group) = group(&[("memory.max", "max\n")]);
        fs::write(dir.path().join("user.slice/memory.max"), "1073741824\n").unwrap();
        assert_eq!(limited_above(&group), None);
        fs::write(group.path.join("memory.max"), "1073741824\n").unwrap();
        assert!(limited_above(&group).unwrap().ends_with("session-1.scope"));
    }

    #[test]
    fn version_1_is_rejected() {
        let own = || Ok(Group { version: CgroupVersion::V1, path: "/x".into(), mount: "/".into() });
        let error = make_room(own, &[]).unwrap_err().to_string();
        assert!(error.contains("version 1 cannot delegate groups to a user"), "{error}");
    }
}
