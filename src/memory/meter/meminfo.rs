//! Memory and swap of the whole system.

use super::error::MeterError;
use super::text::{TextFile, key_values, kilobytes, number, read_path};
use crate::bytes::ByteSize;

const PATH: &str = "/proc/meminfo";
const ZONES_PATH: &str = "/proc/zoneinfo";

/// The system's memory and swap at one instant; in a container, the host's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemMemory {
    /// The memory managed by the kernel (`MemTotal`).
    pub total: ByteSize,
    /// The memory available without swapping (`MemAvailable`); since Linux 3.14.
    pub available: Option<ByteSize>,
    /// The swap space; zero if none is configured (`SwapTotal`).
    pub swap_total: Option<ByteSize>,
    /// The free part of it (`SwapFree`).
    pub swap_free: Option<ByteSize>,
}

impl SystemMemory {
    /// Reads the system's current memory.
    ///
    /// # Errors
    /// [`MeterError`] if /proc is not mounted, or if its `meminfo` has no `MemTotal`.
    pub fn read() -> Result<Self, MeterError> {
        SystemMemoryFile::open()?.read(&mut Vec::new())
    }

    /// `None` if the text has no `MemTotal`.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let (mut total, mut available, mut swap_total, mut swap_free) = (None, None, None, None);
        for (key, value) in key_values(text) {
            match key {
                b"MemTotal" => total = kilobytes(value),
                b"MemAvailable" => available = kilobytes(value),
                b"SwapTotal" => swap_total = kilobytes(value),
                b"SwapFree" => {
                    swap_free = kilobytes(value);
                    // Nothing after this line is used.
                    break;
                }
                _ => {}
            }
        }
        Some(Self { total: total?, available, swap_total, swap_free })
    }

    /// The swap in use; zero if none is configured.
    pub fn swap_used(&self) -> Option<ByteSize> {
        Some(self.swap_total?.saturating_sub(self.swap_free?))
    }
}

/// The memory that processes can get now without swapping; `None` if it cannot be read.
///
/// This is `MemAvailable` and the free pages that processors keep in lists of their own. `MemAvailable` lacks these: since
/// Linux 6.7 they may be an eighth of the memory, and for seconds most of what an ended process has given back. It costs
/// a text with several lines for each processor, too much for each sample of a meter.
pub fn available() -> Option<ByteSize> {
    let available = SystemMemory::read().ok()?.available?;
    let mut buffer = Vec::new();
    let pages = read_path(ZONES_PATH, &mut buffer).map_or(0, pages_in_lists);
    let listed = pages.checked_mul(rustix::param::page_size() as u64).map_or(ByteSize::ZERO, ByteSize::new);
    available.checked_add(listed)
}

/// The free pages in the lists of the processors, by the text of `/proc/zoneinfo`: `count` of each of `pagesets`.
fn pages_in_lists(zones: &[u8]) -> u64 {
    let counts = zones.split(|&b| b == b'\n').filter_map(|line| line.trim_ascii().strip_prefix(b"count:"));
    counts.filter_map(|count| number(count.trim_ascii())).fold(0, u64::saturating_add)
}

/// `/proc/meminfo`, kept open.
#[derive(Debug)]
pub(crate) struct SystemMemoryFile(TextFile);

impl SystemMemoryFile {
    pub(crate) fn open() -> Result<Self, MeterError> {
        TextFile::open(PATH).map(Self).map_err(|source| MeterError::read(PATH, source))
    }

    pub(crate) fn read(&self, buffer: &mut Vec<u8>) -> Result<SystemMemory, MeterError> {
        let text = self.0.read_single(buffer).map_err(|source| MeterError::read(PATH, source))?;
        SystemMemory::parse(text).ok_or(MeterError::Malformed { path: PATH.into(), field: "MemTotal" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MEMINFO: &str = "MemTotal:       24684096 kB\nMemFree:        21850796 kB\nMemAvailable:   24215176 kB\n\
        Buffers:           16376 kB\nSwapCached:            9 kB\nSwapTotal:       1048572 kB\nSwapFree:        1048000 kB\n\
        Zswap:                 0 kB\n";

    #[test]
    fn a_meminfo_gives_memory_and_swap() {
        let memory = SystemMemory::parse(MEMINFO.as_bytes()).unwrap();
        assert_eq!(memory.total, ByteSize::new(24_684_096 * 1024));
        assert_eq!(memory.available, Some(ByteSize::new(24_215_176 * 1024)));
        assert_eq!(memory.swap_used(), Some(ByteSize::new(572 * 1024)));
    }

    #[test]
    fn what_is_not_written_is_absent() {
        let memory = SystemMemory::parse(b"MemTotal: 10 kB\nMemFree: 5 kB\n").unwrap();
        assert_eq!((memory.available, memory.swap_used()), (None, None));
        assert_eq!(SystemMemory::parse(b"MemFree: 5 kB\n"), None);
        let none = SystemMemory::parse(b"MemTotal: 10 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n").unwrap();
        assert_eq!(none.swap_used(), Some(ByteSize::ZERO));
    }

    #[test]
    fn pages_in_the_lists_of_processors_are_free() {
        let zones = b"Node 0, zone   Normal\n  pages free     5372471\n        high     2886\n      nr_free_pages 5372471\n  \
            pagesets\n    cpu: 0\n              count:    32396\n              high:     32998\n              batch:    63\n  \
            vm stats threshold: 32\n    cpu: 1\n              count:    28954\n  node_unreclaimable:  0\n\
            Node 0, zone  Movable\n  pagesets\n    cpu: 0\n              count: 7\n              count: x\n";
        assert_eq!(pages_in_lists(zones), 32396 + 28954 + 7);
        assert_eq!(pages_in_lists(b"Node 0, zone DMA\n  pages free 5\n"), 0);
        assert_eq!(pages_in_lists(&b"count: 18446744073709551615\n".repeat(2)), u64::MAX);
    }

    #[test]
    fn this_system_is_read() {
        let memory = SystemMemory::read().unwrap();
        assert!(memory.available.unwrap() <= memory.total);
        assert!(available().unwrap() <= memory.total);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(Mem|Swap|count)?[A-Za-z]{0,9}:? *[0-9]{0,22} ?(kB)?\n?") {
            let _ = SystemMemory::parse(text.as_bytes()).and_then(|memory| memory.swap_used());
            let _ = pages_in_lists(text.as_bytes());
        }
    }
}
