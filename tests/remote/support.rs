//! A capture on a server.

use std::path::{Path, PathBuf};
use std::time::Duration;

use plimsoll_capture::{Capture, CaptureError, synthesize};
use plimsoll_memory::bytes::ByteSize;
use plimsoll_remote::{Mirror, Options, RemoteError, open};
use tempfile::TempDir;

use crate::server::Server;

/// A capture of 20 entries, on the disk and on a server.
pub struct Scene {
    pub server: Server,
    pub local: TempDir,
}

impl Scene {
    pub fn new() -> Self {
        let local = tempfile::tempdir().unwrap();
        synthesize::gemma4_e2b_gb10().scale(1, 1536).write(local.path()).unwrap();
        let server = Server::start();
        server.put_folder("/captures/embedding", local.path());
        Self { server, local }
    }

    pub fn address(&self) -> PathBuf {
        PathBuf::from(format!("{}/captures/embedding", self.server.url))
    }

    pub fn open(&self, options: &Options) -> Result<Mirror, RemoteError> {
        open(&self.address(), options)
    }

    /// Opens the capture and reads every byte of it.
    pub fn read(&self, options: &Options) -> Result<(), Failed> {
        let mirror = self.open(options)?;
        let capture = Capture::open(mirror.path())?;
        assert_same(&capture, self.local.path())?;
        Ok(())
    }
}

/// What a test fails with.
#[derive(Debug)]
pub struct Failed(pub String);

impl From<RemoteError> for Failed {
    fn from(error: RemoteError) -> Self {
        Self(error.to_string())
    }
}

impl From<CaptureError> for Failed {
    fn from(error: CaptureError) -> Self {
        Self(error.to_string())
    }
}

/// Options that give up on a failing server quickly.
pub fn impatient() -> Options {
    let (longest_backoff, patience) = (Duration::from_millis(20), Duration::from_millis(300));
    Options { retries: 3, longest_backoff, patience, ..Options::default() }
}

/// Options with a cache in `folder`.
pub fn cached(folder: &Path) -> Options {
    Options { cache: Some(folder.to_owned()), ..impatient() }
}

/// Options that hold no more than `bytes`.
pub fn holding(bytes: ByteSize) -> Options {
    Options { held_bytes: bytes, ..impatient() }
}

/// Fails unless every value and every byte of `capture` is that of the folder `local`.
pub fn assert_same(capture: &Capture, local: &Path) -> Result<(), CaptureError> {
    let expected = Capture::open(local).unwrap();
    assert_eq!(capture.names(), expected.names());
    assert_eq!(capture.order(), expected.order());
    for (entry, expected) in capture.entries().zip(expected.entries()) {
        let (entry, expected) = (entry?, expected.unwrap());
        assert_eq!(
            (entry.args(), entry.kwargs(), entry.output()),
            (expected.args(), expected.kwargs(), expected.output())
        );
        let (mapped, expected_map) = (entry.map()?, expected.map().unwrap());
        for index in 0..expected.storages().len() {
            assert!(mapped.storage(index)? == expected_map.storage(index).unwrap(), "{}", entry.name());
        }
        mapped.intact()?;
    }
    Ok(())
}
