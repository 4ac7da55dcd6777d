//! [`PackedError`]: the errors of entries in a store.

use std::io;

/// An entry of a store whose parts are missing, damaged, or contradict each other.
///
/// What to do: run `plimsoll verify STORE` to see everything that is damaged, then restore the objects from a copy or
/// pack the capture again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackedError {
    /// A file that looks like a reference is not in a store.
    #[error("the file refers to a recipe of a store, but the folder three levels above it is not a store")]
    NoStore,
    /// The reference does not name a recipe.
    #[error("the reference is malformed: {0:?}")]
    Reference(String),
    /// The recipe contradicts itself or the format.
    #[error("the recipe {object} is malformed: {what}")]
    Recipe {
        /// The digest of the object that should be a recipe.
        object: String,
        /// What is wrong with it.
        what: String,
    },
    /// The skeleton contradicts the format or the recipe.
    #[error("the skeleton {object} is malformed: {what}")]
    Skeleton {
        /// The digest of the object that should be a skeleton.
        object: String,
        /// What is wrong with it.
        what: String,
    },
    /// An object that the recipe names is not in the store.
    #[error("object {object} is missing")]
    Missing {
        /// The object.
        object: String,
    },
    /// An object's bytes do not have the digest that names it.
    #[error("object {object} is damaged: its bytes have BLAKE3 {actual}")]
    Damaged {
        /// The object.
        object: String,
        /// The digest of the bytes that are there.
        actual: String,
    },
    /// An object ends before the bytes that the recipe takes from it.
    #[error("object {object} has {bytes} bytes, but the recipe needs {needed}")]
    Short {
        /// The object.
        object: String,
        /// The object's size in bytes.
        bytes: u64,
        /// The size that the recipe needs, in bytes.
        needed: u64,
    },
    /// An object is larger than may be read into memory.
    #[error("object {object} has {bytes} bytes, and at most {limit} may be read into memory")]
    TooLarge {
        /// The object.
        object: String,
        /// The object's size in bytes.
        bytes: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// An object cannot be read.
    #[error("object {object} cannot be read: {source}")]
    Io {
        /// The object.
        object: String,
        /// The system's error.
        source: io::Error,
    },
    /// A storage is deflated in its file, and the object that holds it is compressed in the store as well.
    #[error("storage {0:?} is deflated within a compressed object")]
    Twice(String),
    /// A storage is not within a single payload.
    #[error("storage {0:?} is split over several payloads by the recipe")]
    Cut(String),
}

impl PackedError {
    pub(crate) fn advice(&self) -> &'static str {
        match self {
            Self::NoStore => "give the path of the entry in its store",
            Self::Io { .. } => "check permissions, limits and the disk",
            Self::TooLarge { .. } | Self::Cut(_) | Self::Twice(_) => "unpack the entry and use the file",
            _ => "run `plimsoll verify` to list the damaged entries, and pack them again from a good copy",
        }
    }
}
