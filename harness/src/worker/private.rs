//! Inputs of untrusted kernels: maps that a kernel may write to without harm, at addresses that recur.
//!
//! A [`PrivateMap`] is copy-on-write: a kernel's writes stay in this process, and are found afterwards. An [`Arena`]
//! gives the files of successive calls the same addresses, so that a kernel that keeps results by the addresses of its
//! arguments returns a wrong one.

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::num::NonZeroU64;
use std::ops::{Deref, Range};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

use plimsoll::capture::{large_pages_fit, reserve_apart};
use rustix::fs::{Advice, fadvise};
use rustix::mm::{Advice as MadvAdvice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};
use rustix::param::page_size;

/// Addresses reserved for calls, if the system has them: reserving addresses costs no memory.
const USUAL_ARENA: usize = 64 << 30;

/// Why a file could not be mapped.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// The file ends before a storage that is needed.
    #[error("{path} has {size} bytes, and a storage of it ends at {end}: the file was cut short", path = .path.display())]
    Short { path: PathBuf, size: u64, end: u64 },
    /// The system refused.
    #[error("{path} cannot be mapped: {source}", path = .path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// Bytes of a file, mapped copy-on-write.
pub struct PrivateMap {
    /// The page-aligned start.
    start: *mut c_void,
    pages: usize,
    /// The first requested byte, at or after `start`.
    head: usize,
    bytes: usize,
    file: File,
    /// The offset of `start` in the file.
    offset: u64,
    /// Whether the addresses belong to an arena, which keeps them.
    in_arena: bool,
}

impl PrivateMap {
    /// Maps `range` of the file at `path`, in `arena` or anywhere.
    pub fn open(path: &Path, range: Range<u64>, arena: Option<&mut Arena>) -> Result<Self, MapError> {
        let failed = |source| MapError::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        if size < range.end {
            return Err(MapError::Short { path: path.to_owned(), size, end: range.end });
        }
        let head = (range.start % page_size() as u64) as usize;
        let (offset, bytes) = (range.start - head as u64, (range.end - range.start) as usize);
        let pages = (head + bytes).div_ceil(page_size());
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let length = pages * page_size();
        let in_arena = arena.is_some();
        let start = match arena {
            Some(arena) => arena.take(length, offset),
            None => reserve_apart(length, offset).map_err(failed)?,
        };
        // SAFETY: the addresses are reserved for this map: those of an arena are handed out once until they are given back. Who
        // maps a file that shrinks is ended by a signal, which the supervisor explains.
        let start = unsafe { mmap(start, length, access, flags | MapFlags::FIXED, &file, offset) };
        let start = start.map_err(|e| failed(e.into()))?;
        Ok(Self { start, pages, head, bytes, file, offset, in_arena })
    }

    /// Asks the system to read `range` (bytes of this map) from the disk without waiting for it. A hint.
    pub fn read_ahead(&self, range: Range<usize>) {
        let offset = self.offset + (self.head + range.start) as u64;
        let _ = fadvise(&self.file, offset, NonZeroU64::new(range.len() as u64), Advice::WillNeed);
    }

