//! Captures: folders of `entry_*.pt` files, each one call of an operator; and kernels launched on them.
//!
//! Besides the captures themselves there are [`inspect`] (the content of files of torch.save), [`compare`] (expected
//! against actual), [`kernel`] (kernels to launch), [`timing`] (protocols, clocks, statistics) and [`gpu`] (NVIDIA
//! GPUs, through their driver alone).
//!
//! An entry is a file of `torch.save`: a zip archive (since PyTorch 1.6) with one pickle, which holds the call's values,
//! and one record for the bytes of each storage. Opening an entry reads headers and the pickle alone, whatever its size;
//! storages are mapped when they are needed, and never copied. The two older formats, one stream of pickles followed by
//! the storages' bytes (before 1.6) and a TAR archive (before 0.1.10), are read into the same values.
//!
//! Files are untrusted: nothing in them is imported, called or executed, every length is checked before it is used, and
//! malformed data ends in a [`CaptureError`] that names the file, the record and the byte.

mod alike;
mod archive;
mod argument;
pub mod batch;
mod bind;
mod call;
mod checksum;
pub mod compare;
mod content;
mod convert;
mod dtype;
mod elements;
mod entry;
mod error;
mod fetch;
mod file_map;
#[cfg(test)]
mod fixtures;
mod folder;
pub mod gpu;
mod guard;
mod identity;
pub mod inspect;
pub mod kernel;
pub mod leftover;
mod legacy;
mod map;
mod mapped;
mod object;
pub mod origin;
mod pickle;
mod regular;
mod residency;
pub mod skeleton;
mod snapshot;
mod source;
mod storage;
pub mod store;
#[cfg(any(test, feature = "proptest"))]
pub mod strategies;
pub mod synthesize;
mod tar;
mod tensor;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
pub mod timing;
mod torch_file;
mod verify;
mod walk;
pub mod write;
mod zipped;

pub use argument::{Argument, TensorRef};
pub use bind::{Bound, OrderSource, ParameterOrder};
pub use call::Signature;
pub use dtype::{Dtype, DtypeKind, ParseDtypeError};
pub use entry::{Entry, OpenEntry};
pub use error::{
    ArchiveError, CaptureError, CaptureErrorKind, ConvertError, EntryError, FolderError, PackedError, PickleErrorKind,
    RebuildError, SourceError,
};
pub use fetch::Fetched;
pub use file_map::{large_pages_fit, reserve_apart};
pub use folder::Capture;
pub use identity::{Digest, Identity};
pub use map::{Access, MappedFile};
pub use mapped::MappedEntry;
pub use object::{ItemValue, TensorItem};
pub use pickle::NodeId;
pub use regular::open_regular;
pub use residency::{Residency, StorageId};
pub use source::Stamp;
pub use storage::{Encoding, Storage, StoragePlace};
#[deprecated(note = "renamed to `StoragePlace`: kernels are launched at a `gpu::Place`")]
/// The former name of [`StoragePlace`].
pub type Place = StoragePlace;
pub use tensor::{Layout, OutsideStorage, TensorSpec, TensorView};
pub use verify::Verified;
pub use walk::{Alias, Item, TorchFile};
