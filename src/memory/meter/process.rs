//! One process: its identity and the kernel's accounting of its memory.

use std::fmt::Write as _;
use std::io;

use super::error::MeterError;
use super::text::{key_values, kilobytes, number, read_path, read_single};
use super::usage::Usage;
use crate::bytes::ByteSize;

/// The kernel's `PF_FORKNOEXEC`: forked without exec since.
const FORKED_WITHOUT_EXEC: u64 = 0x40;

/// A process, distinguished from a later one with the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct ProcessId {
    /// The process id.
    pub pid: u32,
    /// When it began, in clock ticks since the system's start.
    pub start_ticks: u64,
}

impl ProcessId {
    /// The process that has the id `pid` now.
    ///
    /// # Errors
    /// [`MeterError::Read`] if there is none.
    pub fn of(pid: u32) -> Result<Self, MeterError> {
        Ok(Self { pid, start_ticks: Stat::read(pid)?.start_ticks })
    }

    /// Whether it is completely gone, not even waiting to be reaped.
    pub fn is_gone(self) -> bool {
        Self::of(self.pid).map_or(true, |now| now != self)
    }
}

/// The kernel's accounting of one process, from one read of `/proc/PID/status`.
///
/// The counters are exact since Linux 6.17, but not the mark of memory that was given back. Before that, each processor
/// may hold back 32 pages of each, or two for every processor of the machine if that is more; before 6.2, each thread the
/// pages of its latest 66 faults instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessMemory {
    /// The largest resident set since exec or since the mark was reset (`VmHWM`).
    pub peak_rss: Option<ByteSize>,
    /// Its resident set (`VmRSS`).
    pub rss: ByteSize,
    /// The anonymous part of it (`RssAnon`).
    pub anon: Option<ByteSize>,
    /// The file-backed part (`RssFile`).
    pub file: Option<ByteSize>,
    /// The shared part: memfd, tmpfs, System V (`RssShmem`).
    pub shmem: Option<ByteSize>,
    /// Its anonymous memory in swap (`VmSwap`).
    pub swap: Option<ByteSize>,
    /// Its huge pages of hugetlbfs, which are not part of its resident set (`HugetlbPages`).
    pub hugetlb: Option<ByteSize>,
}

impl ProcessMemory {
    /// Reads the present memory of the process `pid`.
    ///
    /// # Errors
    /// [`MeterError::Read`] if there is no such process, [`MeterError::Malformed`] if it has no memory any more (it
    /// waits to be reaped) or never had any (a kernel thread).
    pub fn read(pid: u32) -> Result<Self, MeterError> {
        Self::seen_by(pid).or_else(|error| living_thread(pid).ok_or(error).and_then(Self::seen_by))
    }

    /// Reads it by one thread of the process, of which the first has the process's own number.
    fn seen_by(thread: u32) -> Result<Self, MeterError> {
        let path = format!("/proc/{thread}/status");
        let mut buffer = Vec::new();
        let text = read_single(&path, &mut buffer).map_err(|source| MeterError::read(&path, source))?;
        Status::parse(text).and_then(|status| status.memory).ok_or(MeterError::Malformed { path, field: "VmRSS" })
    }

    /// Replaces the resident set and the anonymous part of it by those that page tables show.
    pub(crate) fn with_resident(self, rss: ByteSize, anon: ByteSize) -> Self {
        // Page tables do not separate files from shared memory, of which threads hold the least back.
        let file = self.file.map(|_| rss.saturating_sub(anon).saturating_sub(self.shmem.unwrap_or_default()));
        Self { rss, anon: self.anon.map(|_| anon), file, ..self }
    }
}

/// A thread of the process `pid` that has not ended. If the first one has (pthread_exit(3)), `/proc/PID` shows no memory,
/// although the others have all of it; `/proc/TID` shows it.
pub(crate) fn living_thread(pid: u32) -> Option<u32> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let numbers = threads.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers.filter(|thread| *thread != pid).find(|thread| ProcessMemory::seen_by(*thread).is_ok())
}

/// The used fields of `/proc/PID/status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Status<'a> {
    /// The name of its command, escaped by the kernel.
    pub(crate) name: &'a [u8],
    pub(crate) parent: u32,
    pub(crate) threads: u64,
    /// Absent for an ended process and for kernel threads.
    pub(crate) memory: Option<ProcessMemory>,
}

