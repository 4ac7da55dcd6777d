//! [`inspect`]: a file, or every file of a folder.

use std::convert::Infallible;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::digest::digest;
use super::document::{DigestFunction, EXTENSIONS, EntryInspection, ErrorReport, Inspection, Repeat, SCHEMA, Totals};
use super::error::InspectError;
use super::listing::{Listing, list};
use super::repeats::Seen;
use crate::TorchFile;
use crate::origin;
use crate::store::Store;

/// Work beyond reading headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The function for digests of all tensors and storages. The CRC-32 of the bytes read is checked.
    pub digest: Option<DigestFunction>,
    /// Whether the CRC-32 of every record is checked.
    pub verify: bool,
}

/// Inspects the file `path`, the files of the folder `path` that have one of the [`EXTENSIONS`], or the entries of the store
/// `path`.
///
/// Errors are part of the document: an error in one file does not affect the others.
///
/// ```no_run
/// # use plimsoll_capture::inspect::{Options, inspect};
/// let found = inspect("captures/embedding".as_ref(), Options::default());
/// for tensor in found.entries.iter().flat_map(|entry| &entry.tensors) {
///     println!("{} {:?} {:?}", tensor.path, tensor.dtype, tensor.shape);
/// }
/// ```
pub fn inspect(path: &Path, options: Options) -> Inspection {
    let mut entries = Vec::new();
    let Ok(Summary { repeats, totals, error }) = inspect_each(path, options, &mut |entry| {
        entries.push(entry);
        Ok::<(), Infallible>(())
    });
    let (schema, path) = (SCHEMA.to_owned(), origin::shown(path));
    Inspection { schema, path, digest: options.digest, entries, repeats, totals, error }
}

/// The summary of a path, known once every file was inspected.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Storages that occur more than once, the largest saving first.
    pub repeats: Vec<Repeat>,
    /// Sums over all entries.
    pub totals: Totals,
    /// The first error of an entry, or the folder's own.
    pub error: Option<ErrorReport>,
}

/// Inspects as [`inspect`] does, but passes each file to `each` once it is inspected: only one of them is in memory,
/// however many there are.
///
/// # Errors
/// The first error of `each`, which ends the inspection.
pub fn inspect_each<E>(
    path: &Path,
    options: Options,
    each: &mut dyn FnMut(EntryInspection) -> Result<(), E>,
) -> Result<Summary, E> {
    let files = match files(path) {
        Ok(files) => files,
        Err(error) => return Ok(Summary { error: Some(error.report()), ..Summary::default() }),
    };
    let (mut seen, mut totals, mut error) = (Seen::default(), Totals::default(), None);
    for (index, file) in files.iter().enumerate() {
        let entry = inspect_file(file, options);
        seen.add(index, &entry);
        totals.add(&entry);
        error = error.or_else(|| entry.error.clone());
        each(entry)?;
    }
    let repeats = seen.repeats();
    totals.repeated_bytes = repeats.iter().map(|repeat| repeat.saved_bytes).sum();
    Ok(Summary { repeats, totals, error })
}

impl Totals {
    fn add(&mut self, entry: &EntryInspection) {
        let tensors = || entry.tensors.iter().filter(|tensor| tensor.alias_of.is_none());
        self.entries += 1;
        self.errors += u64::from(entry.error.is_some());
        self.tensors += tensors().count() as u64;
        self.storages += entry.storages.len() as u64;
        self.file_bytes += entry.bytes.unwrap_or_default();
        self.stored_bytes += entry.storages.iter().map(|storage| storage.bytes).sum();
        self.logical_bytes += tensors().filter_map(|tensor| tensor.logical_bytes).sum();
        let unreached = |s: &super::StorageInspection| s.bytes.saturating_sub(s.reached_bytes);
        self.unreached_bytes += entry.storages.iter().map(unreached).sum();
    }
}

/// The file itself, the files of a folder, or the entries of a store, in the byte order of their names.
fn files(path: &Path) -> Result<Vec<PathBuf>, InspectError> {
    // A path whose metadata cannot be read is left to the code that opens it, which reports why.
    if !fs::metadata(path).is_ok_and(|found| found.is_dir()) {
        return Ok(vec![path.to_owned()]);
    }
    if let Ok(store) = Store::open(path) {
        let entries = store.entries().map_err(|error| InspectError::Store { path: path.to_owned(), error })?;
        return Ok(entries.iter().map(|entry| store.reference(entry)).collect());
    }
    let wanted = |file: &Path| {
        let extension = file.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| EXTENSIONS.contains(&extension)) && file.is_file()
    };
    let listed = fs::read_dir(path).and_then(|items| {
        let files = items.map(|item| item.map(|item| item.path()));
        files.filter(|file| file.as_ref().map_or(true, |file| wanted(file))).collect::<io::Result<Vec<_>>>()
    });
    let mut files = listed.map_err(|source| InspectError::Folder { path: path.to_owned(), source })?;
    if files.is_empty() {
        return Err(InspectError::NoFiles { path: path.to_owned() });
    }
    files.sort();
    Ok(files)
}

fn inspect_file(path: &Path, options: Options) -> EntryInspection {
    let unreadable = |error: InspectError| EntryInspection {
        file: origin::shown(path),
        error: Some(error.report()),
        ..EntryInspection::default()
    };
    let opened = TorchFile::open(path).map_err(InspectError::from);
    let (file, mut listing) = match opened.and_then(|file| list(&file).map(|listing| (file, listing))) {
        Ok(opened) => opened,
        Err(error) => return unreadable(error),
    };
    let read = read(&file, &mut listing, options);
    let Listing { mut entry, .. } = listing;
    entry.error = read.err().map(|error| error.report());
    entry
}

/// Reads the bytes that the options require beyond the headers.
fn read(file: &TorchFile, listing: &mut Listing, options: Options) -> Result<(), InspectError> {
    if options.verify {
        listing.entry.verified = Some(file.verify()?);
    }
    match options.digest {
        Some(function) => digest(file, listing, function),
        None => Ok(()),
    }
}
