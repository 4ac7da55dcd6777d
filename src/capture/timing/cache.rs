//! [`Cache`]: a cache that can be emptied before a launch, so that it holds none of its arguments; and the CPU's.

use std::hint::black_box;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::clock::ClockError;
use plimsoll_memory::bytes::ByteSize;

/// The write before each launch that empties the cache of the launch's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Flush {
    /// The number of bytes written before each launch.
    pub written: ByteSize,
    /// The size of the cache that the write empties; absent if it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<ByteSize>,
}

impl Flush {
    /// The bytes that triton's `do_bench` writes, which are written if the size of the cache cannot be read.
    const OF_DO_BENCH: ByteSize = ByteSize::mib(256);

    /// A write of twice the cache's size: not every cache evicts the least recently used data, so a write of its own
    /// size would leave some of the old content.
    pub fn of(cache: Option<ByteSize>) -> Self {
        let twice = |cache: ByteSize| ByteSize::new(cache.bytes().saturating_mul(2));
        Self { written: cache.map_or(Self::OF_DO_BENCH, twice), cache }
    }

    /// A write of twice a device's cache, and at least what `do_bench` writes: while the device writes, the host puts
    /// the mark and the launch into the stream. A shorter write would end before that, and the host's time would be
    /// measured.
    pub fn of_device(cache: Option<ByteSize>) -> Self {
        let flush = Self::of(cache);
        Self { written: flush.written.max(Self::OF_DO_BENCH), ..flush }
    }
}

/// A cache of the processor or device that kernels run on.
pub trait Cache {
    /// Allocates what a flush needs, so that [`Cache::flush`] neither allocates nor waits.
    ///
    /// # Errors
    /// [`ClockError`] if the memory for it cannot be allocated.
    fn prepare(&mut self) -> Result<Flush, ClockError>;

    /// Empties the cache, in the order of the launches around it: on a device the flush is put into the stream.
    fn flush(&mut self);
}

/// The last-level cache of the CPU, emptied by a write of this thread to every line of a buffer twice its size. Data in
/// the other cores' own caches stays there.
#[derive(Clone, Debug)]
pub struct CpuCache {
    size: fn() -> Option<ByteSize>,
    buffer: Vec<u8>,
}

/// The fewest bytes that move between cache and memory together, on every processor that Plimsoll runs on.
const LINE: usize = 64;

impl CpuCache {
    /// Creates a cache. `size` returns its size when it is first emptied, or `None` if the size is unknown.
    pub fn new(size: fn() -> Option<ByteSize>) -> Self {
        Self { size, buffer: Vec::new() }
    }
}

impl Cache for CpuCache {
    fn prepare(&mut self) -> Result<Flush, ClockError> {
        let flush = Flush::of((self.size)());
        let bytes = flush.written;
        let cannot = || ClockError { clock: "cpu", reason: format!("cannot allocate {bytes} to empty the cache") };
        let length = usize::try_from(bytes.bytes()).map_err(|_| cannot())?;
        self.buffer.try_reserve_exact(length.saturating_sub(self.buffer.len())).map_err(|_| cannot())?;
        self.buffer.resize(length, 0);
        Ok(flush)
    }

    fn flush(&mut self) {
        // A write of whole pages could bypass the cache (a memset of this size does); adding to a byte of each line
        // brings the line into it.
        for byte in self.buffer.iter_mut().step_by(LINE) {
            *byte = byte.wrapping_add(1);
        }
        black_box(&mut self.buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_twice_the_cache_is_written() {
        let mut cache = CpuCache::new(|| Some(ByteSize::new(100 << 10)));
        assert_eq!(
            cache.prepare().unwrap(),
            Flush { written: ByteSize::new(200 << 10), cache: Some(ByteSize::new(100 << 10)) }
        );
        cache.flush();
        cache.flush();
        assert_eq!(cache.buffer.len(), 200 << 10);
        assert!(cache.buffer.chunks(LINE).all(|line| line[0] == 2));
    }

    #[test]
    fn a_cache_of_unknown_size_is_not_given_one() {
        assert_eq!(Flush::of(None), Flush { written: ByteSize::mib(256), cache: None });
        assert_eq!(serde_json::to_string(&Flush::of(None)).unwrap(), r#"{"written":268435456}"#);
        assert_eq!(Flush::of_device(None), Flush::of(None));
        for (cache, written) in [(50, 256), (192, 384)] {
            let cache = Some(ByteSize::mib(cache));
            assert_eq!(Flush::of_device(cache), Flush { written: ByteSize::mib(written), cache });
        }
        let error = CpuCache::new(|| Some(ByteSize::new(u64::MAX))).prepare().unwrap_err();
        assert!(error.to_string().contains("to empty the cache"), "{error}");
    }
}
