//! [`Resumed`]: the record of a run that did not finish, and what is still to do.

use std::path::{Path, PathBuf};

use plimsoll_capture::Capture;
use plimsoll_capture::gpu::Place;

use super::add::Merge;
use super::error::MergeError;
use crate::record::{
    CaptureSemantics, EntryResult, Profile, ProfileStatus, Record, RecordError, Shard, SharedCapture, Validation,
};
use crate::run::Share;

/// Why a record cannot be resumed.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// The record cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The record is of something else.
    #[error(
        "{record} cannot be resumed with {capture}: {why}; name the record of a run on this capture",
        record = record.display(),
        capture = capture.display()
    )]
    Other {
        /// The record.
        record: PathBuf,
        /// The capture.
        capture: PathBuf,
        /// What differs.
        why: String,
    },
}

/// The results of an earlier run that stay, and the entries that have to be run again: those that failed, those that
/// were not run.
///
/// ```
/// use plimsoll::capture::{Capture, synthesize};
/// use plimsoll::gpu::Place;
/// use plimsoll::kernel::builtin;
/// use plimsoll::merge::Resumed;
/// use plimsoll::run::Check;
///
/// # let dir = tempfile::tempdir()?;
/// # synthesize::gemma4_e2b_gb10().scale(1, 1536).entries(3).write(dir.path())?;
/// # let capture = Capture::open(dir.path())?;
/// # let path = dir.path().join("record.json");
/// # let mut record = Check::of(&capture).kernel(builtin::embedding()).run()?.into_record();
/// # record.results.entries[1].profile = None;
/// # record.write_to(&mut std::fs::File::create(&path)?)?;
/// let resumed = Resumed::of(&path, &capture, true, true)?;
/// let (rest, share) = resumed.rest(&capture, Place::Cpu);
/// assert_eq!(rest.len(), 1);
/// let again = Check::of(&rest).kernel(builtin::embedding()).share(share).run()?;
/// let whole = resumed.join(Some(again.into_record()), false)?;
/// assert_eq!(whole.results.entries.len(), 3);
/// # Ok::<(), plimsoll::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Resumed {
    path: PathBuf,
    record: Record,
    done: Vec<usize>,
}

impl Resumed {
    /// What the record at `path`, of a run on `whole`, leaves to a run that `validates` and `times`.
    ///
    /// # Errors
    /// The record cannot be read, or is of another capture, of two kernels side by side, or of a run that did something
    /// else.
    pub fn of(path: &Path, whole: &Capture, validates: bool, times: bool) -> Result<Self, ResumeError> {
        let mut record = Record::read(path)?;
        let capture = SharedCapture::of(whole);
        let other = |why: &str| ResumeError::Other {
            record: path.to_owned(),
            capture: whole.path().to_owned(),
            why: why.to_owned(),
        };
        let Some(semantics) = record.semantics.capture() else {
            return Err(other("it is not the record of a capture"));
        };
        // Other differences are found when both are joined, which would cost the whole run.
        if (semantics.comparison.is_some(), semantics.timing.is_some()) != (validates, times) {
            return Err(other("it was made by a different command of check, validate and profile"));
        }
        if semantics.versus.is_some() {
            return Err(other("it compares two kernels (--vs), which can only be run again as a whole"));
        }
        let mut whole_shard = None;
        let mut places = record.places();
        if record.shards().next().is_none() {
            // The record of a whole capture does not name the manifest; its entries identify the capture.
            let found = whole.names().iter().zip(whole.sizes().iter().copied());
            let mut pairs = semantics.entries.iter().zip(found);
            if semantics.entries.len() != whole.len()
                || !pairs.all(|(entry, (name, bytes))| (&entry.name, entry.bytes) == (name, bytes))
            {
                return Err(other("its entries have other names or sizes"));
            }
            for (at, entry) in semantics.entries.iter().enumerate() {
                let same = whole.entry(at).and_then(|file| file.identity(entry.covers));
                if same.map_or(true, |found| found.to_string() != entry.digest) {
                    return Err(other(&format!("{} has changed since", entry.name)));
                }
            }
            places = (0..whole.len()).collect();
            whole_shard = Some(Shard::alone(whole, places.clone()));
        } else if record.shards().any(|shard| shard.capture != capture) {
            return Err(other("its capture had other entries"));
        }
        let done = places.into_iter().zip(&record.results.entries).filter(|(_, result)| is_good(semantics, result));
        let done = done.map(|(place, _)| place).collect();
        record.shard = whole_shard.or(record.shard);
        Ok(Self { path: path.to_owned(), record, done })
    }

    /// The places of the entries whose results stay, in order.
    pub fn done(&self) -> &[usize] {
        &self.done
    }

    /// The other entries of `whole`, and the share that a run of them is ([`Check::share`](crate::run::Check::share)).
    pub fn rest(&self, whole: &Capture, device: Place) -> (Capture, Share) {
        let places: Vec<usize> = (0..whole.len()).filter(|place| self.done.binary_search(place).is_err()).collect();
        let rest = whole.select(&places);
        let mut share = Share::of(whole, places, device);
        share.shard.entries = whole.len();
        (rest, share)
    }

    /// The results that stay, and those of `rest`, as one record; `None` if nothing was left to do. A run that was `shard`
    /// of several may lack the entries of the others.
    ///
    /// # Errors
    /// The records belong to different runs, for example because the kernel changed, or nothing can be written to the
    /// folder for temporary files.
    pub fn join(self, rest: Option<Record>, shard: bool) -> Result<Record, MergeError> {
        let mut merge = Merge::new(&std::env::temp_dir())?;
        merge.add_if(&self.path.display().to_string(), self.record, is_good)?;
        if let Some(rest) = rest {
            merge.add("this run", rest)?;
        }
        let merged = if shard { merge.finish_share()? } else { merge.finish()? };
        merged.record()
    }
}

/// Whether an entry passed everything that its run did.
fn is_good(semantics: &CaptureSemantics, result: &EntryResult) -> bool {
    let timed = |profile: &Profile| profile.status == ProfileStatus::Timed;
    let validated = result.validation.as_ref().map_or(semantics.comparison.is_none(), Validation::passed);
    validated && result.profile.as_ref().map_or(semantics.timing.is_none(), timed)
}
