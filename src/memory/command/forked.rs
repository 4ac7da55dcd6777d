//! Makes the memory of a forked process its own.
//!
//! A fork has its parent's private pages in common with it until one of them writes, and maps no page of a file before
//! its first access. Its proportional set and the charges of its control group would thus be too small, and what it
//! reads of a program's code would look like growth. After [`own_pages`] it holds what a process would hold that came to
//! the same point by itself.
//!
//! A page is copied by reading it and writing the same bytes back, which undoes whatever its process writes in between.
//! The process is therefore stopped meanwhile: one that is about to wait still writes to its memory.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind};
use std::os::unix::fs::FileExt;

use rustix::io::Errno;
use rustix::param::page_size;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use crate::meter::smaps::{self, mappings};

/// Bits of an entry of `/proc/PID/pagemap`.
const PRESENT: u64 = 1 << 63;
const OF_A_FILE: u64 = 1 << 61;
/// Pages that are looked at together.
const LOOK: usize = 512;
/// Pages that are copied together.
const COPY: usize = 16;
/// The most pages of address space that are looked at, some 256 GiB.
const MOST_PAGES: usize = 1 << 26;

/// Gives the process `pid`, a child of this process, a copy of every page that it shares with others by a fork, and maps
/// those pages of files that `like`, which it was forked from, has mapped.
///
/// # Errors
/// The system's error, for example if it does not allow reading the memory of `pid`.
pub(super) fn own_pages(pid: u32, like: u32) -> io::Result<()> {
    let _stopped = Stopped::new(pid)?;
    let mut maps = BufReader::new(File::open(format!("/proc/{pid}/maps"))?);
    let mut readable = Vec::new();
    mappings(&mut maps, |mapping| readable.extend(Mapping::of(&mapping)))?;
    let memory = File::options().read(true).write(true).open(format!("/proc/{pid}/mem"))?;
    let pagemap = |pid: u32| File::open(format!("/proc/{pid}/pagemap"));
    let (own, theirs) = (pagemap(pid)?, pagemap(like)?);
    let mut left = MOST_PAGES;
    let mut buffer = vec![0; COPY * page_size()];
    for mapping in readable {
        left = left.checked_sub(mapping.pages).ok_or_else(|| io::Error::other("its address space is too large"))?;
        for at in (0..mapping.pages).step_by(LOOK) {
            let first = mapping.first + at;
            let count = LOOK.min(mapping.pages - at);
            let pages: Vec<Page> = entries(&own, first, count)?
                .zip(entries(&theirs, first, count)?)
                .map(|(own, theirs)| Page::of(own, theirs, &mapping))
                .collect();
            let mut next = first;
            for run in pages.chunk_by(|a, b| a == b) {
                for at in (0..run.len()).step_by(COPY).filter(|_| run[0] != Page::Settled) {
                    let count = COPY.min(run.len() - at);
                    let bytes = &mut buffer[..count * page_size()];
                    copy(&memory, (next + at) * page_size(), bytes, run[0], &mapping)?;
                }
                next += run.len();
            }
        }
    }
    Ok(())
}

/// A child that is stopped until this is dropped.
struct Stopped(Pid);

impl Stopped {
    /// Stops all threads of a child.
    fn new(pid: u32) -> io::Result<Self> {
        let pid = Pid::from_raw(pid.cast_signed()).ok_or(Errno::SRCH)?;
        kill_process(pid, Signal::STOP)?;
        let stopped = Self(pid);
        // Its end remains for the caller to collect.
        let look = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let found = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(pid), look))?;
        match found.is_some_and(|found| found.stopped()) {
            true => Ok(stopped),
            false => Err(io::Error::other("the process has ended")),
        }
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // An error means that it has ended.
        let _ = kill_process(self.0, Signal::CONT);
    }
}

/// What a page needs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Page {
    /// A page that needs nothing.
    Settled,
    /// A page of a file, which an access maps.
    Mapped,
    /// A private page, which a write copies.
    Copied,
}

impl Page {
    fn of(own: u64, theirs: u64, mapping: &Mapping) -> Self {
        if own & PRESENT != 0 && own & OF_A_FILE == 0 && mapping.is_private {
            Self::Copied
        } else if own & PRESENT == 0 && theirs & PRESENT != 0 {
            Self::Mapped
        } else {
            Self::Settled
        }
    }
}

/// Reads the bytes at an address, which maps them, and writes them back if they are to be copied.
fn copy(memory: &File, address: usize, bytes: &mut [u8], page: Page, mapping: &Mapping) -> io::Result<()> {
    match memory.read_exact_at(bytes, address as u64) {
        // Memory of a device, or what lies past the end of a file.
        Err(_) if page == Page::Mapped => return Ok(()),
        read => read?,
    }
    if page == Page::Mapped {
        return Ok(());
    }
    for (i, bytes) in bytes.chunks_exact(page_size()).enumerate() {
        // An anonymous page that was only read is the kernel's page of zeros, which counts for nobody. Other pages of
        // zeros look alike, and stay shared.
        if bytes[0] == 0 && bytes[1..] == bytes[..bytes.len() - 1] {
            continue;
        }
        match memory.write_all_at(bytes, (address + i * page_size()) as u64) {
            // Some kernels do not allow writing past the protection; few pages are protected.
            Err(_) if !mapping.is_writable => return Ok(()),
            written => written?,
        }
    }
    Ok(())
}

/// A mapping that can be read.
struct Mapping {
    first: usize,
    pages: usize,
    is_writable: bool,
    is_private: bool,
}

