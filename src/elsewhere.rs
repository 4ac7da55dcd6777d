//! Addresses of object stores (`s3://`, `gs://`, `az://`, `https://`) wherever a path is given.
//!
//! A capture, a store or a record at an address is opened as a local path, which all other code then uses. Remote
//! reading needs the feature `remote`; without it, an address is an error that says so.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use plimsoll_memory::bytes::ByteSize;

pub use plimsoll_capture::origin::is_address;

/// How much fetched data is kept.
#[derive(Clone, Debug)]
pub struct Keep {
    /// The folder of a cache that processes of this machine share, if there is one.
    pub cache: Option<PathBuf>,
    /// The most bytes that the cache holds.
    pub cache_bytes: ByteSize,
    /// The most bytes of files that are held at the same time during reading.
    pub held_bytes: ByteSize,
    /// Whether plain HTTP is allowed to other machines.
    pub allow_http: bool,
}

impl Keep {
    /// The default size of a cache.
    pub const CACHE_BYTES: ByteSize = ByteSize::gib(32);
    /// The default size of held files.
    pub const HELD_BYTES: ByteSize = ByteSize::gib(2);
    /// The environment variable that allows plain HTTP to other machines.
    pub const ALLOW_HTTP: &str = "PLIMSOLL_ALLOW_HTTP";
}

impl Default for Keep {
    /// No cache, and plain HTTP if the environment allows it.
    fn default() -> Self {
        let allow_http = std::env::var(Self::ALLOW_HTTP).is_ok_and(|value| !matches!(&*value, "" | "0" | "false"));
        Self { cache: None, cache_bytes: Self::CACHE_BYTES, held_bytes: Self::HELD_BYTES, allow_http }
    }
}

/// Why an address cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ElsewhereError {
    /// This program was built without the feature `remote`.
    #[error(
        "{}: this plimsoll was built without object stores; install it with `cargo install --path harness --features \
         remote`, or copy the files to this machine", .address.display()
    )]
    NotBuilt {
        /// The address.
        address: PathBuf,
    },
    /// The error of the store or the network.
    #[cfg(feature = "remote")]
    #[error(transparent)]
    Remote(#[from] plimsoll_remote::RemoteError),
    /// A local file cannot be read.
    #[error("{}: cannot read it: {source}", .path.display())]
    Local {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

impl ElsewhereError {
    /// Whether nothing exists at the address.
    pub fn is_nothing_there(&self) -> bool {
        #[cfg(feature = "remote")]
        return matches!(self, Self::Remote(plimsoll_remote::RemoteError::NotFound { .. }));
        #[cfg(not(feature = "remote"))]
        false
    }
}

/// A local path that stands for a path or an address, while this value lives.
#[derive(Debug)]
pub struct Local {
    path: PathBuf,
    #[cfg(feature = "remote")]
    mirror: Option<plimsoll_remote::Mirror>,
}

impl Local {
    /// Opens a local path, or the capture, store or file at an address: its bytes are fetched when readers need them.
    ///
    /// # Errors
    /// [`ElsewhereError`] if the address cannot be read.
    pub fn open(path: &Path, keep: &Keep) -> Result<Self, ElsewhereError> {
        if !is_address(path) {
            return Ok(Self::of(path));
        }
        #[cfg(feature = "remote")]
        return Ok(Self::mirrored(plimsoll_remote::open(path, &options(keep))?));
        #[cfg(not(feature = "remote"))]
        Err(not_built(path, keep))
    }

    /// Opens a path, or the document or folder of documents at an address, which is fetched completely.
    ///
    /// # Errors
    /// [`ElsewhereError`] if the address cannot be read.
    pub fn documents(path: &Path) -> Result<Self, ElsewhereError> {
        if !is_address(path) {
            return Ok(Self::of(path));
        }
        let keep = Keep::default();
        #[cfg(feature = "remote")]
        return Ok(Self::mirrored(plimsoll_remote::open_documents(path, &options(&keep))?));
        #[cfg(not(feature = "remote"))]
        Err(not_built(path, &keep))
    }

    fn of(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            #[cfg(feature = "remote")]
            mirror: None,
        }
    }

    #[cfg(feature = "remote")]
    fn mirrored(mirror: plimsoll_remote::Mirror) -> Self {
        Self { path: mirror.path().to_owned(), mirror: Some(mirror) }
    }

    /// The local path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the path stands for an address.
    pub fn is_remote(&self) -> bool {
        #[cfg(feature = "remote")]
        return self.mirror.is_some();
        #[cfg(not(feature = "remote"))]
        false
    }
}

/// Fails if the store of `address` cannot be reached or refuses.
///
/// # Errors
/// [`ElsewhereError`].
pub fn probe(address: &Path) -> Result<(), ElsewhereError> {
    let keep = Keep::default();
    #[cfg(feature = "remote")]
    return Ok(plimsoll_remote::probe(address, &options(&keep))?);
    #[cfg(not(feature = "remote"))]
    Err(not_built(address, &keep))
}

/// Writes the file `path` to `address`, whole or not at all.
///
/// # Errors
/// [`ElsewhereError`].
pub fn write_document(address: &Path, path: &Path) -> Result<(), ElsewhereError> {
    let keep = Keep::default();
    #[cfg(feature = "remote")]
    {
        let failed = |source| ElsewhereError::Local { path: path.to_owned(), source };
        let content = std::fs::read(path).map_err(failed)?;
        Ok(plimsoll_remote::write_document(address, content, &options(&keep))?)
    }
    #[cfg(not(feature = "remote"))]
    {
        let _ = path;
        Err(not_built(address, &keep))
    }
}

/// A store to write: for an address, packed locally first and then sent.
#[derive(Debug)]
pub struct Outgoing {
    path: PathBuf,
    #[cfg(feature = "remote")]
    upload: Option<plimsoll_remote::Upload>,
}

/// The statistics of an upload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// The objects and references.
    pub objects: usize,
    /// Their bytes.
    pub bytes: ByteSize,
}

