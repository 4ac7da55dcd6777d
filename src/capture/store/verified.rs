//! [`ObjectVerifier`]: the bytes that kernels are given are those that were packed.

use std::collections::HashSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::entry::Entry;
use super::super::error::{CaptureError, PackedError};
use super::super::map::MappedFile;
use super::super::source::SourceFile;
use super::object::{Object, Stamp};
use super::whole::WINDOW;

/// How often the objects of a store are verified before kernels are given their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerifyObjects {
    /// Before every use.
    Always,
    /// Once a run, and again where its file is another: by inode, size and modification time.
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
    verified: HashSet<(super::ObjectId, Stamp)>,
}

impl ObjectVerifier {
    /// One that verifies as often as `mode` says.
    pub fn new(mode: VerifyObjects) -> Self {
        Self { mode, verified: HashSet::new() }
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
        for object in entry.objects() {
            let fail = |error: PackedError| CaptureError::new(&entry.path().into(), error);
            let known = (object.id, object.stamp().map_err(|error| fail(object.failed(error)))?);
            if self.mode == VerifyObjects::Always || !self.verified.contains(&known) {
                object.compare(digest(object).map_err(fail)?).map_err(fail)?;
                self.verified.insert(known);
            }
        }
        Ok(())
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
    let source = SourceFile::open_plain(&object.path).map_err(unread)?;
    let map = MappedFile::of(&source, 0, source.size()).map_err(unread)?;
    map.for_each_window(WINDOW, |window| {
        hasher.update_rayon(window);
    });
    map.intact().map_err(unread)?;
    Ok(hasher.finalize())
}
