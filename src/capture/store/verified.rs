//! [`ObjectVerifier`]: the bytes that kernels are given are those that were packed.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::entry::Entry;
use super::super::error::{CaptureError, PackedError};
use super::super::map::MappedFile;
use super::super::source::SourceFile;
use super::object::{Object, Stamp};
use super::object_id::ObjectId;
use super::places::Places;
use super::remembered::Remembered;
use super::whole::WINDOW;

/// How often the objects of a store are verified before kernels are given their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerifyObjects {
    /// Before every use.
    Always,
    /// Once, and again where its file is another or was written to: by device, inode, size, and the times of modification
    /// and change. The store remembers it for later runs, which then see neither a disk that lost bits nor a writer
    /// beside the file system.
    #[default]
    Once,
    /// Not at all: damage shows as an output that does not match, or not.
    Never,
}

impl fmt::Display for VerifyObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Always => "always",
            Self::Once => "once",
            Self::Never => "never",
        })
    }
}

/// Verifies the objects of entries.
#[derive(Debug, Default)]
pub struct ObjectVerifier {
    mode: VerifyObjects,
    /// In this run.
    verified: HashSet<(ObjectId, Stamp)>,
    /// In this run and earlier ones, by store.
    remembered: BTreeMap<Places, Remembered>,
}

impl ObjectVerifier {
    /// One that verifies as often as `mode` says.
    pub fn new(mode: VerifyObjects) -> Self {
        Self { mode, ..Self::default() }
    }

    /// Verifies the objects of `entry`'s storages by their digests. An entry that lies in no store has none. Objects are
    /// read in windows, by all threads.
    ///
    /// # Errors
    /// Where an object is damaged, missing, or cannot be read.
    pub fn verify(&mut self, entry: &Entry) -> Result<(), CaptureError> {
        if self.mode == VerifyObjects::Never {
            return Ok(());
        }
        let objects = entry.objects();
        objects
            .iter()
            .try_for_each(|object| self.object(object))
            .map_err(|e| CaptureError::new(&entry.path().into(), e))
    }

    fn object(&mut self, object: &Object) -> Result<(), PackedError> {
        let stamp = || object.stamp().map_err(|error| object.failed(error));
        let (began, before) = (SystemTime::now(), stamp()?);
        let known = (object.id, before);
        if self.mode == VerifyObjects::Always {
            return object.compare(digest(object)?);
        }
        let places = Places::of_object(&object.path).expect("objects lie in a folder of a store's");
        let remembered = self.remembered.entry(places).or_insert_with_key(Remembered::read);
        if self.verified.contains(&known) || remembered.has(object.id, &before) {
            return Ok(());
        }
        object.compare(digest(object)?)?;
        if stamp()? == before {
            self.verified.insert(known);
            remembered.add(object.id, before, began);
        }
        Ok(())
    }

    /// Leaves what was verified in the stores, for later runs. A store that cannot be written stays as it is.
    pub fn remember(&mut self) {
        self.remembered.iter_mut().for_each(|(places, remembered)| remembered.write(places));
    }
}

/// The digest of the content of `object`.
///
/// # Errors
/// Where it cannot be read, or changes meanwhile.
pub fn digest(object: &Object) -> Result<blake3::Hash, PackedError> {
    let mut hasher = blake3::Hasher::new();
    if object.compressed {
        let mut reader = object.reader().map_err(|error| object.failed(error))?;
        hasher.update_reader(&mut reader).map_err(|error| object.failed(error))?;
        return Ok(hasher.finalize());
    }
    let unread = |error: CaptureError| object.failed(std::io::Error::other(error));
    let source = SourceFile::open_object(&object.path).map_err(unread)?;
    let map = MappedFile::of(&source, 0, source.size()).map_err(unread)?;
    map.for_each_window(WINDOW, |window| {
        hasher.update_rayon(window);
    });
    map.intact().map_err(unread)?;
    Ok(hasher.finalize())
}