impl<'a> Status<'a> {
    /// `None` if the text has no `PPid`, so that it is not a status.
    pub(crate) fn parse(text: &'a [u8]) -> Option<Self> {
        let (mut name, mut parent, mut threads) = (&b""[..], None, 1);
        let (mut peak_rss, mut rss, mut anon, mut file) = (None, None, None, None);
        let (mut shmem, mut swap, mut hugetlb) = (None, None, None);
        for (key, value) in key_values(text) {
            match key {
                b"Name" => name = value,
                b"PPid" => parent = number(value),
                b"VmHWM" => peak_rss = kilobytes(value),
                b"VmRSS" => rss = kilobytes(value),
                b"RssAnon" => anon = kilobytes(value),
                b"RssFile" => file = kilobytes(value),
                b"RssShmem" => shmem = kilobytes(value),
                b"VmSwap" => swap = kilobytes(value),
                b"HugetlbPages" => hugetlb = kilobytes(value),
                b"Threads" => {
                    threads = number(value).unwrap_or(1);
                    // Nothing after this line is used.
                    break;
                }
                _ => {}
            }
        }
        let memory = rss.map(|rss| ProcessMemory { peak_rss, rss, anon, file, shmem, swap, hugetlb });
        Some(Self { name, parent: u32::try_from(parent?).ok()?, threads, memory })
    }
}

/// The used fields of `/proc/PID/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) parent: u32,
    /// Whether it was forked and has not executed a program since: so far its memory is its parent's.
    pub(crate) forked: bool,
    /// Minor faults of the children that it has reaped: a change reveals a child that came and went unseen.
    pub(crate) reaped_faults: u64,
    /// The usage of the process and of the children it has reaped.
    pub(crate) usage: Usage,
    pub(crate) start_ticks: u64,
}

impl Stat {
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        // The name is in parentheses and may contain any byte but NUL: only the last parenthesis closes it.
        let close = text.iter().rposition(|&b| b == b')')?;
        let mut fields = text[close + 1..].split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).skip(1);
        let parent = u32::try_from(number(fields.next()?)?).ok()?;
        let flags = number(fields.nth(4)?)?;
        let mut count = || number(fields.next()?);
        // Faults alternate between its own and those of reaped children; then come its own times, then those of reaped
        // children.
        let [minor, reaped_faults, major, reaped_major] = [count()?, count()?, count()?, count()?];
        let [user, system, reaped_user, reaped_system] = [count()?, count()?, count()?, count()?];
        let start_ticks = number(fields.nth(4)?)?;
        let usage = Usage {
            minor_faults: minor.saturating_add(reaped_faults),
            major_faults: major.saturating_add(reaped_major),
            user_ticks: user.saturating_add(reaped_user),
            system_ticks: system.saturating_add(reaped_system),
        };
        Some(Self { parent, forked: flags & FORKED_WITHOUT_EXEC != 0, reaped_faults, usage, start_ticks })
    }

    pub(crate) fn read(pid: u32) -> Result<Self, MeterError> {
        let path = format!("/proc/{pid}/stat");
        let mut buffer = Vec::new();
        let text = read_single(&path, &mut buffer).map_err(|source| MeterError::read(&path, source))?;
        Self::parse(text).ok_or(MeterError::Malformed { path, field: "starttime" })
    }
}

/// The processor time of these processes and of the children they have reaped, in ticks.
pub(crate) fn processor_ticks_of(processes: &[ProcessId]) -> u64 {
    let usages = processes.iter().filter_map(|process| Stat::read(process.pid).ok()).map(|stat| stat.usage);
    usages.map(|usage| usage.user_ticks.saturating_add(usage.system_ticks)).sum()
}

/// Whether the kernel reaps the children of the process `pid` itself, because it ignores SIGCHLD; `None` if its status
/// cannot be read. Such children leave nothing in the usage of their parent.
pub(crate) fn ignores_children(pid: u32) -> Option<bool> {
    let mut buffer = Vec::new();
    let text = read_single(&format!("/proc/{pid}/status"), &mut buffer).ok()?;
    parse_ignores_children(text)
}

fn parse_ignores_children(status: &[u8]) -> Option<bool> {
    let (_, mask) = key_values(status).find(|(key, _)| *key == b"SigIgn")?;
    let mask = u64::from_str_radix(std::str::from_utf8(mask).ok()?, 16).ok()?;
    Some(mask >> (libc::SIGCHLD - 1) & 1 != 0)
}

/// Parses the proportional set (`Pss` of smaps_rollup), which is exact and slow: some 9 ms per GiB of small pages.
pub(crate) fn parse_pss(text: &[u8]) -> Option<ByteSize> {
    key_values(text).find(|(key, _)| *key == b"Pss").and_then(|(_, value)| kilobytes(value))
}

