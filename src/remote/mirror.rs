//! [`Mirror`]: a folder of local files that are filled from an object store as they are read.
//!
//! Files have the names and sizes of the objects; their bytes are holes until they are fetched. The folder belongs to
//! this process alone, and is removed when it ends. A file that is open somewhere in this process keeps its fetched
//! bytes; if more is held than allowed, the least recently used of the others are emptied.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plimsoll_capture::TorchFile;
use plimsoll_capture::leftover;
use plimsoll_capture::origin::{FetchError, Mount, Origin, Origins};

use crate::ahead::Ahead;
use crate::client::{Client, PIECE, Remote};
use crate::error::RemoteError;
use crate::range_set::RangeSet;
use crate::sink::Sink;

/// The prefix of a mirror's folder.
const PREFIX: &str = "plimsoll-remote-";

/// A gap between two ranges of at most this many bytes is fetched along: a request takes longer.
const GAP: u64 = 16 << 10;

/// The fewest bytes that one read fetches.
const LEAST_BYTES: u64 = 64 << 10;

/// A folder of local files that are filled as they are read, until this is dropped.
#[derive(Debug)]
pub struct Mirror {
    path: PathBuf,
    shared: Arc<Shared>,
    /// Dropped before the folder is removed.
    mount: Option<Mount>,
    /// Locks the folder, so that other processes do not treat it as a leftover.
    _held: File,
}

/// The shared state of a mirror's files.
#[derive(Debug)]
pub(crate) struct Shared {
    client: Arc<Client>,
    folder: PathBuf,
    /// The address of the folder.
    url: String,
    files: Vec<MirrorFile>,
    by_path: HashMap<PathBuf, usize>,
    /// The bytes of files that are here, or on their way.
    held: AtomicU64,
    /// The bytes of files that are open.
    in_use: AtomicU64,
    clock: AtomicU64,
    ahead: Ahead,
}

#[derive(Debug)]
struct MirrorFile {
    path: PathBuf,
    remote: Remote,
    here: Mutex<RangeSet>,
    /// The number of the local file that is filled. If another file replaces it, packing has written that one.
    inode: AtomicU64,
    /// How often the file is open.
    open: AtomicUsize,
    used: AtomicU64,
}

impl MirrorFile {
    fn here(&self) -> MutexGuard<'_, RangeSet> {
        self.here.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether another, complete file has replaced it.
    fn is_replaced(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok_and(|found| found.ino() != self.inode.load(Ordering::SeqCst))
    }
}

/// The parts of a mirror before it is mounted.
pub(crate) struct Plan {
    /// The address of the folder.
    pub url: String,
    /// The objects, by their paths in the folder.
    pub files: Vec<(PathBuf, Remote)>,
    /// The path in the folder that stands for the opened address.
    pub opened: PathBuf,
    /// Folders that exist even if they are empty.
    pub folders: Vec<PathBuf>,
    /// Whether files are read in their order, unless another order is given.
    pub in_order: bool,
}

impl Mirror {
    /// Makes the folder and mounts it.
    pub(crate) fn new(client: &Arc<Client>, plan: Plan) -> Result<Self, RemoteError> {
        let temporary = match &client.options.cache {
            // A disk with room for pieces has room for the files made of them.
            Some(cache) => cache.clone(),
            None => std::env::temp_dir(),
        };
        leftover::clean(&temporary, PREFIX);
        let failed = |doing| RemoteError::local(&temporary, doing);
        let made = leftover::held(
            || tempfile::Builder::new().prefix(PREFIX).tempdir_in(&temporary),
            |folder| File::open(folder.path()),
            |folder| folder.path(),
        );
        let (folder, held) = made.map_err(failed("make a folder in it"))?;
        let folder = folder.keep();
        let folder = folder.canonicalize().map_err(RemoteError::local(&folder, "resolve its path"))?;
        let url = plan.url;
        let mut shared = Shared {
            client: Arc::clone(client),
            folder: folder.clone(),
            url,
            files: Vec::with_capacity(plan.files.len()),
            by_path: HashMap::with_capacity(plan.files.len()),
            held: AtomicU64::new(0),
            in_use: AtomicU64::new(0),
            clock: AtomicU64::new(1),
            ahead: Ahead::default(),
        };
        if plan.in_order {
            shared.ahead.reads((0..plan.files.len()).collect());
        }
        let made = shared.make(plan.files, &plan.folders);
        let shared = Arc::new(shared);
        let mut mirror = Self { path: folder.join(plan.opened), shared, mount: None, _held: held };
        made?;
        mirror.mount = Some(Mount::new(Arc::new(Mounted(Arc::clone(&mirror.shared)))));
        Ok(mirror)
    }

