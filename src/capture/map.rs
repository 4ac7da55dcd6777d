//! [`MappedFile`]: a read-only map of a byte range of a file that survives the file's truncation.

use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

use rustix::mm::Advice;

use super::error::{CaptureError, SourceError};
use super::file_map::FileMap;
use super::guard::{self, Guard};
use super::snapshot::Snapshot;
use super::source::{Bytes, SourceFile};
use plimsoll_memory::bytes::ByteSize;

/// How a map will be read, which decides how far the kernel reads ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Random access: nothing is read ahead.
    Random,
    /// Access from front to back: much is read ahead.
    Sequential,
}

/// Bytes of a file, mapped for reading.
///
/// A map is not a copy: when another process changes the file in place, the bytes change. When the file shrinks, lost
/// bytes read as zeros and the process goes on. [`MappedFile::intact`] detects both; do not trust results computed from
/// a map before it has returned `Ok`.
///
/// ```
/// # use plimsoll_capture::MappedFile;
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("bytes");
/// std::fs::write(&path, b"0123456789")?;
/// let map = MappedFile::open(&path, 2, 3)?;
/// assert_eq!(&map[..], b"234");
/// map.intact()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MappedFile {
    /// Declared before `map`, so that the guard is dropped before its addresses are unmapped.
    guard: Option<Guard>,
    memory: Memory,
    source: SourceFile,
}

/// The bytes of a map: mapped, or read.
#[derive(Debug)]
enum Memory {
    Mapped(FileMap),
    /// Bytes that were read, because they are in several places of a store; or none, for an empty range, which cannot
    /// be mapped.
    Read(Vec<u8>),
    /// A small file, which costs less to read than to map and unmap.
    Snapshot(Arc<Snapshot>),
}

/// The most bytes that are read when they cannot be mapped.
const READ_LIMIT: u64 = 256 << 20;

impl MappedFile {
    /// Maps `bytes` bytes of the file at `path`, from byte `offset` on, which need not be aligned.
    ///
    /// # Errors
    /// If the file cannot be opened or mapped, or the range reaches beyond it.
    pub fn open(path: &Path, offset: u64, bytes: u64) -> Result<Self, CaptureError> {
        Self::at(&SourceFile::open(path)?, offset, bytes, false)
    }

    /// Maps like [`open`](Self::open), at an address where large pages do not fit
    /// ([`large_pages_fit`](super::large_pages_fit)): for a map of which little may be read. A map of at most 64 KiB lies
    /// anywhere.
    ///
    /// # Errors
    /// See [`open`](Self::open).
    pub fn open_apart(path: &Path, offset: u64, bytes: u64) -> Result<Self, CaptureError> {
        Self::at(&SourceFile::open(path)?, offset, bytes, true)
    }

    /// Maps a range of an open file. In an entry of a store, a range that is not in one object is read.
    pub(super) fn of(source: &SourceFile, offset: u64, bytes: u64) -> Result<Self, CaptureError> {
        Self::at(source, offset, bytes, false)
    }

    fn at(source: &SourceFile, offset: u64, bytes: u64, apart: bool) -> Result<Self, CaptureError> {
        source.check_range(offset, bytes)?;
        if bytes == 0 {
            return Ok(Self { guard: None, memory: Memory::Read(Vec::new()), source: source.clone() });
        }
        if source.packed().is_none() {
            return Self::plain(source, offset, bytes, apart);
        }
        match source.run(offset, bytes)? {
            Bytes::Plain(object, at, run) if run == bytes => Self::plain(&object, at, bytes, apart),
            _ if bytes > READ_LIMIT => {
                Err(source.error(SourceError::Scattered { bytes, limit: READ_LIMIT }).at(offset))
            }
            _ => {
                let memory = Memory::Read(source.read_at(offset, bytes)?.into_owned());
                Ok(Self { guard: None, memory, source: source.clone() })
            }
        }
    }

    /// Maps the front of an open file: at most `bytes` bytes, and in an entry of a store only those before its first
    /// storage.
    pub(super) fn front(source: &SourceFile, bytes: u64) -> Result<Self, CaptureError> {
        let bytes = bytes.min(source.size());
        match source.run(0, bytes)? {
            Bytes::Here(run) => Self::of(source, 0, run.len() as u64),
            _ => Self::of(source, 0, bytes),
        }
    }

    /// Maps a range, not empty, of a file that is not an entry of a store.
    fn plain(source: &SourceFile, offset: u64, bytes: u64, apart: bool) -> Result<Self, CaptureError> {
        let range = offset..offset.saturating_add(bytes);
        source.fetch(std::slice::from_ref(&range))?;
        Self::pages(source, offset, bytes, apart)
    }