/// Reads the proportional set of `pid`; `path` and `buffer` are scratch.
pub(crate) fn read_pss(pid: u32, path: &mut String, buffer: &mut Vec<u8>) -> io::Result<ByteSize> {
    path.clear();
    let _ = write!(path, "/proc/{pid}/smaps_rollup");
    let text = read_path(path, buffer)?;
    if text.is_empty() {
        // It has ended and waits to be reaped.
        return Err(io::ErrorKind::NotFound.into());
    }
    parse_pss(text).ok_or_else(|| io::Error::other("no `Pss` line"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STATUS: &str = "Name:\tcat\nUmask:\t0022\nState:\tR (running)\nTgid:\t9511\nNgid:\t0\nPid:\t9511\n\
        PPid:\t9509\nTracerPid:\t0\nUid:\t0\t0\t0\t0\nKthread:\t0\nVmPeak:\t    3060 kB\nVmSize:\t    3060 kB\n\
        VmLck:\t       0 kB\nVmHWM:\t    1708 kB\nVmRSS:\t    1700 kB\nRssAnon:\t     112 kB\nRssFile:\t    1596 kB\n\
        RssShmem:\t       4 kB\nVmData:\t     360 kB\nVmSwap:\t       8 kB\nHugetlbPages:\t    2048 kB\nTHP_enabled:\t1\nThreads:\t3\n\
        SigQ:\t0/96365\n";

    #[test]
    fn a_status_gives_every_counter() {
        let status = Status::parse(STATUS.as_bytes()).unwrap();
        assert_eq!((status.name, status.parent, status.threads), (&b"cat"[..], 9509, 3));
        let kib = |n: u64| Some(ByteSize::new(n * 1024));
        let memory = ProcessMemory {
            peak_rss: kib(1708),
            rss: ByteSize::new(1700 * 1024),
            anon: kib(112),
            file: kib(1596),
            shmem: kib(4),
            swap: kib(8),
            hugetlb: kib(2048),
        };
        assert_eq!(status.memory, Some(memory));
    }

    #[test]
    fn a_zombie_has_no_memory_and_an_old_kernel_no_split() {
        let zombie = "Name:\tsh\nState:\tZ (zombie)\nPid:\t7\nPPid:\t1\nThreads:\t1\n";
        assert_eq!(Status::parse(zombie.as_bytes()).unwrap().memory, None);
        let gvisor = "Name:\tsh\nState:\tS (sleeping)\nPid:\t7\nPPid:\t1\nVmSize:\t10 kB\nVmRSS:\t4 kB\nThreads:\t1\n";
        let memory = Status::parse(gvisor.as_bytes()).unwrap().memory.unwrap();
        assert_eq!((memory.rss, memory.anon, memory.peak_rss), (ByteSize::new(4096), None, None));
        assert_eq!(Status::parse(b"MemTotal: 5 kB\n"), None);
    }

    #[test]
    fn a_stat_is_read_behind_a_name_of_any_kind() {
        let text = b"439 (a) S 1 (b)) S 410 439 439 0 -1 4194624 40558 1581227 0 255 69 265 4772 5144 20 0 13 0 25 \
            48046080 4060 18446744073709551615 1 1 0\n";
        let usage = Usage { minor_faults: 40_558 + 1_581_227, major_faults: 255, user_ticks: 4841, system_ticks: 5409 };
        let stat = Stat { parent: 410, forked: true, reaped_faults: 1_581_227, usage, start_ticks: 25 };
        assert_eq!(Stat::parse(text), Some(stat));
        assert_eq!(Stat::parse(b"439 (sh) S 410"), None);
    }

    #[test]
    fn a_process_that_ignores_its_children_is_known() {
        let ignores = |mask: &str| parse_ignores_children(format!("SigBlk:\t0\nSigIgn:\t{mask}\n").as_bytes());
        assert_eq!(ignores("0000000000010000"), Some(true));
        assert_eq!(ignores("0000000000011002"), Some(true));
        assert_eq!(ignores("0000000000001000"), Some(false));
        assert_eq!((ignores("x"), parse_ignores_children(STATUS.as_bytes())), (None, None));
        assert_eq!(ignores_children(std::process::id()), Some(false));
    }

    #[test]
    fn pss_is_not_one_of_its_parts() {
        let text = b"55a5-7fff ---p 00000000 00:00 0 [rollup]\nRss: 1784 kB\nPss_Dirty: 112 kB\nPss:  337 kB\n";
        assert_eq!(parse_pss(text), Some(ByteSize::new(337 * 1024)));
    }

    #[test]
    fn this_process_is_read() {
        let memory = ProcessMemory::read(std::process::id()).unwrap();
        assert!(memory.rss > ByteSize::ZERO && memory.peak_rss.unwrap() >= memory.anon.unwrap());
        assert!(!ProcessId::of(std::process::id()).unwrap().is_gone());
        assert!(ProcessId { pid: std::process::id(), start_ticks: 0 }.is_gone());
        assert!(ProcessMemory::read(u32::MAX).is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = (Status::parse(&text), Stat::parse(&text), parse_pss(&text));
        }
        #[test]
        fn no_cut_text_panics(cut in 0..STATUS.len()) {
            let _ = Status::parse(&STATUS.as_bytes()[..cut]);
        }
    }
}