impl Mapping {
    /// `None` for a mapping that cannot be read or is the kernel's.
    fn of(mapping: &smaps::Mapping) -> Option<Self> {
        let [reads, writes, _, shares] = mapping.permissions;
        let pages = |bytes: u64| bytes as usize / page_size();
        (reads == b'r' && !mapping.name.starts_with(b"[v")).then(|| Self {
            first: pages(mapping.start),
            pages: pages(mapping.size()),
            is_writable: writes == b'w',
            is_private: shares == b'p',
        })
    }
}

/// The entries of `count` pages.
fn entries(pagemap: &File, first: usize, count: usize) -> io::Result<impl Iterator<Item = u64> + use<>> {
    let mut bytes = vec![0; count * 8];
    pagemap.read_exact_at(&mut bytes, first as u64 * 8).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => io::Error::other("the process has ended"),
        _ => error,
    })?;
    let entry = move |at: usize| u64::from_ne_bytes(bytes[at * 8..][..8].try_into().expect("8 bytes"));
    Ok((0..count).map(entry))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::{AsRawFd, RawFd};
    use std::os::unix::net::UnixStream;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, ExitStatus};
    use std::thread::JoinHandle;

    use super::*;
    use crate::bytes::{ByteSize, MIB};
    use crate::meter::ProcessMemory;

    /// Sizes of a process by its `smaps_rollup`.
    fn rollup(pid: u32, name: &str) -> ByteSize {
        let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
        ByteSize::new(line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024)
    }

    /// A fork of this process that works until it reads a byte.
    struct Fork {
        pid: u32,
        ours: UnixStream,
        _theirs: UnixStream,
        child: JoinHandle<io::Result<ExitStatus>>,
    }

    impl Fork {
        /// Has it go on, and waits for its end.
        fn end(mut self) -> io::Result<ExitStatus> {
            self.ours.write_all(b"\n")?;
            self.child.join().unwrap()
        }
    }

    /// Forks a process that does `work` with its end of a socket and executes `true`, if that is no error.
    ///
    /// # Safety
    /// `work` runs between fork and exec.
    unsafe fn fork(work: impl Fn(RawFd) -> io::Result<()> + Send + Sync + 'static) -> Fork {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let (ours_fd, fd) = (ours.as_raw_fd(), theirs.as_raw_fd());
        let mut command = Command::new("true");
        // SAFETY: it makes system calls on descriptors that are open here until it has ended; the caller answers for
        // `work`.
        unsafe {
            command.pre_exec(move || {
                libc::close(ours_fd);
                let pid = libc::getpid().to_ne_bytes();
                libc::write(fd, pid.as_ptr().cast(), 4);
                work(fd)
            })
        };
        let child = std::thread::spawn(move || command.status());
        let mut pid = [0; 4];
        ours.read_exact(&mut pid).unwrap();
        Fork { pid: u32::from_ne_bytes(pid), ours, _theirs: theirs, child }
    }

    #[test]
    fn a_fork_holds_pages_of_its_own() {
        let block: Vec<u8> = (0..8 * MIB).map(|at| (at % 251) as u8).collect();
        // SAFETY: it makes a system call on a descriptor that is open.
        let fork = unsafe {
            fork(|fd| {
                libc::read(fd, [0u8; 1].as_mut_ptr().cast(), 1);
                Ok(())
            })
        };
        let (pid, own) = (fork.pid, std::process::id());

        let before = (ProcessMemory::read(pid).unwrap(), rollup(pid, "Pss_Anon"));
        own_pages(pid, own).unwrap();
        let after = (ProcessMemory::read(pid).unwrap(), rollup(pid, "Pss_Anon"));
        let mine = ProcessMemory::read(own).unwrap();
        assert!(fork.end().unwrap().success(), "its memory is as it was");
        drop(block);

        // Half of the block at most was its own, and its program's code was not mapped.
        assert!(before.1 < ByteSize::new(7 * MIB), "{before:?}");
        assert!(after.1 > ByteSize::new(8 * MIB), "{after:?}");
        let close = |a: ByteSize, b: ByteSize| a.bytes().abs_diff(b.bytes()) < MIB;
        assert!(before.0.file.unwrap() + ByteSize::new(MIB) < mine.file.unwrap(), "{before:?} {mine:?}");
        assert!(close(after.0.file.unwrap(), mine.file.unwrap()), "{after:?} {mine:?}");
        assert!(close(after.0.anon.unwrap(), before.0.anon.unwrap()), "{after:?} {before:?}");
    }

    #[test]
    fn a_fork_that_is_at_work_loses_nothing_that_it_writes() {
        let mut block = vec![1u64; 4 << 20 >> 3];
        let pages = block.as_mut_ptr_range();
        let (first, end) = (pages.start as usize, pages.end as usize);
        // SAFETY: it makes system calls on a descriptor that is open, and writes to its copy of a block that nobody else
        // uses.
        let fork = unsafe {
            fork(move |fd| {
                let mut lost = 0;
                let mut round = 1;
                while libc::recv(fd, [0u8; 1].as_mut_ptr().cast(), 1, libc::MSG_DONTWAIT) < 0 {
                    for place in (first..end).step_by(64) {
                        let place = place as *mut u64;
                        lost += i32::from(place.read_volatile() != round);
                        place.write_volatile(round + 1);
                    }
                    round += 1;
                }
                if lost > 0 { Err(io::Error::from_raw_os_error(libc::EIO)) } else { Ok(()) }
            })
        };
        for _ in 0..20 {
            own_pages(fork.pid, std::process::id()).unwrap();
        }
        assert!(fork.end().unwrap().success());
        drop(block);
    }

    #[test]
    fn a_process_that_is_gone_is_an_error() {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        assert!(own_pages(child.id(), std::process::id()).is_err());
    }
}