    /// Maps a whole open file that is not an entry of a store; [`MappedFile::fetch`] fetches the parts that are read.
    pub(super) fn unfetched(source: &SourceFile) -> Result<Self, CaptureError> {
        if source.size() == 0 { Self::of(source, 0, 0) } else { Self::pages(source, 0, source.size(), false) }
    }

    /// The whole open file, which is not an entry of a store: read if it is small, else mapped without fetching it.
    pub(super) fn whole(source: &SourceFile) -> Result<Self, CaptureError> {
        match source.snapshot()? {
            Some(snapshot) => {
                let memory = Memory::Snapshot(Arc::clone(snapshot));
                Ok(Self { guard: None, memory, source: source.clone() })
            }
            None => Self::unfetched(source),
        }
    }

    /// Whether bytes of the file are elsewhere until they are fetched.
    pub(super) fn is_remote(&self) -> bool {
        self.source.is_remote()
    }

    /// Fetches the bytes of `ranges` of the file, and returns once they are available.
    pub(super) fn fetch(&self, ranges: &[Range<u64>]) -> Result<(), CaptureError> {
        self.source.fetch(ranges)
    }

    fn pages(source: &SourceFile, offset: u64, bytes: u64, apart: bool) -> Result<Self, CaptureError> {
        let source = source.clone();
        source.check_range(offset, bytes)?;
        let fail = |error| source.error(SourceError::Io { operation: "map it", source: error }).at(offset);
        // No reader assumes that bytes stay the same between two reads; if the file is cut, the guard answers the fault
        // with zero pages, and `intact` reports it.
        let map = FileMap::new(source.file(), offset, bytes as usize, apart).map_err(fail)?;
        let guard = Guard::new(map.pages())
            .map_err(fail)?
            .ok_or_else(|| source.error(SourceError::TooManyMaps(guard::CAPACITY)))?;
        Ok(Self { guard: Some(guard), memory: Memory::Mapped(map), source })
    }

    /// Checks that every byte read so far was the file's own, and that the file has not changed since it was opened.
    ///
    /// # Errors
    /// [`SourceError::Lost`] if the file shrank under a read, [`SourceError::Changed`] if its size, or its time of
    /// modification or change, is different.
    pub fn intact(&self) -> Result<(), CaptureError> {
        if self.guard.as_ref().is_some_and(Guard::lost) {
            return Err(self.source.error(SourceError::Lost));
        }
        self.source.unchanged()
    }

    /// Advises the kernel how the map will be read. If the kernel refuses the hint, nothing happens.
    pub fn advise(&self, access: Access) {
        if let Memory::Mapped(map) = &self.memory {
            let advice = match access {
                Access::Random => Advice::Random,
                Access::Sequential => Advice::Sequential,
            };
            map.advise(0..map.len(), advice);
        }
    }

    /// Asks the system to read `range` (bytes of this map) from the disk, without waiting for it.
    ///
    /// # Panics
    /// If `range` reaches beyond the map.
    pub fn read_ahead(&self, range: Range<usize>) {
        assert!(range.start <= range.end && range.end <= self.len(), "the range lies within the map");
        if let Memory::Mapped(map) = &self.memory {
            map.advise(range, Advice::WillNeed);
        }
    }

    /// Takes the whole pages within `range` (bytes of this map) out of the process's resident memory. When touched
    /// again, they are read from the page cache.
    ///
    /// # Panics
    /// If `range` reaches beyond the map.
    pub fn release_pages(&self, range: Range<usize>) {
        assert!(range.start <= range.end && range.end <= self.len(), "the range lies within the map");
        let Memory::Mapped(map) = &self.memory else { return };
        let base = map.as_ptr() as usize;
        let pages = pages_within(base..base + map.len(), range, guard::page_size());
        if !pages.is_empty() {
            map.advise(pages.start - base..pages.end - base, Advice::LinuxDontNeed);
        }
    }

    /// Calls `visit` with the map's bytes from front to back, `window` bytes at a time, keeping no more than one
    /// window resident.
    pub fn for_each_window(&self, window: ByteSize, mut visit: impl FnMut(&[u8])) {
        let window = window.bytes().clamp(guard::page_size() as u64, usize::MAX as u64) as usize;
        self.advise(Access::Sequential);
        for start in (0..self.len()).step_by(window) {
            let end = start.saturating_add(window).min(self.len());
            visit(&self[start..end]);
            self.release_pages(start..end);
        }
    }
}

/// The addresses of the pages of `page` bytes that hold `range`, bytes of a map at the addresses `map`, and nothing else
/// of it. Nothing else is in the first and the last page of the map.
fn pages_within(map: Range<usize>, range: Range<usize>, page: usize) -> Range<usize> {
    let (start, end) = (map.start + range.start, map.start + range.end);
    let start = if start == map.start { start } else { start.next_multiple_of(page) };
    start..if end == map.end { end } else { end / page * page }
}

