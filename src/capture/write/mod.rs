//! Writing entries: the `.pt` files of `torch.save`, byte for byte.
//!
//! [`write_entry`] writes one [`EntryValue`] whose storages come from [`Source`]s. The file is what torch 2.11 writes
//! for the same dictionary under the same file name, assuming that equal texts are one Python object (as literals of
//! one function are) and that no list, dictionary or tensor occurs twice:
//!
//! - a zip archive of stored records under one folder named after the file: `data.pkl`, `.format_version`,
//!   `.storage_alignment`, `byteorder`, `data/0` and on in the order of first reference, `version`,
//!   `.data/serialization_id`; each record's bytes start on a multiple of 64, and zip64 fields are used as miniz, the
//!   zip library of torch, uses them;
//! - a pickle of protocol 2;
//! - a serialization id that hashes the record names as libstdc++ does and the CRC-32 of every record.
//!
//! The layout of the file depends on the pickle and the storages' sizes alone, so the file's size is known before
//! anything is written ([`entry_size`]), and storages are filled in any order by many threads, with a CRC-32 per chunk,
//! combined in the end. Memory is constant: one chunk per thread. The file is written under a temporary name beside its
//! place and renamed; an error or a cancellation leaves nothing behind.

mod archive;
mod chunks;
mod entry;
mod error;
mod pickle;
mod serialization_id;
mod source;

pub use entry::{EntryValue, entry_size, write_entry};
pub use error::WriteError;
pub use source::{Options, Source};

#[cfg(test)]
pub(crate) mod tests;
