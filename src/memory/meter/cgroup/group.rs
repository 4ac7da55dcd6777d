//! [`Cgroup`]: a handle of a control group.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};

use super::counters::{CgroupEvents, CgroupStat, names};
use super::create::{Created, create};
use super::hierarchy::{CgroupVersion, Group};
use super::limits::CgroupLimits;
use super::peak::{bytes, open_peak, read_peak, reset_peak};
use super::room;
use crate::bytes::ByteSize;
use crate::meter::error::MeterError;
use crate::meter::pressure::MemoryPressure;
use crate::meter::text::read_file;

/// A memory control group: one that a process is in, or one created here.
///
/// Handles are cheap to clone; a created group is removed with its last handle.
#[derive(Clone, Debug)]
pub struct Cgroup(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    group: Group,
    /// Removes the group with the last handle; absent for a group that was not created here.
    created: Option<Created>,
    /// The file of the peak, kept open because a reset in version 2 applies to one open file.
    peak: OnceLock<Option<OwnedFd>>,
}

impl PartialEq for Cgroup {
    /// Whether both are the same group.
    fn eq(&self, other: &Self) -> bool {
        self.0.group == other.0.group
    }
}

impl Eq for Cgroup {}

impl Cgroup {
    /// The memory group of the process `pid`.
    ///
    /// # Errors
    /// [`MeterError::Read`] if there is no such process, [`MeterError::NoCgroup`] if it is in no group that counts
    /// memory.
    pub fn of(pid: u32) -> Result<Self, MeterError> {
        Ok(Self::new(Self::group_of(pid)?, None))
    }

    fn group_of(pid: u32) -> Result<Group, MeterError> {
        let read = |path: String| read_file(&path).map_err(|source| MeterError::read(path, source));
        let groups = read(format!("/proc/{pid}/cgroup"))?;
        let mounts = read(format!("/proc/{pid}/mountinfo"))?;
        Group::all(&groups, &mounts)
            .into_iter()
            .find(|group| group.has_memory(&|path| read_file(path).ok()))
            .ok_or_else(|| MeterError::NoCgroup { reason: "no hierarchy with a memory controller is mounted".into() })
    }

    /// Creates a group below or beside that of this process. Its name contains this process and `name`, in which
    /// characters other than letters, digits, `_`, `.` and `-` are replaced. The group is removed with its last handle;
    /// remaining processes return to the group of this process.
    ///
    /// # Errors
    /// [`MeterError::NoCgroup`] if this process is in no memory group, or in one from which none can be created;
    /// [`MeterError::Cgroup`] if the system refuses, for example for lack of permission.
    pub fn create(name: &str) -> Result<Self, MeterError> {
        let own = Self::of(std::process::id())?;
        let (group, created) = create(&own.0.group, name)?;
        Ok(Self::new(group, Some(created)))
    }

    /// Makes [`Cgroup::create`] possible, if necessary by moving this process: to a leaf of its own group if nobody
    /// else is in it, or to a scope that the user's systemd creates. The processes `companions` of the same program may
    /// share the group. For programs that may move themselves permanently, such as a command but not a library.
    ///
    /// # Errors
    /// [`MeterError::NoCgroup`] with what was tried, if that is impossible.
    pub fn make_room(companions: &[u32]) -> Result<(), MeterError> {
        room::make_room(|| Self::group_of(std::process::id()), companions)
    }

    pub(super) fn new(group: Group, created: Option<Created>) -> Self {
        Self(Arc::new(Inner { group, created, peak: OnceLock::new() }))
    }

    /// The cgroup version.
    pub fn version(&self) -> CgroupVersion {
        self.0.group.version
    }

    /// Its directory.
    pub fn path(&self) -> &Path {
        &self.0.group.path
    }

    /// Its path in the hierarchy, as far as this process can see it.
    pub fn name(&self) -> String {
        self.0.group.name()
    }

    /// Whether it was created here, so that it contains only what was put into it.
    pub fn is_own(&self) -> bool {
        self.0.created.is_some()
    }

    /// Limits the memory of all its processes, including page cache: beyond the limit the kernel reclaims, then kills.
    ///
    /// # Errors
    /// [`MeterError::Cgroup`] if the system refuses.
    pub fn limit_memory(&self, limit: ByteSize) -> Result<(), MeterError> {
        self.write(names(self.version()).limit, &limit.bytes().to_string())
    }

    /// Limits the swap of all its processes. Version 1 limits memory and swap together, so limit the memory first.
    ///
    /// # Errors
    /// [`MeterError::Cgroup`] if the system refuses, or if the kernel was booted without swap accounting.
    pub fn limit_swap(&self, limit: ByteSize) -> Result<(), MeterError> {
        let limit = match self.version() {
            CgroupVersion::V1 => self.number(names(self.version()).limit)? + limit,
            CgroupVersion::V2 => limit,
        };
        self.write(names(self.version()).swap_limit, &limit.bytes().to_string())
    }

