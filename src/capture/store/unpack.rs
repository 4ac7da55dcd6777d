//! [`Store::unpack`]: restores entries as the files that were packed.

use std::ffi::OsString;
use std::fs::{self, File, FileTimes};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use super::super::leftover;
use super::super::map::for_each_window;
use super::super::source::SourceFile;
use super::error::StoreError;
use super::open::{EntryName, Store};
use super::packed::Packed;
use super::recipe::Modified;
use super::share::{share, write_at};
use super::whole::{self, WINDOW};
use plimsoll_memory::bytes::ByteSize;

/// The prefix of a file's name while it is being written.
const PREFIX: &str = ".plimsoll-";

/// How to unpack entries.
pub struct UnpackOptions<'a> {
    /// The entries to unpack, as [`Store::select`] takes them; all of them if empty.
    pub entries: Vec<OsString>,
    /// The number of threads that hash and copy; `None` takes one per processor.
    pub threads: Option<NonZeroUsize>,
    /// A flag that another thread sets to stop the work.
    pub cancel: &'a AtomicBool,
    /// Called with the bytes written since the last call.
    pub progress: &'a (dyn Fn(ByteSize) + Sync),
}

static NEVER: AtomicBool = AtomicBool::new(false);

impl Default for UnpackOptions<'_> {
    fn default() -> Self {
        Self { entries: Vec::new(), threads: None, cancel: &NEVER, progress: &|_| () }
    }
}

impl std::fmt::Debug for UnpackOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UnpackOptions").field("entries", &self.entries).finish_non_exhaustive()
    }
}

/// The result of unpacking.
#[derive(Debug)]
pub struct UnpackReport {
    /// The files that are there now, in order.
    pub files: Vec<UnpackedFile>,
    /// The errors of entries that were left out.
    pub errors: Vec<StoreError>,
}

/// A restored file, equal to the one that was packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnpackedFile {
    /// The file's path.
    pub path: PathBuf,
    /// The file's size.
    pub bytes: ByteSize,
    /// Whether the file was there already.
    pub was_there: bool,
}

impl Store {
    /// Writes the files of entries into the folder `out`, or, if they belong to several captures, into a subfolder for
    /// each. A file gets its name only after its digest was found to be that of the packed file; an equal file that is
    /// already there stays. Files that a killed run left in these folders are removed.
    ///
    /// # Errors
    /// If a name matches nothing, a folder cannot be made, or the work was cancelled. Errors of a single entry are in
    /// [`UnpackReport::errors`].
    pub fn unpack(&self, out: &Path, options: &UnpackOptions<'_>) -> Result<UnpackReport, StoreError> {
        let entries = self.select(&options.entries)?;
        let several = entries.windows(2).any(|pair| pair[0].capture != pair[1].capture);
        let mut report = UnpackReport { files: Vec::new(), errors: Vec::new() };
        let mut cleaned = None;
        whole::with_threads(options.threads, || {
            for name in entries {
                let folder = if several { out.join(&name.capture) } else { out.to_owned() };
                fs::create_dir_all(&folder).map_err(StoreError::io(&folder, "make it"))?;
                if cleaned.as_ref() != Some(&folder) {
                    leftover::clean(&folder, PREFIX);
                    cleaned = Some(folder.clone());
                }
                match self.unpack_entry(&name, &folder, options) {
                    Ok(file) => report.files.push(file),
                    Err(error) if error.is_of_entry() => report.errors.push(error),
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        })?;
        Ok(report)
    }

    fn unpack_entry(
        &self,
        name: &EntryName,
        folder: &Path,
        options: &UnpackOptions<'_>,
    ) -> Result<UnpackedFile, StoreError> {
        let reference = self.reference(name);
        let source = SourceFile::open(&reference)?;
        let Some(packed) = source.packed() else { return Err(StoreError::NoSuch { name: name.to_string() }) };
        let recipe = packed.the_recipe();
        let path = folder.join(&name.entry);
        let bytes = recipe.bytes;
        if path.symlink_metadata().is_ok() {
            let same = path.metadata().is_ok_and(|found| found.len() == bytes.bytes())
                && whole::digest(&path)? == recipe.blake3;
            return if same {
                Ok(UnpackedFile { path, bytes, was_there: true })
            } else {
                Err(StoreError::Exists { path })
            };
        }
        let fail = || StoreError::io(&path, "write it");
        let make = || tempfile::Builder::new().prefix(PREFIX).permissions(permissions()).tempfile_in(folder);
        let held = leftover::held(make, |file| file.as_file().try_clone(), |file| file.path());
        let (file, _held) = held.map_err(fail())?;
        let shared = share_payloads(packed, file.as_file());
        let mut hasher = blake3::Hasher::new();
        let (mut written, mut at) = (Ok(()), 0);
        for_each_window(&source, WINDOW, |window| {
            if written.is_err() || options.cancel.load(Ordering::Relaxed) {
                return;
            }
            // A window is within one payload, or in none.
            let is_shared = shared.iter().any(|range| range.contains(&at));
            let write = || if is_shared { Ok(()) } else { write_at(file.as_file(), at, window) };
            written = rayon::join(|| hasher.update_rayon(window), write).1;
            at += window.len() as u64;
            (options.progress)(ByteSize::new(window.len() as u64));
        })?;
        written.map_err(fail())?;
        if options.cancel.load(Ordering::Relaxed) {
            return Err(StoreError::Cancelled);
        }
        let actual = hasher.finalize().to_hex();
        if actual.as_str() != recipe.blake3.to_string() {
            let (expected, actual) = (recipe.blake3.to_string(), actual.to_string());
            return Err(StoreError::Digest { path: reference, expected, actual });
        }
        set_modified(file.as_file(), recipe.modified).map_err(fail())?;
        file.persist_noclobber(&path).map_err(|error| fail()(error.error))?;
        Ok(UnpackedFile { path, bytes, was_there: false })
    }
}

/// The permissions of a new file: read and write, less the process's mask.
fn permissions() -> fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o666)
}

/// Lets the system put payloads into their places in `file` if it can share blocks, and returns the ranges for which it
/// did.
fn share_payloads(packed: &Packed, file: &File) -> Vec<Range<u64>> {
    let mut shared = Vec::new();
    for (payload, object) in packed.payloads().filter(|(_, object)| !object.compressed) {
        let (offset, bytes) = (payload.offset, payload.bytes.bytes());
        if object.open().is_ok_and(|from| share(&from, payload.at, file, offset, bytes)) {
            shared.push(offset..offset + bytes);
        }
    }
    shared
}

fn set_modified(file: &File, Modified(seconds, nanoseconds): Modified) -> std::io::Result<()> {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let epoch = SystemTime::UNIX_EPOCH;
    let second = if seconds < 0 { epoch.checked_sub(whole) } else { epoch.checked_add(whole) };
    let time = second.and_then(|second| second.checked_add(Duration::from_nanos(nanoseconds.into())));
    match time {
        Some(time) => file.set_times(FileTimes::new().set_modified(time)),
        None => Err(std::io::Error::other("its modification time is outside the range that the system supports")),
    }
}
