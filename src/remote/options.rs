//! [`Options`]: how object stores are read and written.

use std::path::PathBuf;
use std::time::Duration;

use plimsoll_memory::bytes::ByteSize;

/// How object stores are read and written.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder of a cache that processes of this machine share; `None` for no cache.
    pub cache: Option<PathBuf>,
    /// The most bytes that the cache holds.
    pub cache_bytes: ByteSize,
    /// The most bytes of files that are held at the same time during reading. A file in use is always kept.
    pub held_bytes: ByteSize,
    /// Whether plain HTTP is allowed to other machines.
    pub allow_http: bool,
    /// The number of concurrent requests.
    pub requests: usize,
    /// How often a failed request is sent again.
    pub retries: usize,
    /// The longest pause before a retry.
    pub longest_backoff: Duration,
    /// How long a server may send nothing.
    pub patience: Duration,
}

impl Options {
    /// The default size of a cache.
    pub const CACHE_BYTES: ByteSize = ByteSize::gib(32);
    /// The default size of held files.
    pub const HELD_BYTES: ByteSize = ByteSize::gib(2);
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cache: None,
            cache_bytes: Self::CACHE_BYTES,
            held_bytes: Self::HELD_BYTES,
            allow_http: false,
            requests: 16,
            retries: 6,
            longest_backoff: Duration::from_secs(10),
            patience: Duration::from_secs(30),
        }
    }
}
