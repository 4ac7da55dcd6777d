//! [`OwnProcess`]: reads the memory of this process often and cheaply.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use super::error::MeterError;
use super::process::{ProcessMemory, Status};
use super::text::{TextFile, numbers};
use crate::bytes::ByteSize;

const STATUS: &str = "/proc/self/status";
const STATM: &str = "/proc/self/statm";
const CLEAR_REFS: &str = "/proc/self/clear_refs";

/// The number of resets of this process's high-water mark: two meters in one process reset each other's.
static RESETS: AtomicU64 = AtomicU64::new(0);

/// Resets the high-water mark of this process to its present resident set; returns the number of resets.
pub(crate) fn reset_own_mark() -> io::Result<u64> {
    std::fs::write(CLEAR_REFS, "5")?;
    Ok(RESETS.fetch_add(1, Ordering::SeqCst) + 1)
}

/// The number of resets so far.
pub(crate) fn own_mark_resets() -> u64 {
    RESETS.load(Ordering::SeqCst)
}

/// The memory of this process, read through open files: after the first reading, nothing is allocated.
#[derive(Debug)]
pub struct OwnProcess {
    status: TextFile,
    statm: TextFile,
    page: u64,
    text: Vec<u8>,
}

impl OwnProcess {
    /// Opens the files of this process.
    ///
    /// # Errors
    /// [`MeterError::Read`] if /proc cannot be read.
    pub fn open() -> Result<Self, MeterError> {
        let open = |path| TextFile::open(path).map_err(|source| MeterError::read(path, source));
        // The files of the process, not of the thread that opens them.
        let (status, statm) = (open(STATUS)?, open(STATM)?);
        Ok(Self { status, statm, page: rustix::param::page_size() as u64, text: Vec::new() })
    }

    /// Reads its present memory and its high-water mark.
    ///
    /// # Errors
    /// [`MeterError`] if it cannot be read.
    pub fn memory(&mut self) -> Result<ProcessMemory, MeterError> {
        let text = self.status.read_single(&mut self.text).map_err(|source| MeterError::read(STATUS, source))?;
        let memory = Status::parse(text).and_then(|status| status.memory);
        memory.ok_or_else(|| MeterError::Malformed { path: STATUS.to_owned(), field: "VmRSS" })
    }

    /// Reads its present resident set and the anonymous part of it from `statm`, which takes a few microseconds but has
    /// no mark.
    ///
    /// # Errors
    /// [`MeterError`] if they cannot be read.
    pub fn resident(&mut self) -> Result<(ByteSize, ByteSize), MeterError> {
        let text = self.statm.read_single(&mut self.text).map_err(|source| MeterError::read(STATM, source))?;
        let resident = parse_resident(text, self.page);
        resident.ok_or_else(|| MeterError::Malformed { path: STATM.to_owned(), field: "shared" })
    }

    /// Resets its high-water mark to the present resident set.
    ///
    /// # Errors
    /// [`MeterError::Read`] if the kernel or a sandbox refuses.
    pub fn reset_mark(&mut self) -> Result<(), MeterError> {
        reset_own_mark().map(|_| ()).map_err(|source| MeterError::read(CLEAR_REFS, source))
    }
}

/// The resident set of a `statm` in pages of `page` bytes, and the anonymous part of it.
fn parse_resident(text: &[u8], page: u64) -> Option<(ByteSize, ByteSize)> {
    let mut pages = numbers(text).skip(1);
    // The resident pages, and how many of them are file-backed or shared.
    let (resident, shared) = (pages.next()?, pages.next()?);
    let bytes = |pages: u64| ByteSize::new(pages.saturating_mul(page));
    Some((bytes(resident), bytes(resident.saturating_sub(shared))))
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;
    use crate::bytes::MIB;

    #[test]
    fn pages_of_any_size_are_counted_in_bytes() {
        for page in [4 << 10, 16 << 10, 64 << 10] {
            let bytes = |pages: u64| ByteSize::new(pages * page);
            assert_eq!(parse_resident(b"9000 700 300 5 0 80 0\n", page), Some((bytes(700), bytes(400))));
        }
        assert_eq!(parse_resident(b"9000 700\n", 4096), None);
    }

    /// Meters of other tests also reset the mark, so it may be lower than the true peak, but never higher.
    #[test]
    fn what_is_touched_is_read() {
        let mut own = OwnProcess::open().unwrap();
        let mut read = || {
            let (before, anon) = own.resident().unwrap();
            let block = black_box(vec![1u8; 64 * MIB as usize]);
            let memory = own.memory().unwrap();
            let (after, more) = own.resident().unwrap();
            drop(block);
            assert!(memory.peak_rss.unwrap() >= memory.rss);
            let grew = |now: ByteSize, then: ByteSize| now.bytes() > then.bytes() + 48 * MIB;
            grew(after, before) && grew(more, anon) && grew(memory.anon.unwrap(), anon)
        };
        // Other tests of the process may free memory at the same time, but not every time.
        assert!((0..20).any(|_| read()));
    }
}
