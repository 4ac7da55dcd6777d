//! How many pages of a process the kernel may not have counted yet.
//!
//! Since Linux 2.6.34 and before 6.2, each thread counts the pages of its page faults for itself, and adds them to its
//! process with every 66th fault, when it unmaps memory, and when it ends (`SPLIT_RSS_COUNTING`). `VmRSS`, `VmHWM` and
//! `statm` lack what threads hold back; `smaps_rollup`, which walks the page tables, does not.
//!
//! Since 6.2, each processor holds back fewer pages than a batch instead, of each kind (`percpu_counter`). Since 6.17
//! `VmRSS` lacks nothing, but the marks still do (`VmHWM` once memory is given back, `ru_maxrss`). A batch grows with
//! the number of processors, so that this is 0.4 MiB for one thread on up to 16 processors, and 382 MiB for 128 threads
//! on 128. A process is taken to leave pages on as many processors as it has threads.

use std::sync::OnceLock;

use super::text::{key_values, kilobytes};
use crate::bytes::{ByteSize, KIB, MIB};

/// The faults whose pages a thread may hold back: `TASK_RSS_EVENTS_THRESH`, the one before it, and the one after it.
const FAULTS: u64 = 66;
/// A fault maps at most this much of a file (`fault_around_bytes`).
const AROUND: u64 = 64 * KIB;
/// The first version in which processors hold pages back instead of threads.
const BY_PROCESSOR: (u32, u32) = (6, 2);
/// The smallest batch of a processor (`percpu_counter_batch`).
const BATCH: u64 = 32;
/// The counters of a resident set: of anonymous pages, of files, of shared memory.
const KINDS: u64 = 3;
/// What processors hold back of one process up to this counts as nothing: a figure is called exact within as much.
const LITTLE: u64 = MIB;

/// Where the kernel holds back pages that it has not added to a process yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeldBack {
    /// With each thread, at most this much.
    ByThread(ByteSize),
    /// With each processor, at most this much.
    ByProcessor { processors: u64, each: ByteSize },
}

impl HeldBack {
    /// How the kernel of this machine counts.
    pub(crate) fn here() -> Self {
        static HERE: OnceLock<HeldBack> = OnceLock::new();
        *HERE.get_or_init(|| {
            let online = std::fs::read_to_string("/sys/devices/system/cpu/online").ok();
            let here = || std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
            let processors = online.as_deref().and_then(count).unwrap_or_else(here);
            let page = rustix::param::page_size() as u64;
            Self::of(&rustix::system::uname().release().to_string_lossy(), page, processors)
        })
    }

    /// A distribution may have the newer counting in an older kernel; then the bound is too large, but never too small.
    fn of(release: &str, page: u64, processors: u64) -> Self {
        let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse::<u32>().ok());
        let version = numbers.next().flatten().zip(numbers.next().flatten());
        if version.is_some_and(|version| version < BY_PROCESSOR) {
            return Self::ByThread(ByteSize::new(FAULTS * page.max(AROUND)));
        }
        let batch = BATCH.max(processors.saturating_mul(2));
        Self::ByProcessor { processors, each: ByteSize::new(KINDS * (batch - 1) * page) }
    }

    /// What a process with this many threads may lack.
    pub(crate) fn of_threads(self, threads: u64) -> ByteSize {
        match self {
            Self::ByThread(each) => ByteSize::new(each.bytes().saturating_mul(threads)),
            Self::ByProcessor { processors, each } => {
                let most = each.bytes().saturating_mul(threads.min(processors));
                ByteSize::new(if most > LITTLE { most } else { 0 })
            }
        }
    }
}

/// What this machine's kernel may hold back of a process with this many threads.
pub(crate) fn held_back_by(threads: u64) -> ByteSize {
    HeldBack::here().of_threads(threads)
}

/// The number of processors in a list such as `0-3,8`.
fn count(list: &str) -> Option<u64> {
    list.trim().split(',').try_fold(0, |sum, range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.parse::<u64>().ok()?, last.parse::<u64>().ok()?);
        Some(sum + last.checked_sub(first)? + 1)
    })
}

/// The resident set and the anonymous part of it in a `smaps_rollup`, from which nothing is held back.
pub(crate) fn parse_rollup(text: &[u8]) -> Option<(ByteSize, ByteSize)> {
    let value = |name: &[u8]| key_values(text).find(|(key, _)| *key == name).and_then(|(_, value)| kilobytes(value));
    Some((value(b"Rss")?, value(b"Anonymous")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_hold_pages_back_before_linux_6_2() {
        let late = |release, page| match HeldBack::of(release, page, 2) {
            HeldBack::ByThread(each) => Some(each.bytes() / KIB),
            HeldBack::ByProcessor { .. } => None,
        };
        for release in ["6.1.0-44-cloud-amd64", "5.15.167.4-microsoft-standard-WSL2", "4.18.0-553.el8"] {
            assert_eq!([late(release, 4 << 10), late(release, 16 << 10)], [Some(66 * 64); 2], "{release}");
        }
        assert_eq!(late("5.14.0-427.aarch64+64k", 64 << 10), Some(66 * 64));
        for release in ["6.2.0", "6.12.95+deb13-amd64", "10.0-rc1", "unknown", ""] {
            assert_eq!(late(release, 4 << 10), None, "{release}");
        }
        assert_eq!(HeldBack::of("6.1.0", 4 << 10, 2).of_threads(3), ByteSize::new(3 * 66 * 64 * KIB));
    }

    #[test]
    fn processors_hold_back_more_the_more_there_are_and_the_larger_a_page_is() {
        let most =
            |processors, page, threads| HeldBack::of("6.8.0", page, processors).of_threads(threads).bytes() / KIB;
        assert_eq!([most(2, 4 << 10, 1), most(2, 4 << 10, 99), most(16, 4 << 10, 2)], [0; 3], "up to 1 MiB");
        assert_eq!(most(16, 4 << 10, 16), 3 * 16 * 31 * 4);
        assert_eq!(most(16, 4 << 10, 99), most(16, 4 << 10, 16), "there are no more processors");
        assert_eq!(most(128, 4 << 10, 1), 3 * 255 * 4);
        assert_eq!(most(128, 64 << 10, 1), 3 * 255 * 64);
    }

    #[test]
    fn lists_of_processors_are_counted() {
        assert_eq!([count("0-127\n"), count("0"), count("0-3,8,10-11")], [Some(128), Some(1), Some(7)]);
        assert_eq!([count(""), count("3-1"), count("all")], [None; 3]);
    }

    #[test]
    fn a_rollup_has_the_resident_set_and_its_anonymous_part() {
        let text = b"55a5-7fff ---p 00000000 00:00 0 [rollup]\nRss: 1784 kB\nPss: 337 kB\nAnonymous: 112 kB\n";
        assert_eq!(parse_rollup(text), Some((ByteSize::new(1784 * KIB), ByteSize::new(112 * KIB))));
        assert_eq!(parse_rollup(b""), None);
    }
}