    /// Makes the kernel kill all of its processes when it kills one for memory (`memory.oom.group`).
    ///
    /// # Errors
    /// [`MeterError::NoCgroup`] in version 1, which kills one process and lets the others run; [`MeterError::Cgroup`]
    /// if the system refuses, as before Linux 4.19.
    pub fn kill_whole_group(&self) -> Result<(), MeterError> {
        match self.version() {
            CgroupVersion::V1 => Err(MeterError::NoCgroup {
                reason: "version 1 has no memory.oom.group: the kernel kills one process of the group".into(),
            }),
            CgroupVersion::V2 => self.write("memory.oom.group", "1"),
        }
    }

    /// Kills all of its processes at once, including those in groups below it, however fast they fork (`cgroup.kill`).
    ///
    /// # Errors
    /// [`MeterError::Cgroup`] if the system refuses, as in version 1 and before Linux 5.14.
    pub fn kill(&self) -> Result<(), MeterError> {
        self.write("cgroup.kill", "1")
    }

    /// Moves a process into the group; memory that it already held stays counted in its previous group.
    ///
    /// # Errors
    /// [`MeterError::Cgroup`] if the system refuses.
    pub fn add(&self, pid: u32) -> Result<(), MeterError> {
        self.write("cgroup.procs", &pid.to_string())
    }

    /// A descriptor for a child that joins the group between fork and exec by writing `0` to it.
    ///
    /// # Errors
    /// [`MeterError::Cgroup`] if the system refuses.
    pub fn join_fd(&self) -> Result<OwnedFd, MeterError> {
        let path = self.file("cgroup.procs");
        rustix::fs::open(&path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|source| MeterError::cgroup("join", path, source))
    }

    /// Its limits, including those of the groups above it; absent if they cannot be read.
    pub fn limits(&self) -> Option<CgroupLimits> {
        CgroupLimits::of(&self.0.group, &|path| read_file(path).ok())
    }

    /// The present memory of its processes, including page cache.
    ///
    /// # Errors
    /// [`MeterError::Read`] if the counter does not exist, as in the root group of version 2.
    pub fn current(&self) -> Result<ByteSize, MeterError> {
        self.number(names(self.version()).current)
    }

    /// The kernel's mark of the most memory since the group was created or the mark was reset.
    ///
    /// # Errors
    /// [`MeterError::Read`] if the counter does not exist, as in version 2 before Linux 5.19.
    pub fn peak(&self) -> Result<ByteSize, MeterError> {
        let path = self.file(names(self.version()).peak);
        let peak = self.0.peak.get_or_init(|| open_peak(&path));
        read_peak(peak.as_ref(), &path)
    }

    /// Resets that mark to the present memory: in version 2 for this handle and its clones, in version 1 for everyone.
    ///
    /// # Errors
    /// [`MeterError::Cgroup`] if the system refuses, as in version 2 before Linux 6.12.
    pub fn reset_peak(&self) -> Result<(), MeterError> {
        let path = self.file(names(self.version()).peak);
        let peak = self.0.peak.get_or_init(|| open_peak(&path));
        reset_peak(peak.as_ref(), path)
    }

    /// The swapped memory of its processes.
    ///
    /// # Errors
    /// [`MeterError::Read`] if the kernel does not count it.
    pub fn swap(&self) -> Result<ByteSize, MeterError> {
        match self.version() {
            CgroupVersion::V1 => self.stat()?.swap.ok_or_else(|| MeterError::Malformed {
                path: self.file("memory.stat").display().to_string(),
                field: "total_swap",
            }),
            CgroupVersion::V2 => self.number("memory.swap.current"),
        }
    }

    /// The composition of its memory.
    ///
    /// # Errors
    /// [`MeterError::Read`] if it cannot be read.
    pub fn stat(&self) -> Result<CgroupStat, MeterError> {
        Ok(CgroupStat::parse(self.version(), &self.read("memory.stat")?))
    }

    /// How often it was short of memory.
    ///
    /// # Errors
    /// [`MeterError::Read`] if it cannot be read, as in the root group of version 2.
    pub fn events(&self) -> Result<CgroupEvents, MeterError> {
        Ok(match self.version() {
            CgroupVersion::V1 => CgroupEvents::version_1(&self.read("memory.oom_control")?),
            CgroupVersion::V2 => CgroupEvents::version_2(&self.read("memory.events")?),
        })
    }