    /// The local path that stands for the opened address.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The local paths of the files.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.shared.files.iter().map(|file| &*file.path)
    }

    /// Reads the headers of all entries, several at once, so that opening them one by one does not wait for each. A
    /// header that cannot be read is read again when its entry is opened, which reports the error.
    pub(crate) fn read_headers(&self) {
        let entries: Vec<&Path> = self.files().filter(|path| path.extension().is_some_and(|e| e == "pt")).collect();
        let next = AtomicUsize::new(0);
        let readers = self.shared.client.options.requests.min(entries.len());
        std::thread::scope(|scope| {
            for _ in 0..readers {
                scope.spawn(|| {
                    while let Some(path) = entries.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let _ = TorchFile::open(path);
                    }
                });
            }
        });
    }

    /// Fetches all files whole, for programs that open them by their paths.
    ///
    /// # Errors
    /// If one cannot be fetched.
    pub fn fetch_whole(&self) -> Result<(), RemoteError> {
        for (index, file) in self.shared.files.iter().enumerate() {
            self.shared.fetch(index, std::slice::from_ref(&(0..file.remote.size)))?;
        }
        Ok(())
    }

    /// Whether the object store has the file at `path`: any of that name or, if `unchanged`, the one that was not
    /// replaced here.
    pub(crate) fn is_there(&self, path: &Path, unchanged: bool) -> bool {
        let known = self.shared.by_path.get(path).map(|&index| &self.shared.files[index]);
        known.is_some_and(|file| !unchanged || !file.is_replaced())
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        self.mount = None;
        // A folder that stays is removed by the next run.
        let _ = fs::remove_dir_all(&self.shared.folder);
    }
}

/// Makes an empty file of `bytes` bytes, replacing an existing one in one step; returns its number.
fn make_empty(path: &Path, bytes: u64) -> Result<u64, RemoteError> {
    let failed = || RemoteError::local(path, "make a file of this size");
    let folder = path.parent().unwrap_or(Path::new("/"));
    let file = tempfile::Builder::new().prefix(".empty-").tempfile_in(folder).map_err(failed())?;
    file.as_file().set_len(bytes).map_err(failed())?;
    let inode = file.as_file().metadata().map_err(failed())?.ino();
    file.persist(path).map_err(|error| failed()(error.error))?;
    Ok(inode)
}

