//! How many pages of a process the kernel may not have counted yet.
//!
//! Since Linux 2.6.34 and before 6.2, each thread counts the pages of its page faults for itself, and adds them to its
//! process with every 66th fault, when it unmaps memory, and when it ends (`SPLIT_RSS_COUNTING`). `VmRSS`, `VmHWM` and
//! `statm` lack what threads hold back; `smaps_rollup`, which walks the page tables, does not. Since 6.2, each processor
//! holds back some pages instead (`percpu_counter`).

use std::sync::OnceLock;

use super::text::{key_values, kilobytes};
use crate::bytes::{ByteSize, KIB};

/// The faults whose pages a thread may hold back: `TASK_RSS_EVENTS_THRESH`, the one before it, and the one after it.
const FAULTS: u64 = 66;
/// A fault maps at most this much of a file (`fault_around_bytes`).
const AROUND: u64 = 64 * KIB;
/// The first version in which threads hold nothing back.
const COUNTED_AT_ONCE: (u32, u32) = (6, 2);

/// What one thread may hold back on this machine; zero if its kernel counts at once.
pub(crate) fn held_back_by_thread() -> ByteSize {
    static HERE: OnceLock<ByteSize> = OnceLock::new();
    *HERE.get_or_init(|| {
        let page = rustix::param::page_size() as u64;
        by_thread(&rustix::system::uname().release().to_string_lossy(), page)
    })
}

/// What this many threads may hold back.
pub(crate) fn held_back_by(threads: u64) -> ByteSize {
    ByteSize::new(held_back_by_thread().bytes().saturating_mul(threads))
}

/// A distribution may have the newer counting in an older kernel; then the bound is too large, but never too small.
fn by_thread(release: &str, page: u64) -> ByteSize {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse::<u32>().ok());
    let version = numbers.next().flatten().zip(numbers.next().flatten());
    let is_late = version.is_some_and(|version| version < COUNTED_AT_ONCE);
    ByteSize::new(if is_late { FAULTS * page.max(AROUND) } else { 0 })
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
        let late = |release, page| by_thread(release, page).bytes() / KIB;
        for release in ["6.1.0-44-cloud-amd64", "5.15.167.4-microsoft-standard-WSL2", "4.18.0-553.el8"] {
            assert_eq!([late(release, 4 << 10), late(release, 16 << 10)], [66 * 64; 2], "{release}");
        }
        assert_eq!(late("5.14.0-427.aarch64+64k", 64 << 10), 66 * 64);
        for release in ["6.2.0", "6.12.95+deb13-amd64", "10.0-rc1", "unknown", ""] {
            assert_eq!(late(release, 4 << 10), 0, "{release}");
        }
    }

    #[test]
    fn a_rollup_has_the_resident_set_and_its_anonymous_part() {
        let text = b"55a5-7fff ---p 00000000 00:00 0 [rollup]\nRss: 1784 kB\nPss: 337 kB\nAnonymous: 112 kB\n";
        assert_eq!(parse_rollup(text), Some((ByteSize::new(1784 * KIB), ByteSize::new(112 * KIB))));
        assert_eq!(parse_rollup(b""), None);
    }
}
