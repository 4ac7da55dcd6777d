//! [`PackedError`]: the errors of entries in a store.

use std::io;

/// An entry of a store whose parts are missing, damaged, or contradict each other.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackedError {
    /// A file that looks like a reference lies outside of a store.
    #[error("it refers to a recipe, and the folder three above it is no store")]
    NoStore,
    /// The reference names no recipe.
    #[error("its reference is malformed: {0:?}")]
    Reference(String),
    /// The recipe contradicts itself or the format.
    #[error("its recipe {object} is malformed: {what}")]
    Recipe {
        /// The object that should be a recipe.
        object: String,
        /// What is wrong with it.
        what: String,
    },
    /// The skeleton contradicts the format or the recipe.
    #[error("its skeleton {object} is malformed: {what}")]
    Skeleton {
        /// The object that should be a skeleton.
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
    /// An object has other bytes than its name says.
    #[error("object {object} is damaged: its bytes have BLAKE3 {actual}")]
    Damaged {
        /// The object.
        object: String,
        /// The digest of the bytes that are there.
        actual: String,
    },
    /// An object ends before the bytes that the recipe takes from it.
    #[error("object {object} has {bytes} bytes and the recipe needs {needed}")]
    Short {
        /// The object.
        object: String,
        /// Its bytes.
        bytes: u64,
        /// Where the bytes that are needed end.
        needed: u64,
    },
    /// An object is larger than what may be read into memory.
    #[error("object {object} has {bytes} bytes, and at most {limit} may be read into memory")]
    TooLarge {
        /// The object.
        object: String,
        /// Its bytes.
        bytes: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// An object cannot be read.
    #[error("object {object} cannot be read: {source}")]
    Io {
        /// The object.
        object: String,
        /// The system's answer.
        source: io::Error,
    },
    /// A storage is encoded in its file, and compressed in the store on top of it.
    #[error("storage {0:?} is deflated within a compressed object")]
    Twice(String),
    /// A storage lies in no payload as a whole.
    #[error("storage {0:?} is cut into pieces by the recipe")]
    Cut(String),
}

impl PackedError {
    pub(crate) fn advice(&self) -> &'static str {
        match self {
            Self::NoStore => "give the entry in its store",
            Self::Io { .. } => "check permissions, limits and the disk",
            Self::TooLarge { .. } | Self::Cut(_) | Self::Twice(_) => "unpack the entry and use the file",
            _ => "`plimsoll verify` names every entry that is hurt; pack them again from a good copy",
        }
    }
}