impl Shared {
    fn make(&mut self, files: Vec<(PathBuf, Remote)>, folders: &[PathBuf]) -> Result<(), RemoteError> {
        for folder in folders {
            let folder = self.folder.join(folder);
            fs::create_dir_all(&folder).map_err(RemoteError::local(&folder, "make it"))?;
        }
        for (within, remote) in files {
            let path = self.folder.join(within);
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).map_err(RemoteError::local(folder, "make it"))?;
            }
            let inode = AtomicU64::new(make_empty(&path, remote.size)?);
            self.by_path.insert(path.clone(), self.files.len());
            let (here, open, used) = (Mutex::default(), AtomicUsize::new(0), AtomicU64::new(0));
            self.files.push(MirrorFile { path, remote, here, inode, open, used });
        }
        Ok(())
    }

    /// Returns once `ranges` of file `index` are here.
    fn fetch(self: &Arc<Self>, index: usize, ranges: &[Range<u64>]) -> Result<(), RemoteError> {
        let asked: u64 = ranges.iter().map(|range| range.end.saturating_sub(range.start)).sum();
        let is_whole = asked > LEAST_BYTES && asked >= self.files[index].remote.size / 2;
        if is_whole {
            let is_here = self.has(index, ranges);
            self.ahead.read(index, is_here);
        }
        // The next files follow as soon as the last request for this one is sent.
        self.fill(index, ranges, &mut || {
            if is_whole {
                self.fetch_ahead();
            }
        })
    }

    fn has(&self, index: usize, ranges: &[Range<u64>]) -> bool {
        let here = self.files[index].here();
        ranges.iter().all(|range| here.holds(range))
    }

    /// The missing parts of `ranges`, combined into ranges that are worth a request.
    fn missing(&self, remote: &Remote, here: &RangeSet, ranges: &[Range<u64>]) -> Result<Vec<Range<u64>>, RemoteError> {
        let size = remote.size;
        if let Some(beyond) = ranges.iter().find(|range| range.end > size) {
            let what = format!("bytes to {} were requested, but it has {size}", beyond.end);
            return Err(RemoteError::WrongRange { url: remote.address.url.clone(), what });
        }
        let mut missing: Vec<Range<u64>> = ranges.iter().flat_map(|range| here.missing(range.clone())).collect();
        missing.sort_unstable_by_key(|range| range.start);
        let mut joined: Vec<Range<u64>> = Vec::with_capacity(missing.len());
        for range in missing {
            match joined.last_mut() {
                Some(last) if range.start <= last.end.saturating_add(GAP) => last.end = last.end.max(range.end),
                _ => joined.push(range),
            }
        }
        if let [only] = &mut joined[..] {
            only.end = only.end.max(only.start.saturating_add(LEAST_BYTES)).min(size);
        }
        if self.client.cache.is_some() {
            // If most of a piece is missing, it is fetched whole, which the cache can keep.
            for range in &mut joined {
                if (range.end - range.start) * 2 >= PIECE.min(size) {
                    *range = range.start / PIECE * PIECE..range.end.next_multiple_of(PIECE).min(size);
                }
            }
        }
        let mut set = RangeSet::default();
        joined.into_iter().for_each(|range| set.add(range));
        Ok(set.into_ranges())
    }

    /// Empties files that are not open, least recently used first, until the rest is within the limit.
    fn make_room(&self) {
        let limit = self.client.options.held_bytes.bytes();
        if self.held.load(Ordering::Relaxed) <= limit {
            return;
        }
        let mut order: Vec<_> = self.files.iter().filter(|file| file.open.load(Ordering::SeqCst) == 0).collect();
        order.sort_by_key(|file| file.used.load(Ordering::Relaxed));
        for file in order {
            if self.held.load(Ordering::Relaxed) <= limit {
                return;
            }
            let Ok(mut here) = file.here.try_lock() else { continue };
            // Opening the file takes the same lock. Another process that still has it mapped keeps the file unchanged.
            if here.bytes() == 0 || file.open.load(Ordering::SeqCst) > 0 || file.is_replaced() {
                continue;
            }
            if let Ok(inode) = make_empty(&file.path, file.remote.size) {
                file.inode.store(inode, Ordering::SeqCst);
                self.held.fetch_sub(here.bytes(), Ordering::Relaxed);
                *here = RangeSet::default();
            }
        }
    }

    /// Fetches the next file in the background, if it fits beside the ones in use; others follow.
    fn fetch_ahead(self: &Arc<Self>) {
        let size = |file: usize| self.files[file].remote.size;
        let fits = |unread: &[usize]| {
            let closed = unread.iter().filter(|&&file| self.files[file].open.load(Ordering::SeqCst) == 0);
            let closed: u64 = closed.map(|&file| size(file)).sum();
            self.in_use.load(Ordering::SeqCst).saturating_add(closed) <= self.client.options.held_bytes.bytes()
        };
        let Some(index) = self.ahead.next(size, fits) else { return };
        let Some(opened) = OpenFile::new(self, index) else { return self.ahead.sent() };
        let fetch = move || {
            let shared = &opened.shared;
            let (mut is_sent, whole) = (false, 0..shared.files[index].remote.size);
            let filled = shared.fill(index, std::slice::from_ref(&whole), &mut || {
                is_sent = true;
                shared.ahead.sent();
                shared.fetch_ahead();
            });
            // A reader that needs the file fetches it again, and gets the error.
            if filled.is_err() && !is_sent {
                shared.ahead.sent();
            }
        };
        if std::thread::Builder::new().name("plimsoll-ahead".to_owned()).spawn(fetch).is_err() {
            self.ahead.sent();
        }
    }

    /// Fetches the missing part of `ranges` of file `index`, and calls `sent` once all requests for it are sent.
    fn fill(&self, index: usize, ranges: &[Range<u64>], sent: &mut (dyn FnMut() + Send)) -> Result<(), RemoteError> {
        let file = &self.files[index];
        file.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        let mut here = file.here();
        let missing = match file.is_replaced() {
            true => Vec::new(),
            false => self.missing(&file.remote, &here, ranges)?,
        };
        if missing.is_empty() {
            drop(here);
            sent();
            return Ok(());
        }
        let opened = File::options().write(true).open(&file.path);
        let sink = Sink { file: opened.map_err(RemoteError::local(&file.path, "open it"))?, path: file.path.clone() };
        let bytes: u64 = missing.iter().map(|range| range.end - range.start).sum();
        self.held.fetch_add(bytes, Ordering::Relaxed);
        self.make_room();
        sink.reserve(&missing);
        if let Err(error) = self.client.fetch(&file.remote, pieces(&missing), sink, sent) {
            self.held.fetch_sub(bytes, Ordering::Relaxed);
            return Err(error);
        }
        missing.into_iter().for_each(|range| here.add(range));
        Ok(())
    }
}

