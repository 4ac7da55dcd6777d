//! [`Store::pack`]: packs a folder of entries into the store.

use std::collections::BTreeSet;
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

/// The most bytes of new objects that are made durable together. A crash costs what has been packed since the last
/// batch.
const BATCH_BYTES: u64 = 1 << 30;
const BATCH_ENTRIES: usize = 256;

/// How to pack a folder.
pub struct PackOptions<'a> {
    /// The name of the capture in the store; `None` takes the folder's name.
    pub name: Option<OsString>,
    /// Packs these files alone; `None` packs all. Others are neither packed nor reported.
    pub entries: Option<BTreeSet<OsString>>,
    /// Replace entries of the same name with other content.
    pub replace: bool,
    /// Compress storages if that saves a tenth. They are decompressed into memory whenever they are used.
    pub compress: bool,
    /// Delete each original, after checking that the store restores it byte for byte.
    pub remove_originals: bool,
    /// The number of threads that hash and copy; `None` takes one per processor.
    pub threads: Option<NonZeroUsize>,
    /// A flag that another thread sets to stop the work.
    pub cancel: &'a AtomicBool,
    /// Called with the bytes of files read since the last call.
    pub progress: &'a (dyn Fn(ByteSize) + Sync),
}

static NEVER: AtomicBool = AtomicBool::new(false);

impl Default for PackOptions<'_> {
    fn default() -> Self {
        Self {
            name: None,
            entries: None,
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

/// The result of packing a folder.
#[derive(Debug)]
pub struct PackReport {
    /// The name of the capture in the store.
    pub capture: OsString,
    /// The entries that are in the store now, in order.
    pub entries: Vec<PackedEntry>,
    /// The names of everything else in the folder, which was not touched.
    pub others: Vec<String>,
    /// The errors of entries that were left out.
    pub errors: Vec<StoreError>,
}

/// An entry that is in the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PackedEntry {
    /// The file's name.
    pub name: String,
    /// The size of the file.
    pub bytes: ByteSize,
    /// What was done with the entry.
    pub status: PackStatus,
    /// The bytes that the store grew by for the entry.
    pub added: ByteSize,
    /// Whether the original was deleted.
    pub removed: bool,
}

/// What was done with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PackStatus {
    /// The store did not have the entry.
    New,
    /// The store had the entry, with the same content.
    Unchanged,
    /// The store had the entry with other content, and replaced it as asked.
    Replaced,
}

impl PackReport {
    /// The bytes of all packed files.
    pub fn bytes(&self) -> ByteSize {
        self.entries.iter().map(|entry| entry.bytes).sum()
    }

    /// The bytes that the store grew by.
    pub fn added(&self) -> ByteSize {
        self.entries.iter().map(|entry| entry.added).sum()
    }
}

impl Store {
    /// Packs the entries of the folder `folder`. Objects that the store already has are not written again; entries
    /// become visible in batches, each after everything that it needs is on the disk.
    ///
    /// # Errors
    /// If the store cannot be written, or the work was cancelled; entries packed before are kept.
    /// [`StoreError::OfStore`] if the originals to delete are the store's own. Errors of a single entry are in
    /// [`PackReport::errors`], and the other entries are still packed.
    pub fn pack(&self, folder: &Path, options: &PackOptions<'_>) -> Result<PackReport, StoreError> {
        let (mut files, others) = list(folder)?;
        if let Some(wanted) = &options.entries {
            files.retain(|file| wanted.contains(file));
        }
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

/// The names and sizes of the entries of a folder that [`Store::pack`] would pack, in byte order.
///
/// # Errors
/// If the folder cannot be listed, or has no entries.
pub fn packable(folder: &Path) -> Result<Vec<(OsString, ByteSize)>, StoreError> {
    let size = |file: OsString| {
        // A reference of another store refers to a file of a different size. One that cannot be opened counts as empty:
        // packing it reports why.
        let bytes = SourceFile::open(&folder.join(&file)).map_or(0, |source| source.size());
        (file, ByteSize::new(bytes))
    };
    Ok(list(folder)?.0.into_iter().map(size).collect())
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

/// Whether this may be a file. A path whose metadata cannot be read counts as one: opening it returns the error.
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
                // Everything finished so far is kept.
                self.commit()?;
                return Err(StoreError::Cancelled);
            }
            Err(error) if error.is_of_entry() => self.report.errors.push(error),
            Err(error) => {
                // Everything finished so far is kept if the disk allows it.
                let _ = self.commit();
                return Err(error);
            }
        }
        let new: u64 = self.pending.iter().map(|(_, _, entry)| entry.added.bytes()).sum();
        if new >= BATCH_BYTES || self.pending.len() >= BATCH_ENTRIES { self.commit() } else { Ok(()) }
    }

    /// Takes a file apart and adds it to the batch.
    fn take(&mut self, path: &Path, name: &EntryName) -> Result<PackedEntry, StoreError> {
        let (store, options) = (self.store, self.options);
        let (before, file) = modified(path)?;
        let mut payloads = Payloads::new(&store.places, &self.batch, &mut self.known, options.compress, file);
        let skeleton = Skeleton::scan(path, &mut |payload, piece| {
            if options.cancel.load(Ordering::Relaxed) {
                return Err(std::io::Error::other("interrupted"));
            }
            (options.progress)(ByteSize::new(piece.len() as u64));
            payloads.take(payload, piece)
        });
        let skeleton = skeleton.map_err(|error| match error {
            // The error concerns the store, which could not take the bytes.
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
            // An entry that cannot be read is replaced.
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

    /// Makes the batch durable, and deletes its originals if asked to.
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

/// The modification time of a file, with the file; for an entry of another store, the time of the file that was packed,
/// without a file.
fn modified(path: &Path) -> Result<(Modified, Option<File>), StoreError> {
    if let Some(packed) = SourceFile::open(path)?.packed() {
        return Ok((packed.the_recipe().modified, None));
    }
    let file = File::open(path).map_err(StoreError::io(path, "open it"))?;
    let found = file.metadata().map_err(StoreError::io(path, "read its metadata"))?;
    // Between 0 and a second.
    Ok((Modified(found.mtime(), found.mtime_nsec() as u32), Some(file)))
}

/// Deletes an original, after checking that the store restores its bytes and that the original still has them.
fn remove(store: &Store, path: &Path, name: &EntryName) -> Result<(), StoreError> {
    let expected = whole::check(&store.reference(name))?;
    let original = whole::digest(path)?;
    if original != expected {
        return Err(StoreError::Changed { path: path.to_owned() });
    }
    fs::remove_file(path).map_err(StoreError::io(path, "delete it"))
}
