//! Creates a control group, and removes it again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::hierarchy::{CgroupVersion, Group, words_of};
use crate::meter::error::MeterError;
use crate::meter::process::ProcessId;
use crate::meter::text::numbers;

const PREFIX: &str = "plimsoll-";
/// A group whose creator is invisible counts as abandoned only at this age: the creator may be in another PID
/// namespace.
const LEFT_BEHIND: Duration = Duration::from_secs(600);
/// A group stays busy for a moment after its last process has ended.
const TRIES: u32 = 50;
const PAUSE_BETWEEN_TRIES: Duration = Duration::from_millis(2);

/// A group that was created here, removed on drop.
#[derive(Debug)]
pub(super) struct Created {
    path: PathBuf,
    /// Where remaining processes are moved: the group of the process that created it.
    origin: PathBuf,
}

impl Drop for Created {
    fn drop(&mut self) {
        for _ in 0..TRIES {
            match fs::remove_dir(&self.path) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {}
                // A group that cannot be removed is left for the next process that creates one.
                _ => return,
            }
            for pid in numbers(&fs::read(self.path.join("cgroup.procs")).unwrap_or_default()) {
                // A process that has ended meanwhile is in no group.
                let _ = fs::write(self.origin.join("cgroup.procs"), pid.to_string());
            }
            std::thread::sleep(PAUSE_BETWEEN_TRIES);
        }
    }
}

/// Creates a group below `own`, or in version 2 below the nearest ancestor that gives its children the controller.
pub(super) fn create(own: &Group, name: &str) -> Result<(Group, Created), MeterError> {
    let parent = match own.version {
        CgroupVersion::V1 => own.path.clone(),
        CgroupVersion::V2 => parent(own)?,
    };
    remove_left_behind(&parent);
    let path = parent.join(file_name(name)?);
    fs::create_dir(&path).map_err(|source| MeterError::cgroup("create", &path, source))?;
    let created = Created { path: path.clone(), origin: own.path.clone() };
    let group = Group { version: own.version, path, mount: own.mount.clone() };
    // A kernel without the controller still creates a directory.
    let limit = group.path.join(super::counters::names(own.version).limit);
    if !limit.exists() {
        return Err(MeterError::NoCgroup { reason: format!("{} has no memory controller", parent.display()) });
    }
    Ok((group, created))
}

/// The nearest group, from `own` upwards, that gives its children the memory controller.
pub(super) fn parent(own: &Group) -> Result<PathBuf, MeterError> {
    for path in own.path.ancestors().take_while(|path| path.starts_with(&own.mount)) {
        if words_of(fs::read(path.join("cgroup.subtree_control")).ok(), b"memory") {
            // Moving a process requires write access to the group above both places.
            let procs = path.join("cgroup.procs");
            return match rustix::fs::access(&procs, rustix::fs::Access::WRITE_OK) {
                Ok(()) => Ok(path.to_owned()),
                Err(source) => Err(MeterError::cgroup("create a group below that of", procs, source)),
            };
        }
        // A group created above this one would escape its limit.
        let limit = fs::read(path.join("memory.max")).unwrap_or_default();
        if !limit.is_empty() && limit.trim_ascii() != b"max" {
            return Err(MeterError::NoCgroup {
                reason: format!("{} has a limit that a group beside it would escape", path.display()),
            });
        }
    }
    Err(MeterError::NoCgroup {
        reason: format!("no group from {} upwards gives its children the memory controller", own.path.display()),
    })
}

/// `plimsoll-PID-START-COUNT-NAME`: PID and START show whether its creator still exists.
pub(super) fn file_name(name: &str) -> Result<String, MeterError> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let ProcessId { pid, start_ticks } = ProcessId::of(std::process::id())?;
    let plain = |c: char| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '-' };
    let name: String = name.chars().take(64).map(plain).collect();
    Ok(format!("{PREFIX}{pid}-{start_ticks}-{}-{name}", COUNT.fetch_add(1, Ordering::Relaxed)))
}

