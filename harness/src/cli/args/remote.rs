//! How captures and stores at addresses of object stores are read.

use std::path::{Path, PathBuf};

use clap::Args;
use plimsoll::ByteSize;
use plimsoll::elsewhere::{ElsewhereError, Keep, Local};

#[derive(Args, Clone)]
#[command(next_help_heading = "Object stores (s3://, gs://, az://, https://)")]
pub struct RemoteFlags {
    /// Keep what is fetched here, for all processes of this machine
    #[arg(long, value_name = "DIR", env = "PLIMSOLL_CACHE")]
    pub cache: Option<PathBuf>,

    /// The most bytes that --cache keeps
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_CACHE_BYTES", default_value_t = Keep::CACHE_BYTES)]
    pub cache_bytes: ByteSize,

    /// Allow plain http to other machines
    #[arg(long, env = Keep::ALLOW_HTTP)]
    pub allow_http: bool,
}

impl RemoteFlags {
    /// The local path of `path`, which may be an address.
    ///
    /// # Errors
    /// If nothing can be read at the address.
    pub fn open(&self, path: &Path) -> Result<Local, ElsewhereError> {
        Local::open(path, &self.keep(Keep::HELD_BYTES))
    }

    /// How much data is kept, counting the `held_bytes` that are held at the same time during reading.
    pub fn keep(&self, held_bytes: ByteSize) -> Keep {
        Keep { cache: self.cache.clone(), cache_bytes: self.cache_bytes, held_bytes, allow_http: self.allow_http }
    }
}