/// `ranges` in parts of at most [`PIECE`] bytes, which end at multiples of it.
fn pieces(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut pieces = Vec::with_capacity(ranges.len());
    for range in ranges {
        let mut at = range.start;
        while at < range.end {
            let end = ((at / PIECE + 1) * PIECE).min(range.end);
            pieces.push(at..end);
            at = end;
        }
    }
    pieces
}

/// The mounted folder of a mirror.
#[derive(Debug)]
struct Mounted(Arc<Shared>);

impl Origins for Mounted {
    fn open(&self, path: &Path) -> Option<Arc<dyn Origin>> {
        let index = *self.0.by_path.get(path)?;
        OpenFile::new(&self.0, index).map(|open| Arc::new(open) as Arc<dyn Origin>)
    }

    fn reads(&self, paths: &[PathBuf]) {
        // Paths of other folders are not among them, and entries may share an object.
        let mut known = HashSet::new();
        let order = paths.iter().filter_map(|path| self.0.by_path.get(path).copied());
        let order: Vec<usize> = order.filter(|&index| known.insert(index)).collect();
        if !order.is_empty() {
            self.0.ahead.reads(order);
        }
    }

    fn address(&self, path: &Path) -> Option<Arc<Path>> {
        let within = path.strip_prefix(&self.0.folder).ok()?;
        let url = match within.as_os_str().is_empty() {
            true => self.0.url.clone(),
            false => format!("{}/{}", self.0.url, within.display()),
        };
        Some(Path::new(&url).into())
    }
}

/// A file of a mirror, open.
#[derive(Debug)]
struct OpenFile {
    shared: Arc<Shared>,
    index: usize,
}

impl OpenFile {
    fn new(shared: &Arc<Shared>, index: usize) -> Option<Self> {
        let file = shared.files.get(index)?;
        let _here = file.here();
        if file.open.fetch_add(1, Ordering::SeqCst) == 0 {
            shared.in_use.fetch_add(file.remote.size, Ordering::SeqCst);
        }
        Some(Self { shared: Arc::clone(shared), index })
    }

    fn file(&self) -> &MirrorFile {
        &self.shared.files[self.index]
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        if self.file().open.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.shared.in_use.fetch_sub(self.file().remote.size, Ordering::SeqCst);
        }
    }
}

impl Origin for OpenFile {
    fn version(&self) -> u64 {
        let identity = self.file().remote.identity();
        u64::from_le_bytes(identity.as_bytes()[..8].try_into().expect("a digest is longer"))
    }

    fn has(&self, range: &Range<u64>) -> bool {
        self.shared.has(self.index, std::slice::from_ref(range))
    }

    fn fetch(&self, ranges: &[Range<u64>]) -> Result<(), FetchError> {
        self.shared.fetch(self.index, ranges).map_err(FetchError::from)
    }
}
