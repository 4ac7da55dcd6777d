//! [`ObjectVerifier`]: a check that kernels are given the bytes that were packed.

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
    /// Verify objects before every use.
    Always,
    /// Verify an object once, and again if its file was replaced or written to, judged by device, inode, size, and the
    /// times of modification and change. The store remembers this for later runs, which then notice neither a disk that
    /// lost bits nor a writer that bypasses the file system.
    #[default]
    Once,
    /// Never verify: damage may or may not show as an output that does not match.
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

/// A verifier of the objects of entries.
#[derive(Debug, Default)]
pub struct ObjectVerifier {
    mode: VerifyObjects,
    /// The objects verified in this run.
    verified: HashSet<(ObjectId, Stamp)>,
    /// The objects verified in this run and earlier ones, by store.
    remembered: BTreeMap<Places, Remembered>,
}

impl ObjectVerifier {
    /// Makes a verifier that verifies as often as `mode` says.
    pub fn new(mode: VerifyObjects) -> Self {
        Self { mode, ..Self::default() }
    }

    /// Verifies the objects of `entry`'s storages by their digests. An entry outside a store has none. Objects are read
    /// in windows, by all threads.
    ///
    /// # Errors
    /// If an object is damaged, missing, or cannot be read.
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

    /// Saves the verified objects in their stores, for later runs. A store that cannot be written stays as it is.
    pub fn remember(&mut self) {
        self.remembered.iter_mut().for_each(|(places, remembered)| remembered.write(places));
    }
}

/// The digest of the content of `object`.
///
/// # Errors
/// If it cannot be read, or changes in the meantime.
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