/// The process that created a group of this name; `None` if the name is not ours.
fn maker(name: &str) -> Option<ProcessId> {
    let mut parts = name.strip_prefix(PREFIX)?.splitn(4, '-');
    let (pid, start_ticks) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    parts.next()?.parse::<u64>().ok()?;
    Some(ProcessId { pid, start_ticks })
}

/// Removes empty groups whose creators are gone.
fn remove_left_behind(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let gone = entry.file_name().to_str().and_then(maker).is_some_and(ProcessId::is_gone);
        let old = || entry.metadata().ok()?.modified().ok()?.elapsed().ok().map(|age| age > LEFT_BEHIND);
        if gone && old() == Some(true) {
            // A group that still has processes is busy, and stays.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hierarchy(files: &[(&str, &str)]) -> (tempfile::TempDir, Group) {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("user/scope");
        fs::create_dir_all(&own).unwrap();
        files.iter().for_each(|(name, text)| fs::write(dir.path().join(name), text).unwrap());
        let group = Group { version: CgroupVersion::V2, path: own, mount: dir.path().into() };
        (dir, group)
    }

    #[test]
    fn a_group_is_made_below_the_nearest_that_gives_the_controller() {
        let (dir, own) = hierarchy(&[
            ("cgroup.subtree_control", "memory\n"),
            ("cgroup.procs", ""),
            ("user/cgroup.subtree_control", "cpu memory pids\n"),
            ("user/cgroup.procs", ""),
            ("user/scope/cgroup.subtree_control", "\n"),
            ("user/scope/memory.max", "max\n"),
        ]);
        assert_eq!(parent(&own).unwrap(), dir.path().join("user"));
        fs::write(dir.path().join("user/cgroup.subtree_control"), "cpu\n").unwrap();
        assert_eq!(parent(&own).unwrap(), dir.path());
        // The directory of this test is not a control group, so a folder created in it has no controller.
        let error = create(&own, "a/b c").unwrap_err();
        assert!(error.to_string().contains("has no memory controller"), "{error}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3, "what could not be used is removed");
    }

    #[test]
    fn no_limit_is_escaped_and_nothing_is_made_where_nothing_can_be() {
        let (_dir, own) = hierarchy(&[
            ("user/cgroup.subtree_control", "memory\n"),
            ("user/cgroup.procs", ""),
            ("user/scope/memory.max", "536870912\n"),
        ]);
        let error = parent(&own).unwrap_err().to_string();
        assert!(error.contains("user/scope has a limit that a group beside it would escape"), "{error}");
        let (_dir, own) = hierarchy(&[]);
        assert!(parent(&own).unwrap_err().to_string().contains("no group from "));
    }

    #[test]
    fn what_a_crash_left_behind_is_removed_once_it_is_old() {
        let dir = tempfile::tempdir().unwrap();
        let own = file_name("own").unwrap();
        for (name, minutes) in
            [("plimsoll-4294967295-1-0-old", 20), ("plimsoll-4294967295-1-1-new", 0), (&own, 20), ("x", 20)]
        {
            fs::create_dir(dir.path().join(name)).unwrap();
            let when = std::time::SystemTime::now() - Duration::from_secs(minutes * 60);
            fs::File::open(dir.path().join(name)).unwrap().set_modified(when).unwrap();
        }
        remove_left_behind(dir.path());
        let mut left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        let mut expected = [own.as_str(), "plimsoll-4294967295-1-1-new", "x"];
        expected.sort_unstable();
        assert_eq!(left, expected);
    }

    #[test]
    fn names_show_who_made_a_group() {
        let name = file_name("a/b c").unwrap();
        assert!(name.ends_with("-a-b-c"), "{name}");
        assert_eq!(maker(&name), Some(ProcessId::of(std::process::id()).unwrap()));
        assert_ne!(name, file_name("a/b c").unwrap());
        for name in ["plimsoll", "plimsoll-7-x-0-a", "system.slice", "plimsoll-1-2", "plimsoll-99999999999-1-1-a"] {
            assert_eq!(maker(name), None, "{name}");
        }
    }
}
