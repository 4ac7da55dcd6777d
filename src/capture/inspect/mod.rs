//! Inspection: the content of files of torch.save, from headers alone, and their bytes if requested.
//!
//! [`inspect`] returns one [`Inspection`] for a file or a folder, the document `plimsoll.inspect/1`: every tensor and
//! every other value by its path, the storages below them, storages that are repeated across entries, and the bytes
//! that views keep without using them. A file that cannot be read is an element with an error, and does not affect the
//! others. [`Extraction`] writes one tensor to a file.
//!
//! Time and memory depend on the number of values, not on the size of storages; [`DigestFunction`] and
//! [`Options::verify`] read every byte, in windows. A file whose values would take more memory to list than any
//! reasonable file needs is refused.

mod digest;
mod document;
mod error;
mod extract;
mod folder;
mod hex_float;
mod listing;
mod reach;
mod repeats;
pub mod schema;
#[cfg(test)]
mod tests;
mod written;

pub use document::{
    DigestFunction, EXTENSIONS, EntryInspection, ErrorReport, Hex, Inspection, NonFinite, Number, Quantizer, Repeat,
    RepeatedStorage, SCHEMA, Scalar, StorageInspection, TensorInspection, Totals, ValueInspection, ValueKind,
};
pub use extract::{ExtractError, Extraction, Format};
pub use folder::{Options, Summary, inspect, inspect_each};
pub use written::Written;
