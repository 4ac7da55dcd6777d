//! [`Store::pack`]: a folder of entries into the store.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

use super::super::skeleton::{Skeleton, SkeletonError};
use super::super::source::SourceFile;
use super::batch::Batch;
use super::error::StoreError;
use super::known::Known;
use super::open::{EntryName, Store, is_entry};
use super::payloads::Payloads;
use super::recipe::{Modified, Recipe};
use super::whole;
use plimsoll_memory::bytes::ByteSize;

/// What is made durable together: at most so many bytes of new objects, and so many entries. A crash costs what has
/// been packed since.
const BATCH_BYTES: u64 = 1 << 30;
const BATCH_ENTRIES: usize = 256;

/// How to pack.
pub struct PackOptions<'a> {
    /// The name of the capture in the store; `None` takes that of the folder.
    pub name: Option<OsString>,
    /// Replace entries of the same name and other content.
    pub replace: bool,
    /// Compress storages where that saves a tenth. They are decompressed into memory whenever they are used.
    pub compress: bool,
    /// Delete each original, after the store's bytes were put together and are those of the original.
    pub remove_originals: bool,
    /// The threads that hash and copy; `None` takes one a processor.
    pub threads: Option<NonZeroUsize>,
    /// Set by another thread to stop.
    pub cancel: &'a AtomicBool,
    /// Told the bytes of files that have been read since the last call.
    pub progress: &'a (dyn Fn(ByteSize) + Sync),
}

static NEVER: AtomicBool = AtomicBool::new(false);

impl Default for PackOptions<'_> {
    fn default() -> Self {
        Self {
            name: None,
            replace: false,
            compress: false,
            remove_originals: false,
            threads: None,
            cancel: &NEVER,
            progress: &|_| (),
        }
    }
}

impl fmt::Debug for PackOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackOptions").field("name", &self.name).field("threads", &self.threads).finish_non_exhaustive()
    }
}

/// What packing a folder did.
#[derive(Debug)]
pub struct PackReport {
    /// The name of the capture in the store.
    pub capture: OsString,
    /// The entries that are in the store now, in order.
    pub entries: Vec<PackedEntry>,
    /// The names of everything else in the folder, which was left alone.
    pub others: Vec<String>,
    /// Why entries were left out.
    pub errors: Vec<StoreError>,
}

/// An entry that is in the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PackedEntry {
    /// The file's name.
    pub name: String,
    /// The size of the file.
    pub bytes: ByteSize,
    /// What became of it.
    pub status: PackStatus,
    /// What the store grew by for it.
    pub added: ByteSize,
    /// Whether the original was deleted.
    pub removed: bool,
}

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PackStatus {
    /// The store did not have it.
    New,
    /// The store had it, with the same content.
    Unchanged,
    /// The store had it with other content, which was to be replaced.
    Replaced,
}

impl PackReport {
    /// The bytes of the files.
    pub fn bytes(&self) -> ByteSize {
        self.entries.iter().map(|entry| entry.bytes).sum()
    }

    /// What the store grew by.
    pub fn added(&self) -> ByteSize {
        self.entries.iter().map(|entry| entry.added).sum()
    }
}

impl Store {
    /// Packs the entries of the folder `folder`. What is in the store already is not written again; entries become
    /// visible in batches, each after everything that it leads to is on the disk.
    ///
    /// # Errors
    /// Where the store cannot be written, or it was cancelled: entries packed before are kept. [`StoreError::OfStore`] if
    /// originals are to be deleted that are the store's own. What is wrong with one
    /// entry alone is in [`PackReport::errors`], and the others are packed all the same.
    pub fn pack(&self, folder: &Path, options: &PackOptions<'_>) -> Result<PackReport, StoreError> {
        let (files, others) = list(folder)?;
        let capture = match &options.name {
            Some(name) => name.clone(),
            None => {
                folder.canonicalize().ok().and_then(|path| path.file_name().map(OsString::from)).unwrap_or_default()
            }
        };
        if !is_name(&capture) {
            return Err(StoreError::Name { name: capture.to_string_lossy().into_owned() });
        }
        let _lock = self.lock_to_write()?;
        if options.remove_originals {
            self.refuse_own(folder)?;
        }
        let report = PackReport { capture, entries: Vec::new(), others, errors: Vec::new() };
        let known = Known::of(&self.places);
        let mut packer =
            Packer { store: self, folder, options, known, batch: Batch::new(self), pending: Vec::new(), report };
        whole::with_threads(options.threads, || {
            files.into_iter().try_for_each(|file| packer.pack(file))?;
            packer.commit()
        })?;
        Ok(packer.report)
    }
}

/// Whether a folder of this name can be made.
fn is_name(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    !matches!(bytes, b"" | b"." | b"..") && bytes.len() <= 200 && !bytes.iter().any(|&b| b == b'/' || b < b' ')
}

/// The entries and the other names of a folder, each in byte order.
fn list(folder: &Path) -> Result<(Vec<OsString>, Vec<String>), StoreError> {
    let fail = StoreError::io(folder, "list it");
    let items = fs::read_dir(folder).and_then(|items| items.collect::<Result<Vec<_>, _>>()).map_err(fail)?;
    let (entries, others): (Vec<_>, Vec<_>) =
        items.into_iter().partition(|item| is_entry(&item.file_name()) && may_be_file(&item.path()));
    let mut files: Vec<_> = entries.into_iter().map(|item| item.file_name()).collect();
    let mut others: Vec<_> = others.into_iter().map(|item| item.file_name().to_string_lossy().into_owned()).collect();
    files.sort();
    others.sort();
    if files.is_empty() { Err(StoreError::NoEntries { path: folder.to_owned() }) } else { Ok((files, others)) }
}