    /// Writes `bytes` at `at` of this map, and not to the file.
    pub fn write(&mut self, at: usize, bytes: &[u8]) {
        assert!(at <= self.bytes && bytes.len() <= self.bytes - at, "the bytes lie in the map");
        // SAFETY: they do, the map is writable, and nobody else has a reference to it.
        unsafe {
            let place = self.start.cast::<u8>().add(self.head + at);
            place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
    }

    /// Copies `bytes` bytes of a file to `at` of this map while a call over it is bound, as a kernel may. The system writes them:
    /// memory that a kernel has protected, to compute when it is written, gives an error instead.
    ///
    /// # Errors
    /// `EFAULT` for such memory, or the file cannot be read.
    pub fn read_where_it_lies(&self, at: usize, (file, from): (&File, u64), bytes: usize) -> io::Result<()> {
        assert!(at <= self.bytes && bytes <= self.bytes - at, "the bytes lie in the map");
        // SAFETY: the bytes lie in the map, which is writable, and the system alone writes this slice. Nothing here reads the map
        // meanwhile: slices of it are handed to kernels alone, of which none runs between two launches.
        let place = unsafe {
            let place = self.start.cast::<MaybeUninit<u8>>().add(self.head + at);
            std::slice::from_raw_parts_mut(place, bytes)
        };
        let mut done = 0;
        while done < bytes {
            match rustix::io::pread(file, &mut place[done..], from + done as u64) {
                Ok(([], _)) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok((read, _)) => done += read.len(),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Restores the file's contents in `range` of the map.
    ///
    /// # Errors
    /// As for [`PrivateMap::read_where_it_lies`].
    pub fn put_back(&self, range: Range<usize>) -> io::Result<()> {
        let from = self.offset + (self.head + range.start) as u64;
        match self.read_where_it_lies(range.start, (&self.file, from), range.len()) {
            // The file became shorter: what it still has is put back.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(()),
            done => done,
        }
    }

    /// Restores the file's contents and makes nothing of the map resident; the addresses stay.
    pub fn restore(&mut self) -> io::Result<()> {
        // SAFETY: the pages are this map's own, and nobody has a reference to them. What was written to them is dropped, and what
        // is read of them next is the file's.
        unsafe { madvise(self.start, self.pages * page_size(), MadvAdvice::LinuxDontNeed) }.map_err(Into::into)
    }

    /// The ranges that differ from the file, at most one per page; bytes beside the requested range, on its first and
    /// last page, are included.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn changed(&self) -> io::Result<Vec<Range<u64>>> {
        // If a system does not report which pages were written, all are compared.
        let written = self.written_pages().unwrap_or_else(|_| (0..self.pages).collect());
        let (mut original, mut changed) = (vec![0; page_size()], Vec::new());
        // SAFETY: the map holds these pages for as long as `self` lives, as those of `deref`.
        let pages = unsafe { std::slice::from_raw_parts(self.start.cast::<u8>(), self.pages * page_size()) };
        for page in written {
            let offset = self.offset + (page * page_size()) as u64;
            let held = read_up_to(&self.file, &mut original, offset)?;
            // The system maps zeros after the end of a file.
            original[held..].fill(0);
            let now = &pages[page * page_size()..][..page_size()];
            let differs = |i: &usize| now[*i] != original[*i];
            if let (Some(first), Some(last)) = ((0..now.len()).find(differs), (0..now.len()).rfind(differs)) {
                changed.push(offset + first as u64..offset + last as u64 + 1);
            }
        }
        Ok(changed)
    }

    /// The pages that are no longer the file's: the first write to a page makes a copy, which is anonymous.
    fn written_pages(&self) -> io::Result<Vec<usize>> {
        const PRESENT: u64 = 1 << 63;
        const SWAPPED: u64 = 1 << 62;
        const OF_A_FILE: u64 = 1 << 61;
        let pagemap = File::open("/proc/self/pagemap")?;
        let first = self.start as usize / page_size();
        let (mut written, mut buffer) = (Vec::new(), vec![0; 8 << 12]);
        for page in (0..self.pages).step_by(buffer.len() / 8) {
            let bytes = ((self.pages - page) * 8).min(buffer.len());
            pagemap.read_exact_at(&mut buffer[..bytes], (first + page) as u64 * 8)?;
            for (i, entry) in buffer[..bytes].chunks_exact(8).enumerate() {
                let entry = u64::from_ne_bytes(entry.try_into().expect("8 bytes"));
                if entry & (PRESENT | SWAPPED) != 0 && entry & OF_A_FILE == 0 {
                    written.push(page + i);
                }
            }
        }
        Ok(written)
    }
}

/// Reads at `offset` until `bytes` are full or the file ends; returns how many were read.
fn read_up_to(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut read = 0;
    while read < bytes.len() {
        match file.read_at(&mut bytes[read..], offset + read as u64) {
            Ok(0) => break,
            Ok(n) => read += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

impl Deref for PrivateMap {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the map holds these bytes for as long as `self` lives. A kernel may write them while it runs, when nothing here
        // reads them; every byte value is valid.
        unsafe { std::slice::from_raw_parts(self.start.cast::<u8>().add(self.head), self.bytes) }
    }
}

impl Drop for PrivateMap {
    fn drop(&mut self) {
        let length = self.pages * page_size();
        // SAFETY: the addresses are this map's own. Those of an arena stay reserved, with nothing behind them.
        unsafe {
            if self.in_arena {
                let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED;
                let _ = mmap_anonymous(self.start, length, ProtFlags::empty(), flags);
            } else {
                let _ = munmap(self.start, length);
            }
        }
    }
}

/// Addresses that the files of successive calls reuse.
#[derive(Default)]
pub struct Arena {
    start: usize,
    length: usize,
    used: usize,
}

impl Arena {
    /// Starts over at the first address, with room for maps of these sizes. No map of the previous call may be alive.
    ///
    /// # Errors
    /// Not enough addresses are free.
    pub fn begin(&mut self, maps: impl Iterator<Item = u64>) -> io::Result<()> {
        // A file may begin and end within a page, and reach into one more page.
        let needed = maps.map(|bytes| bytes as usize + 3 * page_size()).sum::<usize>();
        self.used = 0;
        if needed <= self.length {
            return Ok(());
        }
        self.give_back();
        let reserve = |length: usize| {
            let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
            // SAFETY: the system takes free addresses, behind which there is nothing.
            let start = unsafe { mmap_anonymous(null_mut(), length, ProtFlags::empty(), flags) };
            start.map(|start| (start as usize, length))
        };
        (self.start, self.length) = reserve(needed.max(USUAL_ARENA)).or_else(|_| reserve(needed))?;
        Ok(())
    }

    /// Addresses for a file from `offset` on. If little is read of the file, little should be resident.
    fn take(&mut self, length: usize, offset: u64) -> *mut c_void {
        if large_pages_fit(self.start + self.used, offset) {
            self.used += page_size();
        }
        let at = self.start + self.used;
        self.used += length;
        assert!(self.used <= self.length, "`begin` knows of every map");
        at as *mut c_void
    }

    fn give_back(&mut self) {
        if self.length > 0 {
            // SAFETY: the addresses are the arena's own, and no map of a call is alive.
            let _ = unsafe { munmap(self.start as *mut c_void, self.length) };
            self.length = 0;
        }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(byte: u8) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![byte; 40_000]).unwrap();
        file
    }

    /// As a kernel writes, which may also write beside the requested range.
    fn write(map: &PrivateMap, at: usize, byte: u8) {
        // SAFETY: the byte lies in the map, which is writable, and nothing else reads it now.
        unsafe { map.start.cast::<u8>().add(map.head + at).write(byte) };
    }

    #[test]
    fn a_map_is_written_and_restored_where_it_lies() {
        let file = file(7);
        let mut map = PrivateMap::open(file.path(), 100..39_000, None).unwrap();
        let place = map.as_ptr();
        map.write(4090, &[1, 2, 3]);
        map.write(38_899, &[4]);
        assert_eq!((&map[4089..4094], map[38_899]), (&[7, 1, 2, 3, 7][..], 4));
        assert!(std::fs::read(file.path()).unwrap().iter().all(|&byte| byte == 7));
        map.restore().unwrap();
        assert!(map.iter().all(|&byte| byte == 7) && map.changed().unwrap().is_empty());
        assert_eq!(map.as_ptr(), place);
    }

    #[test]
    fn what_is_written_is_found_and_does_not_reach_the_file() {
        let file = file(7);
        let map = PrivateMap::open(file.path(), 100..39_000, None).unwrap();
        assert!(map.iter().all(|&byte| byte == 7));
        assert!(map.changed().unwrap().is_empty());
        write(&map, 5000, 7);
        assert!(map.changed().unwrap().is_empty(), "the same byte again changes nothing");
        write(&map, 5001, 8);
        write(&map, 5003, 9);
        // The last requested byte, and one after it; the file ends on the next page.
        write(&map, 38_899, 1);
        write(&map, 38_900, 1);
        write(&map, 40_000 - 100, 1);
        assert_eq!(map.changed().unwrap(), [5101..5104, 38_999..40_001]);
        assert_eq!(map.written_pages().unwrap().len(), 2);
        assert!(std::fs::read(file.path()).unwrap().iter().all(|&byte| byte == 7));
    }

    #[test]
    fn little_of_a_file_that_was_just_written_is_resident_where_little_is_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![7; 32 << 20]).unwrap();
        let map = PrivateMap::open(file.path(), 0..32 << 20, None).unwrap();
        let read: u32 = map.iter().step_by(2 << 20).map(|&byte| u32::from(byte)).sum();
        assert_eq!(read, 16 * 7);
        let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let own = smaps.split_once(&format!("\n{:x}-", map.start as usize)).unwrap().1;
        let rss = own.lines().find_map(|line| line.strip_prefix("Rss:")).unwrap();
        let kib: usize = rss.trim().strip_suffix(" kB").unwrap().parse().unwrap();
        // A fault maps 64 KiB around it.
        assert!((64..=4096).contains(&kib), "{kib} KiB of 16 reads");
    }

    #[test]
    fn files_of_one_call_after_the_other_have_the_same_addresses() {
        let (mut arena, mut places) = (Arena::default(), Vec::new());
        for byte in 1..4 {
            let file = file(byte);
            arena.begin([30_000, 30_000].into_iter()).unwrap();
            let maps = [0, 1].map(|_| PrivateMap::open(file.path(), 4096..34_096, Some(&mut arena)).unwrap());
            assert!(maps.iter().all(|map| map.iter().all(|&b| b == byte)));
            places.push(maps.map(|map| map.as_ptr() as usize));
        }
        assert!(places.iter().all(|place| *place == places[0]), "{places:?}");
        assert_ne!(places[0][0], places[0][1]);
        let file = file(9);
        arena.begin([(USUAL_ARENA as u64) * 2].into_iter()).unwrap();
        let map = PrivateMap::open(file.path(), 0..10, Some(&mut arena)).unwrap();
        assert_eq!(map[9], 9);
    }

    #[test]
    fn a_file_that_is_too_short_is_refused() {
        let file = file(7);
        let error = PrivateMap::open(file.path(), 0..40_001, None).map(drop).unwrap_err();
        assert!(error.to_string().contains("has 40000 bytes, and a storage of it ends at 40001"), "{error}");
    }
}
