//! [`inspect`]: a file, or every file of a folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::digest::digest;
use super::document::{DigestFunction, EXTENSIONS, EntryInspection, ErrorReport, Inspection, SCHEMA, Totals};
use super::error::InspectError;
use super::listing::{Listing, list};
use super::repeats::repeats;
use crate::TorchFile;
use crate::store::Store;

/// The work that is done beyond reading headers.
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
    let (entries, error) = match files(path) {
        Ok(files) => (files.iter().map(|file| inspect_file(file, options)).collect(), None),
        Err(error) => (Vec::new(), Some(error.report())),
    };
    document(path, options, entries, error)
}

fn document(path: &Path, options: Options, entries: Vec<EntryInspection>, error: Option<ErrorReport>) -> Inspection {
    let repeats = repeats(&entries);
    let mut totals = Totals {
        entries: entries.len() as u64,
        errors: entries.iter().filter(|entry| entry.error.is_some()).count() as u64,
        repeated_bytes: repeats.iter().map(|repeat| repeat.saved_bytes).sum(),
        ..Totals::default()
    };
    for entry in &entries {
        let tensors = || entry.tensors.iter().filter(|tensor| tensor.alias_of.is_none());
        totals.tensors += tensors().count() as u64;
        totals.storages += entry.storages.len() as u64;
        totals.file_bytes += entry.bytes.unwrap_or_default();
        totals.stored_bytes += entry.storages.iter().map(|storage| storage.bytes).sum();
        totals.logical_bytes += tensors().filter_map(|tensor| tensor.logical_bytes).sum();
        let unreached = |s: &super::StorageInspection| s.bytes.saturating_sub(s.reached_bytes);
        totals.unreached_bytes += entry.storages.iter().map(unreached).sum();
    }
    Inspection {
        schema: SCHEMA.to_owned(),
        path: path.to_string_lossy().into_owned(),
        digest: options.digest,
        error: error.or_else(|| entries.iter().find_map(|entry| entry.error.clone())),
        entries,
        repeats,
        totals,
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
        file: path.to_string_lossy().into_owned(),
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

/// Reads the bytes that the options ask for beyond the headers.
fn read(file: &TorchFile, listing: &mut Listing, options: Options) -> Result<(), InspectError> {
    if options.verify {
        listing.entry.verified = Some(file.verify()?);
    }
    match options.digest {
        Some(function) => digest(file, listing, function),
        None => Ok(()),
    }
}