/// Whether this is a file. What cannot be looked at is taken for one: opening it says why.
fn may_be_file(path: &Path) -> bool {
    match path.metadata() {
        Ok(found) => found.is_file(),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

struct Packer<'a> {
    store: &'a Store,
    folder: &'a Path,
    options: &'a PackOptions<'a>,
    known: Known,
    batch: Batch<'a>,
    /// The entries of the batch.
    pending: Vec<(PathBuf, EntryName, PackedEntry)>,
    report: PackReport,
}

impl Packer<'_> {
    fn pack(&mut self, file: OsString) -> Result<(), StoreError> {
        let path = self.folder.join(&file);
        let name = EntryName { capture: self.report.capture.clone(), entry: file };
        match self.take(&path, &name) {
            Ok(entry) => self.pending.push((path, name, entry)),
            Err(_) if self.options.cancel.load(Ordering::Relaxed) => {
                // What was finished is kept.
                self.commit()?;
                return Err(StoreError::Cancelled);
            }
            Err(error) if error.is_of_entry() => self.report.errors.push(error),
            Err(error) => {
                // What was finished is kept where the disk lets it.
                let _ = self.commit();
                return Err(error);
            }
        }
        let new: u64 = self.pending.iter().map(|(_, _, entry)| entry.added.bytes()).sum();
        if new >= BATCH_BYTES || self.pending.len() >= BATCH_ENTRIES { self.commit() } else { Ok(()) }
    }

    /// Takes a file apart, into the batch.
    fn take(&mut self, path: &Path, name: &EntryName) -> Result<PackedEntry, StoreError> {
        let (store, options) = (self.store, self.options);
        let (before, file) = modified(path)?;
        let mut payloads = Payloads::new(&store.places, &self.batch, &mut self.known, options.compress, file);
        let skeleton = Skeleton::scan(path, &mut |payload, piece| {
            if options.cancel.load(Ordering::Relaxed) {
                return Err(std::io::Error::other("it was asked to stop"));
            }
            (options.progress)(ByteSize::new(piece.len() as u64));
            payloads.take(payload, piece)
        });
        let skeleton = skeleton.map_err(|error| match error {
            // It is the store that did not take the bytes.
            SkeletonError::Sink { source, .. } => StoreError::io(&store.places.incoming(), "write to it")(source),
            error => error.into(),
        })?;
        let places = payloads.places(path)?;
        let fail = |error| StoreError::io(&store.places.incoming(), "write to it")(error);
        let skeleton_id = payloads.keep_bytes(&skeleton.to_bytes()).map_err(fail)?;
        let mut recipe = Recipe::new(&skeleton, skeleton_id, before, &places);
        if modified(path)?.0 != before {
            return Err(StoreError::Changed { path: path.to_owned() });
        }
        let there = match store.recipe_of(name) {
            Ok(Some(id)) => super::packed::Packed::recipe(&store.places, id).ok(),
            // What cannot be read is replaced.
            _ => None,
        };
        let status = match &there {
            None => PackStatus::New,
            Some(there) if there.blake3 == recipe.blake3 => {
                recipe.modified = there.modified;
                PackStatus::Unchanged
            }
            Some(_) if options.replace => PackStatus::Replaced,
            Some(_) => {
                let (capture, entry) = (name.capture.to_string_lossy().into(), name.entry.to_string_lossy().into());
                return Err(StoreError::OtherContent { capture, entry });
            }
        };
        let id = payloads.keep_bytes(&recipe.to_bytes()).map_err(fail)?;
        let new = payloads.into_new();
        let added = new.iter().map(|staged| staged.compressed.unwrap_or(staged.bytes)).sum();
        self.batch.add(name.clone(), id, new, recipe.objects());
        let (bytes, name) = (skeleton.file_size(), name.entry.to_string_lossy().into_owned());
        Ok(PackedEntry { name, bytes, status, added: ByteSize::new(added), removed: false })
    }

    /// Makes the batch durable, and deletes its originals where that is asked for.
    fn commit(&mut self) -> Result<(), StoreError> {
        std::mem::replace(&mut self.batch, Batch::new(self.store)).commit()?;
        for (path, name, mut entry) in self.pending.drain(..) {
            if self.options.remove_originals {
                match remove(self.store, &path, &name) {
                    Ok(()) => entry.removed = true,
                    Err(error) => self.report.errors.push(error),
                }
            }
            self.report.entries.push(entry);
        }
        Ok(())
    }
}

/// When a file was modified, and the file; of an entry of another store, when the file that was packed was, and no file.
fn modified(path: &Path) -> Result<(Modified, Option<File>), StoreError> {
    if let Some(packed) = SourceFile::open(path)?.packed() {
        return Ok((packed.the_recipe().modified, None));
    }
    let file = File::open(path).map_err(StoreError::io(path, "open it"))?;
    let found = file.metadata().map_err(StoreError::io(path, "look at it"))?;
    // Between 0 and a second.
    Ok((Modified(found.mtime(), found.mtime_nsec() as u32), Some(file)))
}

/// Deletes an original, after the store gave its bytes back and the original still has them.
fn remove(store: &Store, path: &Path, name: &EntryName) -> Result<(), StoreError> {
    let expected = whole::check(&store.reference(name))?;
    let original = whole::digest(path)?;
    if original != expected {
        return Err(StoreError::Changed { path: path.to_owned() });
    }
    fs::remove_file(path).map_err(StoreError::io(path, "delete it"))
}