/// Calls `visit` with all bytes of `source` from front to back, at most `window` bytes at a time, keeping no more than
/// that resident. The bytes were the file's own if this returns `Ok`.
pub(super) fn for_each_window(
    source: &SourceFile,
    window: ByteSize,
    mut visit: impl FnMut(&[u8]),
) -> Result<(), CaptureError> {
    source.refuse_holes()?;
    let mut at = 0;
    while at < source.size() {
        at += match source.run(at, source.size() - at)? {
            Bytes::Here(bytes) => {
                visit(bytes);
                bytes.len() as u64
            }
            Bytes::Plain(file, offset, bytes) => {
                let map = MappedFile::plain(&file, offset, bytes, false)?;
                map.for_each_window(window, &mut visit);
                map.intact()?;
                bytes
            }
            Bytes::Compressed(found) => {
                found.for_each_piece(&mut visit).map_err(|error| source.error(error).at(at))?;
                found.bytes
            }
        };
    }
    source.unchanged()
}

impl Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.memory {
            Memory::Mapped(map) => map,
            Memory::Read(bytes) => bytes,
            Memory::Snapshot(snapshot) => snapshot,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use super::super::error::CaptureErrorKind;
    use super::super::file_map::large_pages_fit;
    use super::*;
    use plimsoll_memory::meter::ProcessMemory;
    use proptest::prelude::*;

