//! Sources of a storage's bytes, and options for writing them.

use std::fmt;
use std::io;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use plimsoll_memory::ByteSize;

/// The bytes of one storage.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// Bytes in memory.
    Bytes(&'a [u8]),
    /// Bytes made on demand, chunk by chunk, in any order and by several threads at once.
    Fill {
        /// The length of the storage.
        bytes: ByteSize,
        /// Fills the slice with the storage's bytes from an offset on; the slice is within the storage. The same range
        /// always gives the same bytes.
        fill: &'a (dyn Fn(u64, &mut [u8]) -> io::Result<()> + Sync),
    },
}

impl Source<'_> {
    /// The length of the storage.
    pub fn bytes(&self) -> ByteSize {
        match self {
            Self::Bytes(bytes) => ByteSize::new(bytes.len() as u64),
            Self::Fill { bytes, .. } => *bytes,
        }
    }
}

impl fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "Bytes({} bytes)", bytes.len()),
            Self::Fill { bytes, .. } => write!(f, "Fill({bytes})"),
        }
    }
}

/// How to write: threads, cancellation and progress. No option changes the bytes that are written.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The threads that fill and write chunks; `None` takes one per processor, at most 16.
    pub threads: Option<NonZeroUsize>,
    /// A flag that any thread sets to `true` to stop within a chunk: the write fails and leaves nothing behind.
    pub cancel: &'a AtomicBool,
    /// Called with the bytes of each piece just written, from any thread.
    pub progress: &'a (dyn Fn(ByteSize) + Sync),
}

static NEVER: AtomicBool = AtomicBool::new(false);

impl Default for Options<'_> {
    fn default() -> Self {
        Self { threads: None, cancel: &NEVER, progress: &|_| () }
    }
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("threads", &self.threads).field("cancel", self.cancel).finish_non_exhaustive()
    }
}

/// The most threads that are used: with more, the file system is the limit, not the generator, and each thread holds a
/// chunk.
const MOST_THREADS: usize = 16;

impl Options<'_> {
    /// The number of threads to use.
    pub(super) fn thread_count(&self) -> usize {
        match self.threads {
            Some(n) => n.get(),
            None => std::thread::available_parallelism().map_or(1, NonZeroUsize::get).min(MOST_THREADS),
        }
    }
}
