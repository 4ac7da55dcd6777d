//! [`CgroupLimits`]: the limits of a control group and those above it.

use std::path::Path;

use super::hierarchy::{CgroupVersion, Group};
use crate::bytes::ByteSize;
use crate::meter::text::{key_values, number, read_file};

/// Version 1 writes an unlimited amount as the largest multiple of a page; real limits are far below.
const UNLIMITED: u64 = 1 << 62;

/// The limits of this process's control group and those above it. Limits that do not exist are absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct CgroupLimits {
    /// The cgroup version that the limits were read from.
    pub version: CgroupVersion,
    /// The maximum memory, including page cache: beyond it the kernel kills (`memory.max`, `memory.limit_in_bytes`).
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub memory: Option<ByteSize>,
    /// The memory beyond which the kernel slows the group down (`memory.high`).
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub memory_high: Option<ByteSize>,
    /// The maximum swap; in version 1 the limit on memory and swap together, minus the memory limit.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub swap: Option<ByteSize>,
}

impl CgroupLimits {
    /// The limits of this process; `None` if it is in no memory group, or they cannot be read.
    pub fn read() -> Option<Self> {
        let read = |path: &Path| read_file(path).ok();
        let groups = Group::all(&read(Path::new("/proc/self/cgroup"))?, &read(Path::new("/proc/self/mountinfo"))?);
        Self::first(&groups, &read)
    }

    /// If both versions are mounted, the one with a memory controller counts.
    fn first(groups: &[Group], read: &dyn Fn(&Path) -> Option<Vec<u8>>) -> Option<Self> {
        groups.iter().find_map(|group| Self::of(group, read))
    }

    /// The limits of a group, using `read` to read files.
    pub(super) fn of(group: &Group, read: &dyn Fn(&Path) -> Option<Vec<u8>>) -> Option<Self> {
        match group.version {
            CgroupVersion::V1 => Self::version_1(&group.path, read),
            CgroupVersion::V2 => Self::version_2(group, read),
        }
    }

    fn version_1(group: &Path, read: &dyn Fn(&Path) -> Option<Vec<u8>>) -> Option<Self> {
        // `memory.stat` has the smallest limit of the group and those above it.
        let stat = read(&group.join("memory.stat"))?;
        let limit = |name: &[u8]| {
            let value = key_values(&stat).find(|(key, _)| *key == name).and_then(|(_, value)| number(value));
            value.filter(|&bytes| bytes < UNLIMITED)
        };
        let memory = limit(b"hierarchical_memory_limit");
        let both = limit(b"hierarchical_memsw_limit");
        let swap = both.and_then(|both| both.checked_sub(memory?));
        Some(Self {
            version: CgroupVersion::V1,
            memory: memory.map(ByteSize::new),
            memory_high: None,
            swap: swap.map(ByteSize::new),
        })
    }

    fn version_2(group: &Group, read: &dyn Fn(&Path) -> Option<Vec<u8>>) -> Option<Self> {
        let above = || group.path.ancestors().take_while(|path| path.starts_with(&group.mount));
        // The root group has no limits.
        let least = |file: &str| {
            let limits = above().filter_map(|path| number(read(&path.join(file))?.trim_ascii()));
            limits.min().map(ByteSize::new)
        };
        group.has_memory(read).then(|| Self {
            version: CgroupVersion::V2,
            memory: least("memory.max"),
            memory_high: least("memory.high"),
            swap: least("memory.swap.max"),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use proptest::prelude::*;

    const V1_GROUPS: &[u8] = b"9:name=systemd:/\n8:pids:/\n4:memory:/job/18869f\n3:cpuset:/\n1:cpu:/\n0::/\n";
    const V1_MOUNTS: &[u8] = b"31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n\
        35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
    const V2_MOUNTS: &[u8] = b"29 22 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

    fn find(groups: &[u8], mounts: &[u8], files: &[(&str, &str)]) -> Option<CgroupLimits> {
        let files: HashMap<&Path, &str> = files.iter().map(|(path, text)| (Path::new(*path), *text)).collect();
        CgroupLimits::first(&Group::all(groups, mounts), &|path| Some(files.get(path)?.as_bytes().to_vec()))
    }

    #[test]
    fn version_1_gives_the_least_limit_above() {
        let stat = |memory: u64, both: u64| {
            format!(
                "cache 5\nrss 7\nhierarchical_memory_limit {memory}\nhierarchical_memsw_limit {both}\ntotal_cache 9\n"
            )
        };
        let path = "/sys/fs/cgroup/memory/job/18869f/memory.stat";
        let limits = find(V1_GROUPS, V1_MOUNTS, &[(path, &stat(1 << 30, 3 << 30))]).unwrap();
        assert_eq!((limits.version, limits.memory), (CgroupVersion::V1, Some(ByteSize::gib(1))));
        assert_eq!(limits.swap, Some(ByteSize::gib(2)));
        let none = find(V1_GROUPS, V1_MOUNTS, &[(path, &stat(9_223_372_036_854_771_712, 9_223_372_036_854_771_712))]);
        assert_eq!((none.unwrap().memory, none.unwrap().swap), (None, None));
    }

    #[test]
    fn version_2_looks_at_every_group_above() {
        let files = [
            ("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n"),
            ("/sys/fs/cgroup/user.slice/memory.max", "2147483648\n"),
            ("/sys/fs/cgroup/user.slice/memory.high", "max\n"),
            ("/sys/fs/cgroup/user.slice/run-1.scope/memory.max", "max\n"),
            ("/sys/fs/cgroup/user.slice/run-1.scope/memory.high", "1073741824\n"),
            ("/sys/fs/cgroup/user.slice/run-1.scope/memory.swap.max", "0\n"),
        ];
        let limits = find(b"0::/user.slice/run-1.scope\n", V2_MOUNTS, &files).unwrap();
        let expected = CgroupLimits {
            version: CgroupVersion::V2,
            memory: Some(ByteSize::gib(2)),
            memory_high: Some(ByteSize::gib(1)),
            swap: Some(ByteSize::ZERO),
        };
        assert_eq!(limits, expected);
    }

    #[test]
    fn a_container_that_shows_its_group_as_the_root_is_understood() {
        let mounts = b"700 695 0:26 /docker/4a2b /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n";
        let files = [("/sys/fs/cgroup/cgroup.controllers", "memory\n"), ("/sys/fs/cgroup/memory.max", "536870912\n")];
        for groups in [&b"0::/docker/4a2b\n"[..], b"0::/\n", b"0::/../../elsewhere\n"] {
            assert_eq!(find(groups, mounts, &files).unwrap().memory, Some(ByteSize::mib(512)), "{groups:?}");
        }
    }

    #[test]
    fn no_controller_is_no_limit() {
        assert_eq!(find(b"0::/\n", V2_MOUNTS, &[("/sys/fs/cgroup/cgroup.controllers", "cpu pids\n")]), None);
        assert_eq!(find(b"", b"", &[]), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(groups in "([0-9]:(memory|)?:/?[a-z./]{0,9}\n)*", mounts in "([0-9 /a-z-]{0,40}( - cgroup2? x memory)?\n)*") {
            let _ = find(groups.as_bytes(), mounts.as_bytes(), &[]);
        }
    }
}