    fn file(bytes: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, bytes).unwrap();
        (dir, path)
    }

    fn numbered(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|i| (i % 251) as u8).collect()
    }

    fn resident_file_kib() -> u64 {
        ProcessMemory::read(std::process::id()).unwrap().file.unwrap().bytes() / 1024
    }

    #[test]
    fn an_entry_of_thousands_of_objects_is_mapped_and_every_map_is_guarded() {
        let (_dir, path) = file(&numbered(8192));
        let source = SourceFile::open(&path).unwrap();
        let maps: Vec<_> = (0..3000).map(|_| MappedFile::plain(&source, 0, 8192, false).unwrap()).collect();
        OpenOptions::new().write(true).open(&path).unwrap().set_len(0).unwrap();
        assert_eq!(maps[2999][5000], 0, "a page that was lost reads as zeros");
        assert!(maps[2999].guard.as_ref().unwrap().lost() && !maps[0].guard.as_ref().unwrap().lost());
    }

    #[test]
    fn large_pages_do_not_fit_to_a_map_apart() {
        let bytes = numbered(5 << 20);
        let (_dir, path) = file(&bytes);
        for offset in [0, 64, 4096, 4160, 2 << 20, (2 << 20) + 4096] {
            // The system would choose addresses where they fit.
            for map in [0; 8].map(|_| MappedFile::open_apart(&path, offset, bytes.len() as u64 - offset).unwrap()) {
                assert!(!large_pages_fit(map.as_ptr() as usize, offset), "{offset}");
                assert!(map[..] == bytes[offset as usize..]);
            }
        }
    }

    #[test]
    fn any_range_is_mapped_whatever_its_alignment() {
        let bytes = numbered(20_000);
        let (_dir, path) = file(&bytes);
        for (offset, length) in [(0, 20_000), (1, 1), (4095, 2), (4096, 4096), (7, 0), (20_000, 0), (12_345, 7_655)] {
            let map = MappedFile::open(&path, offset, length).unwrap();
            assert_eq!(&map[..], &bytes[offset as usize..(offset + length) as usize]);
            map.intact().unwrap();
        }
    }

    proptest! {
        #[test]
        fn pages_that_two_ranges_share_stay(
            at in 0..1usize << 30, cut in 0..1usize << 20, more in 0..1usize << 20,
            page in prop::sample::select(vec![4 << 10, 16 << 10, 64 << 10]),
        ) {
            let map = at..at + cut + more;
            let [before, after] = [0..cut, cut..cut + more].map(|range| pages_within(map.clone(), range, page));
            let cut = at + cut;
            prop_assert!(before.is_empty() || (before.start == map.start && before.end <= cut));
            prop_assert!(after.is_empty() || (after.start >= cut && after.end == map.end));
            // Only the page of the cut stays, if the cut is within a page.
            let kept = map.len() - before.len() - after.len();
            prop_assert!(kept <= page || (before.is_empty() || after.is_empty()) && kept < 2 * page, "{kept}");
        }
    }

    #[test]
    fn a_range_beyond_the_file_is_refused_with_both_sizes() {
        let (_dir, path) = file(b"0123456789");
        for (offset, length) in [(0, 11), (10, 1), (u64::MAX, 1), (u64::MAX, u64::MAX)] {
            let error = MappedFile::open(&path, offset, length).unwrap_err();
            assert!(matches!(error.kind, CaptureErrorKind::Source(SourceError::Truncated { size: 10, .. })), "{error}");
        }
    }

    #[test]
    fn a_file_that_shrinks_under_the_map_is_an_error_and_not_the_end() {
        let bytes = numbered(1 << 20);
        let (_dir, path) = file(&bytes);
        let map = MappedFile::open(&path, 100, (1 << 20) - 100).unwrap();
        assert_eq!(map[0], bytes[100]);
        OpenOptions::new().write(true).open(&path).unwrap().set_len(5000).unwrap();
        assert_eq!(map.iter().rev().take(500_000).map(|&b| u64::from(b)).sum::<u64>(), 0);
        assert_eq!(map[4000], bytes[4100], "what is left of the file is still there");
        let error = map.intact().unwrap_err();
        assert!(matches!(error.kind, CaptureErrorKind::Source(SourceError::Lost)), "{error}");

        let other = MappedFile::open(&path, 0, 5000).unwrap();
        assert_eq!(other[..], bytes[..5000]);
        other.intact().unwrap();
    }

    #[test]
    fn several_threads_survive_the_same_loss() {
        let (_dir, path) = file(&numbered(1 << 20));
        let maps: Vec<_> = (0..8).map(|_| MappedFile::open(&path, 0, 1 << 20).unwrap()).collect();
        OpenOptions::new().write(true).open(&path).unwrap().set_len(0).unwrap();
        std::thread::scope(|scope| {
            for map in &maps {
                for _ in 0..2 {
                    scope.spawn(|| assert!(map.iter().all(|&b| b == 0)));
                }
            }
        });
        assert!(maps.iter().all(|m| m.intact().is_err()));
    }

    #[test]
    fn a_file_changed_in_place_is_detected() {
        let (_dir, path) = file(&numbered(100));
        let map = MappedFile::open(&path, 0, 100).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .and_then(|mut f| std::io::Write::write_all(&mut f, b"x"))
            .unwrap();
        let error = map.intact().unwrap_err();
        assert!(matches!(error.kind, CaptureErrorKind::Source(SourceError::Changed)), "{error}");
    }

    #[test]
    fn a_file_changed_in_place_is_detected_though_its_modification_time_is_restored() {
        let (_dir, path) = file(&numbered(100));
        let map = MappedFile::open(&path, 0, 100).unwrap();
        let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
        let changed = || std::os::unix::fs::MetadataExt::ctime_nsec(&std::fs::metadata(&path).unwrap());
        let before = changed();
        // The clock of a file system may tick only every few milliseconds.
        while changed() == before {
            std::fs::write(&path, numbered(100)).unwrap();
            OpenOptions::new().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        }
        let error = map.intact().unwrap_err();
        assert!(matches!(error.kind, CaptureErrorKind::Source(SourceError::Changed)), "{error}");
    }

    #[test]
    fn windows_cover_every_byte_once_and_do_not_stay_resident() {
        let bytes = numbered(40 << 20);
        let (_dir, path) = file(&bytes);
        let map = MappedFile::open(&path, 5, (40 << 20) - 5).unwrap();
        let before = resident_file_kib();
        let mut hasher = blake3::Hasher::new();
        let mut peak = 0;
        map.for_each_window(ByteSize::mib(4), |window| {
            hasher.update(window);
            peak = peak.max(resident_file_kib());
        });
        map.intact().unwrap();
        assert_eq!(hasher.finalize(), blake3::hash(&bytes[5..]));
        assert!(peak < before + 16 * 1024, "{before} KiB before, {peak} KiB at the most");
    }

    #[test]
    fn released_pages_come_back_with_the_same_bytes() {
        let bytes = numbered(100_000);
        let (_dir, path) = file(&bytes);
        let map = MappedFile::open(&path, 3, 99_000).unwrap();
        assert_eq!(map[..], bytes[3..99_003]);
        for range in [0..99_000, 10..20, 5000..60_000, 99_000..99_000] {
            map.release_pages(range);
            assert_eq!(map[..], bytes[3..99_003]);
        }
    }

    #[test]
    fn folders_pipes_and_missing_files_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let error = MappedFile::open(dir.path(), 0, 0).unwrap_err();
        assert!(matches!(error.kind, CaptureErrorKind::Source(SourceError::NotAFile)), "{error}");
        let error = MappedFile::open(&dir.path().join("none"), 0, 0).unwrap_err();
        assert!(matches!(error.kind, CaptureErrorKind::Source(SourceError::NotFound)), "{error}");
    }
}
