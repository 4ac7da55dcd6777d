//! Persistent ids: the names by which a pickle refers to storages outside it.

use super::super::dtype::Dtype;
use super::super::pickle::{Document, Node, NodeId};
use super::super::storage::Storage;
use super::{Tensor, dtypes};
use crate::error::{CaptureError, RebuildError};

/// A persistent id, parsed: `("storage", class, key, location, numel)`, with a sixth item in the format before 1.6.
#[derive(Clone, Debug)]
pub(crate) struct StorageClaim {
    /// The name of the storage within the file.
    pub(crate) key: String,
    /// The dtype of the elements; `None` for an untyped storage, which counts bytes.
    pub(crate) dtype: Option<Dtype>,
    /// The bytes that the storage should have.
    pub(crate) bytes: u64,
    /// A part of the storage, in bytes from its start: the format before 1.6 can share one between storages.
    pub(crate) view: Option<std::ops::Range<u64>>,
}

/// The thing that a persistent id stands for.
pub(crate) enum Located {
    /// Bytes `start..start + bytes` of storage number `index`.
    Storage { index: usize, dtype: Option<Dtype>, start: u64, bytes: u64 },
    /// A tensor that the file holds outside the pickle, as only the TAR format does.
    Tensor(Tensor),
    /// The node within the id: a class whose source was saved with it.
    Inner(NodeId),
}

/// A lookup of the things that a file holds under its persistent ids.
pub(crate) trait Locate {
    /// Finds the thing that the persistent id `id` stands for.
    fn locate(&mut self, document: &Document, id: NodeId) -> Result<Located, LocateError>;

    /// The storages found so far.
    fn storages(&self) -> &[Storage];
}

/// Why a persistent id stands for nothing.
#[derive(Debug)]
pub(crate) enum LocateError {
    /// The id itself is malformed, or the thing that it names.
    Rebuild(RebuildError),
    /// The thing that it names is missing in the file.
    File(CaptureError),
}

impl From<RebuildError> for LocateError {
    fn from(error: RebuildError) -> Self {
        Self::Rebuild(error)
    }
}

impl From<CaptureError> for LocateError {
    fn from(error: CaptureError) -> Self {
        Self::File(error)
    }
}

/// The kind of thing that a persistent id claims to be.
pub(crate) enum Claim {
    /// A storage.
    Storage(StorageClaim),
    /// A class whose source was saved with it.
    Module(NodeId),
}

/// Reads the persistent id `id`.
pub(crate) fn claim(document: &Document, id: NodeId) -> Result<Claim, RebuildError> {
    let wrong = RebuildError::PersistentId;
    let items = document.as_tuple(id).ok_or(wrong("it is not a tuple"))?;
    let (&tag, rest) = items.split_first().ok_or(wrong("it is empty"))?;
    match (document.as_name(tag).as_deref(), rest) {
        (Some("module"), &[class, ..]) => return Ok(Claim::Module(class)),
        (Some("storage"), _) => {}
        _ => return Err(wrong("its kind is not \"storage\"")),
    }
    let (class, key, numel, view) = match *rest {
        [class, key, _location, numel] => (class, key, numel, None),
        [class, key, _location, numel, view] => (class, key, numel, Some(view)),
        _ => return Err(wrong("it has neither five nor six items")),
    };
    let (_, class) = document.as_global(class).ok_or(wrong("its class is not a class"))?;
    let dtype = dtypes::storage_class(&class).map_err(|()| RebuildError::StorageClass(class.into_owned()))?;
    let key = match document.node(key) {
        Node::Int(n) => n.to_string(),
        _ => document.as_name(key).ok_or(wrong("its key is not a name"))?.into_owned(),
    };
    let element = dtype.map_or(1, Dtype::size);
    let count = |id| document.as_int(id).and_then(|n| u64::try_from(n).ok()?.checked_mul(element));
    let bytes = count(numel).ok_or(wrong("its number of elements is not a number"))?;
    let view = match view.map(|id| (document.node(id), document.as_tuple(id))) {
        None | Some((Node::None, _)) => None,
        Some((_, Some(&[_, offset, size]))) => {
            let range = count(offset).zip(count(size)).and_then(|(start, size)| Some(start..start.checked_add(size)?));
            Some(range.filter(|r| r.end <= bytes).ok_or(wrong("its view is outside the storage"))?)
        }
        _ => return Err(wrong("its view is not a tuple of three")),
    };
    Ok(Claim::Storage(StorageClaim { key, dtype, bytes, view }))
}
