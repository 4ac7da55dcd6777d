//! [`Upload`]: writes a store to an object store by way of a local one.
//!
//! The local store is a mirror of the remote one: existing objects have their names and sizes there, so that packing
//! finds them and writes only what is missing. Afterwards the new files are sent in the order in which a store is
//! written: objects, the marker, references. Each upload is conditional or, for large objects, in parts; every part
//! carries its checksum, and the size of each object is compared afterwards. An interrupted run has uploaded whole
//! objects, which the next run finds.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::{StreamExt, TryStreamExt};
use object_store::{MultipartUpload, ObjectStoreExt, PutMode, PutPayload};

use crate::address::Address;
use crate::client::{Client, PIECE, runtime};
use crate::error::RemoteError;
use crate::mirror::Mirror;
use crate::open::open_store;
use crate::options::Options;

/// The objects that are sent at once. Each needs one piece of memory.
const AT_ONCE: usize = 4;

/// The most parts of one object.
const MOST_PARTS: u64 = 9_000;

/// A store in an object store, being written.
#[derive(Debug)]
pub struct Upload {
    address: Address,
    mirror: Mirror,
}

/// The statistics so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uploaded {
    /// Objects and references that were sent.
    pub objects: usize,
    /// Their bytes.
    pub bytes: u64,
}

impl Upload {
    /// Opens the store at `address`, or an empty place for one.
    ///
    /// # Errors
    /// If the address has other objects, or the store refuses.
    pub fn open(address: &Path, options: &Options) -> Result<Self, RemoteError> {
        let address = Address::open(&address.to_string_lossy(), options)?;
        if address.url.starts_with("http") {
            let what = "files of an HTTP server cannot be written safely; give s3://, gs:// or az://".to_owned();
            return Err(RemoteError::Unsupported { url: address.url, what });
        }
        let client = Client::new(options)?;
        let mirror = open_store(&client, &address)?;
        Ok(Self { address, mirror })
    }

    /// The folder of the local store, which stands for the remote one.
    pub fn path(&self) -> &Path {
        self.mirror.path()
    }

    /// Sends everything that only the local store has, until another thread sets `cancel`.
    ///
    /// # Errors
    /// If the store refuses, or another writer put something else in the same place. What was sent before stays, and is
    /// not sent again.
    pub fn finish(&self, cancel: &AtomicBool) -> Result<Uploaded, RemoteError> {
        let mut all = Uploaded::default();
        // A reference leads to nothing that is missing, and a marker says that the store can be read.
        for (folder, is_object) in [("objects", true), ("", false), ("captures", false)] {
            let files = self.new_files(folder)?;
            let sending = files.iter().map(|(path, bytes)| self.send(path, *bytes, is_object, cancel));
            let sending = futures_util::stream::iter(sending).buffer_unordered(AT_ONCE);
            runtime().block_on(sending.try_collect::<Vec<()>>())?;
            all.objects += files.len();
            all.bytes += files.iter().map(|(_, bytes)| bytes).sum::<u64>();
        }
        Ok(all)
    }

    /// The local store's new files below `folder`, with their sizes.
    fn new_files(&self, folder: &str) -> Result<Vec<(PathBuf, u64)>, RemoteError> {
        let top = self.mirror.path().join(folder);
        let (mut files, mut left) = (Vec::new(), vec![top]);
        while let Some(folder_path) = left.pop() {
            let failed = RemoteError::local(&folder_path, "list it");
            let items = fs::read_dir(&folder_path).and_then(|items| items.collect::<io::Result<Vec<_>>>());
            for item in items.map_err(failed)? {
                let path = item.path();
                let metadata = item.metadata().map_err(RemoteError::local(&path, "read its metadata"))?;
                if metadata.is_dir() {
                    if !folder.is_empty() {
                        left.push(path);
                    }
                    continue;
                }
                let is_marker = item.file_name() == "plimsoll-store.json";
                if (folder.is_empty() && !is_marker) || self.mirror.is_there(&path, folder == "captures") {
                    continue;
                }
                files.push((path, metadata.len()));
            }
        }
        files.sort();
        Ok(files)
    }

    async fn send(&self, path: &Path, bytes: u64, is_object: bool, cancel: &AtomicBool) -> Result<(), RemoteError> {
        if cancel.load(Ordering::Relaxed) {
            return Err(RemoteError::Interrupted { url: self.address.url.clone() });
        }
        let within = path.strip_prefix(self.mirror.path()).unwrap_or(path);
        let mut to = self.address.clone();
        for name in within.iter() {
            to = to.child(&name.to_string_lossy());
        }
        let failed = |error| RemoteError::of(&to.url, error);
        let read = || RemoteError::local(path, "read it");
        if bytes <= PIECE {
            let content = fs::read(path).map_err(read())?;
            // A reference replaces another only if packing did, which compares first.
            let mode = if is_object { PutMode::Create } else { PutMode::Overwrite };
            let put = to.store.put_opts(&to.path, PutPayload::from(content), mode.into()).await;
            match put {
                // Another writer was faster. An object is named by its content, so both sent the same bytes.
                Err(object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. })
                    if is_object => {}
                Err(error) => {
                    let error = failed(error);
                    if matches!(error, RemoteError::Damaged { .. }) {
                        // The object has the name and size of the right one: the next run would accept it.
                        let _ = to.store.delete(&to.path).await;
                    }
                    return Err(error);
                }
                Ok(_) => {}
            }
        } else {
            let mut upload = to.store.put_multipart(&to.path).await.map_err(failed)?;
            let file = File::open(path).map_err(read())?;
            // A store takes 10,000 parts.
            let part = PIECE.max(bytes.div_ceil(MOST_PARTS));
            let sent = send_parts(&mut *upload, file, part, path, &to).await;
            if let Err(error) = sent {
                // Unfinished parts cost money until they are removed.
                let _ = upload.abort().await;
                return Err(error);
            }
        }
        let there = to.store.head(&to.path).await.map_err(failed)?;
        if there.size != bytes {
            let what = format!("it has {} bytes instead of the {bytes} that were sent", there.size);
            return Err(RemoteError::Exists { url: to.url.clone(), what });
        }
        Ok(())
    }
}

/// Sends a large object in parts of this many bytes, one after the other, and completes it.
async fn send_parts(
    upload: &mut dyn MultipartUpload,
    mut file: File,
    bytes: u64,
    path: &Path,
    to: &Address,
) -> Result<(), RemoteError> {
    let failed = |error| RemoteError::of(&to.url, error);
    loop {
        let mut part = Vec::new();
        (&mut file).take(bytes).read_to_end(&mut part).map_err(RemoteError::local(path, "read it"))?;
        if part.is_empty() {
            break;
        }
        upload.put_part(PutPayload::from(part)).await.map_err(failed)?;
    }
    upload.complete().await.map(drop).map_err(failed)
}