    /// How many of its processes the kernel's out-of-memory killer killed; absent if it does not count them.
    ///
    /// # Errors
    /// [`MeterError::Read`] if it cannot be read.
    pub fn oom_kills(&self) -> Result<Option<u64>, MeterError> {
        Ok(self.events()?.oom_kills)
    }

    /// How long its tasks waited for memory; absent in version 1 and if the kernel does not report it.
    pub fn pressure(&self) -> Option<MemoryPressure> {
        match self.version() {
            CgroupVersion::V1 => None,
            CgroupVersion::V2 => MemoryPressure::parse(&self.read("memory.pressure").ok()?),
        }
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.0.group.path.join(name)
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, MeterError> {
        let path = self.file(name);
        read_file(&path).map_err(|source| MeterError::read(path.display().to_string(), source))
    }

    fn number(&self, name: &str) -> Result<ByteSize, MeterError> {
        bytes(&self.read(name)?, &self.file(name))
    }

    fn write(&self, name: &str, text: &str) -> Result<(), MeterError> {
        let path = self.file(name);
        let written =
            std::fs::OpenOptions::new().write(true).open(&path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|source| MeterError::cgroup("set", path, source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory with the files of a group as version 2 writes them.
    fn recorded(files: &[(&str, &str)]) -> (tempfile::TempDir, Cgroup) {
        let dir = tempfile::tempdir().unwrap();
        files.iter().for_each(|(name, text)| std::fs::write(dir.path().join(name), text).unwrap());
        let group = Group { version: CgroupVersion::V2, path: dir.path().into(), mount: dir.path().into() };
        (dir, Cgroup::new(group, None))
    }

    #[test]
    fn a_group_of_version_2_is_read_and_limited() {
        let pressure =
            "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n";
        let (dir, group) = recorded(&[
            ("memory.current", "1843200\n"),
            ("memory.peak", "9961472\n"),
            ("memory.swap.current", "4096\n"),
            ("memory.max", "max\n"),
            ("memory.swap.max", "max\n"),
            ("memory.oom.group", "0\n"),
            ("memory.events", "low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\n"),
            ("memory.stat", "anon 8192\nfile 1800000\n"),
            ("memory.pressure", pressure),
            ("cgroup.procs", ""),
        ]);
        assert_eq!(group.current().unwrap(), ByteSize::new(1_843_200));
        assert_eq!(group.peak().unwrap(), ByteSize::new(9_961_472));
        assert_eq!(group.swap().unwrap(), ByteSize::new(4096));
        assert_eq!(group.oom_kills().unwrap(), Some(1));
        assert_eq!(group.stat().unwrap().anon, Some(ByteSize::new(8192)));
        assert_eq!(group.pressure().unwrap().full_us, Some(5));
        group.limit_memory(ByteSize::mib(64)).unwrap();
        group.limit_swap(ByteSize::ZERO).unwrap();
        group.kill_whole_group().unwrap();
        group.add(77).unwrap();
        assert!(group.kill().unwrap_err().to_string().contains("cgroup.kill"), "an older kernel has none");
        let text = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
        // These are regular files, which keep the rest of their old contents.
        assert!(text("memory.max").starts_with("67108864") && text("memory.swap.max").starts_with('0'));
        assert!(text("memory.oom.group").starts_with('1') && text("cgroup.procs") == "77");
        group.reset_peak().unwrap();
        assert!(text("memory.peak").starts_with("0961472"));
        assert!(!group.is_own() && group == group.clone());
    }

    #[test]
    fn what_a_group_lacks_is_an_error_that_names_the_file() {
        let (dir, group) = recorded(&[("memory.current", "many\n")]);
        let path = dir.path().display().to_string();
        let error = group.peak().unwrap_err().to_string();
        assert!(error.contains(&format!("{path}/memory.peak")), "{error}");
        assert!(group.current().unwrap_err().to_string().contains("memory.current has no readable `number of bytes`"));
        let error = group.limit_memory(ByteSize::mib(1)).unwrap_err().to_string();
        assert!(error.contains("cannot set") && error.contains("memory.max"), "{error}");
        assert!(group.reset_peak().is_err() && group.join_fd().is_err() && group.events().is_err());
        assert_eq!((group.pressure(), group.limits()), (None, None));
    }

    #[test]
    fn the_group_of_this_process_is_found_or_the_reason_is_given() {
        match Cgroup::of(std::process::id()) {
            Ok(group) => assert!(group.path().is_dir() && group.name().starts_with('/'), "{group:?}"),
            Err(error) => assert!(matches!(error, MeterError::NoCgroup { .. }), "{error}"),
        }
        assert!(matches!(Cgroup::of(u32::MAX), Err(MeterError::Read { .. })));
    }
}