impl Outgoing {
    /// The store at a path, or at an address.
    ///
    /// # Errors
    /// [`ElsewhereError`] if the address cannot be written.
    pub fn open(path: &Path, keep: &Keep) -> Result<Self, ElsewhereError> {
        if !is_address(path) {
            let path = path.to_owned();
            #[cfg(feature = "remote")]
            return Ok(Self { path, upload: None });
            #[cfg(not(feature = "remote"))]
            return Ok(Self { path });
        }
        #[cfg(feature = "remote")]
        {
            let upload = plimsoll_remote::Upload::open(path, &options(keep))?;
            Ok(Self { path: upload.path().to_owned(), upload: Some(upload) })
        }
        #[cfg(not(feature = "remote"))]
        Err(not_built(path, keep))
    }

    /// The folder to pack into.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sends what an address does not have yet, until another thread sets `cancel`; `None` if the store is local.
    ///
    /// # Errors
    /// [`ElsewhereError`]; objects sent before stay, and are not sent again.
    pub fn finish(&self, cancel: &AtomicBool) -> Result<Option<Sent>, ElsewhereError> {
        #[cfg(not(feature = "remote"))]
        let _ = cancel;
        #[cfg(feature = "remote")]
        if let Some(upload) = &self.upload {
            let sent = upload.finish(cancel)?;
            return Ok(Some(Sent { objects: sent.objects, bytes: ByteSize::new(sent.bytes) }));
        }
        Ok(None)
    }
}

#[cfg(feature = "remote")]
fn options(keep: &Keep) -> plimsoll_remote::Options {
    plimsoll_remote::Options {
        cache: keep.cache.clone(),
        cache_bytes: keep.cache_bytes,
        held_bytes: keep.held_bytes,
        allow_http: keep.allow_http,
        ..plimsoll_remote::Options::default()
    }
}

#[cfg(not(feature = "remote"))]
fn not_built(address: &Path, _keep: &Keep) -> ElsewhereError {
    ElsewhereError::NotBuilt { address: address.to_owned() }
}

#[cfg(all(test, not(feature = "remote")))]
mod tests {
    use super::*;

    #[test]
    fn without_the_feature_an_address_is_an_error_that_says_what_to_install() {
        let error = Local::open(Path::new("s3://bucket/capture"), &Keep::default()).unwrap_err().to_string();
        assert!(error.starts_with("s3://bucket/capture: ") && error.contains("--features remote"), "{error}");
        assert!(!Local::open(Path::new("captures"), &Keep::default()).unwrap().is_remote());
    }
}
