//! The counters of a control group, parsed from its files.

use crate::bytes::ByteSize;
use crate::meter::cgroup::hierarchy::CgroupVersion;
use crate::meter::text::{key_values, number};

/// The file names of one cgroup version.
#[derive(Debug)]
pub(super) struct Names {
    pub(super) current: &'static str,
    pub(super) peak: &'static str,
    pub(super) limit: &'static str,
    /// In version 1, for memory and swap together.
    pub(super) swap_limit: &'static str,
    /// Only in version 2, since Linux 6.5.
    pub(super) swap_peak: Option<&'static str>,
}

pub(super) fn names(version: CgroupVersion) -> &'static Names {
    match version {
        CgroupVersion::V1 => &Names {
            current: "memory.usage_in_bytes",
            peak: "memory.max_usage_in_bytes",
            limit: "memory.limit_in_bytes",
            swap_limit: "memory.memsw.limit_in_bytes",
            swap_peak: None,
        },
        CgroupVersion::V2 => &Names {
            current: "memory.current",
            peak: "memory.peak",
            limit: "memory.max",
            swap_limit: "memory.swap.max",
            swap_peak: Some("memory.swap.peak"),
        },
    }
}

/// The composition of a group's memory, including groups below it (`memory.stat`). A part that the kernel does not
/// report is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CgroupStat {
    /// Anonymous memory.
    pub anon: Option<ByteSize>,
    /// Page cache, shared memory included.
    pub file: Option<ByteSize>,
    /// Shared memory: tmpfs, memfd, System V.
    pub shmem: Option<ByteSize>,
    /// Kernel memory for the group's processes; only in version 2, since Linux 5.18.
    pub kernel: Option<ByteSize>,
    /// Swapped memory; in version 2 only [`Cgroup::swap`](super::Cgroup::swap) reports it.
    pub swap: Option<ByteSize>,
}

impl CgroupStat {
    pub(super) fn parse(version: CgroupVersion, text: &[u8]) -> Self {
        let names: [&[u8]; 5] = match version {
            CgroupVersion::V1 => [b"total_rss", b"total_cache", b"total_shmem", b"", b"total_swap"],
            CgroupVersion::V2 => [b"anon", b"file", b"shmem", b"kernel", b""],
        };
        let [anon, file, shmem, kernel, swap] = names.map(|name| value(text, name).map(ByteSize::new));
        Self { anon, file, shmem, kernel, swap }
    }
}

/// How often a group was short of memory since it was created, including groups below it. Counts that the kernel does
/// not keep are absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CgroupEvents {
    /// Allocations that met the limit, most of which reclaim helped (`max` of `memory.events`). Only in version 2:
    /// Linux 6.18 leaves `memory.failcnt` of version 1 at 0.
    pub limit_hits: Option<u64>,
    /// How often reclaim did not help (`oom`); only in version 2.
    pub oom: Option<u64>,
    /// Processes killed by the out-of-memory killer; in version 1 since Linux 4.13. From `oom_kill`, which counts the
    /// chosen process twice when its whole group is killed with it (`memory.oom.group`).
    pub oom_kills: Option<u64>,
    /// How often the whole group was killed at once (`oom_group_kill`); only in version 2, since Linux 5.17.
    pub oom_group_kills: Option<u64>,
}

impl CgroupEvents {
    /// Parses `memory.events`.
    pub(super) fn version_2(events: &[u8]) -> Self {
        let oom_group_kills = value(events, b"oom_group_kill");
        let twice = oom_group_kills.unwrap_or(0);
        Self {
            limit_hits: value(events, b"max"),
            oom: value(events, b"oom"),
            // A process that had already ended when its group was killed was counted once.
            oom_kills: value(events, b"oom_kill").map(|kills| kills.saturating_sub(twice).max(kills.min(twice))),
            oom_group_kills,
        }
    }

    /// Parses `memory.oom_control`.
    pub(super) fn version_1(control: &[u8]) -> Self {
        Self { oom_kills: value(control, b"oom_kill"), ..Self::default() }
    }
}

fn value(text: &[u8], name: &[u8]) -> Option<u64> {
    key_values(text).find(|(key, _)| *key == name).and_then(|(_, value)| number(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_memory_is_stands_in_memory_stat() {
        let v2 = b"anon 4096\nfile 81920\nkernel 300\nkernel_stack 16384\nshmem 8192\nfile_mapped 5\n";
        let stat = CgroupStat::parse(CgroupVersion::V2, v2);
        let bytes = |n| Some(ByteSize::new(n));
        assert_eq!(
            (stat.anon, stat.file, stat.shmem, stat.kernel),
            (bytes(4096), bytes(81920), bytes(8192), bytes(300))
        );
        let v1 = b"cache 1\nrss 2\nshmem 3\nswap 4\ntotal_cache 10\ntotal_rss 20\ntotal_shmem 30\ntotal_swap 40\n";
        let stat = CgroupStat::parse(CgroupVersion::V1, v1);
        assert_eq!((stat.anon, stat.file, stat.shmem, stat.kernel), (bytes(20), bytes(10), bytes(30), None));
        assert_eq!(stat.swap, bytes(40));
    }

    #[test]
    fn events_are_counted() {
        let events = CgroupEvents::version_2(b"low 0\nhigh 4\nmax 17\noom 2\noom_kill 3\noom_group_kill 1\n");
        let expected =
            CgroupEvents { limit_hits: Some(17), oom: Some(2), oom_kills: Some(2), oom_group_kills: Some(1) };
        assert_eq!(events, expected);
        let kills = |text: &[u8]| CgroupEvents::version_2(text).oom_kills;
        assert_eq!(kills(b"oom_kill 2\noom_group_kill 1\n"), Some(1), "one process, counted twice");
        assert_eq!(kills(b"oom_kill 1\noom_group_kill 1\n"), Some(1), "it ended before it was counted again");
        assert_eq!((kills(b"oom_kill 5\noom_group_kill 0\n"), kills(b"oom_kill 5\n")), (Some(5), Some(5)));
        let events = CgroupEvents::version_1(b"oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");
        assert_eq!((events.limit_hits, events.oom_kills, events.oom), (None, Some(5), None));
        assert_eq!(CgroupEvents::version_1(b"oom_kill_disable 0\nunder_oom 0\n"), CgroupEvents::default());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in prop::collection::vec(any::<u8>(), 0..200)) {
            CgroupStat::parse(CgroupVersion::V1, &text);
            CgroupStat::parse(CgroupVersion::V2, &text);
            CgroupEvents::version_2(&text);
            CgroupEvents::version_1(&text);
        }
    }
}
