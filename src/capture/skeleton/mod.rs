//! Files taken apart and put together again, byte for byte.
//!
//! A [`Skeleton`] is a file of torch.save without the bytes of its storages: headers, pickle, padding, directory, and
//! all other bytes between storages, exactly as they are. For a gigabyte of weights it has some two thousand bytes.
//! Together with the storages it restores the original file ([`Skeleton::rebuild`]), which cannot be recreated from the
//! values: torch's serialization id, the order of records and the padding of other writers do not follow from them.
//!
//! A payload is the run of bytes that a storage takes **in the file**: the deflated bytes of a deflated record, the
//! bytes of a big-endian one in that order. Every file is therefore taken apart in the same way, nothing must be
//! encoded again when it is put together, and a reader of the parts finds in the skeleton's directory how to read the
//! payload. Records under `data/` that no tensor refers to are payloads too. In the two older formats the payloads are
//! the storages behind the pickles.
//!
//! # Format
//! [`Skeleton::to_bytes`] writes, in this order:
//!
//! 1. the length of the header, eight bytes, little-endian;
//! 2. the header, JSON: `{"format": "plimsoll.skeleton/1", "bytes": N, "blake3": HEX, "payloads": [{"key": "0",
//!    "offset": N, "bytes": N}, ...]}`, where `bytes` is the size and `blake3` the digest of the whole original file and
//!    `offset` the place of a payload in it, payloads in the order of their offsets, none empty;
//! 3. every byte of the original file that is not in a payload, in order.
//!
//! The file is read once to take it apart ([`Skeleton::scan`]), and the payloads are handed out on the way. Both
//! directions take memory for the skeleton and one window, whatever the size of the file.

mod error;
mod format;
mod rebuild;
mod scan;

pub use error::SkeletonError;
pub(crate) use format::LARGEST_SKELETON;

use serde::{Deserialize, Serialize};

use plimsoll_memory::bytes::ByteSize;

/// A file of torch.save without the bytes of its storages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skeleton {
    header: Header,
    /// The bytes around the payloads.
    verbatim: Vec<u8>,
}

/// The bytes that one storage takes in the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Payload {
    /// The name of the storage in the file: `0` for the record `data/0`.
    pub key: String,
    /// The offset of the payload in the file.
    pub offset: u64,
    /// The bytes that the payload takes in the file.
    pub bytes: ByteSize,
}

/// The header, which comes before the verbatim bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format: String,
    bytes: ByteSize,
    blake3: String,
    payloads: Vec<Payload>,
}

impl Skeleton {
    /// The size of the original file.
    pub fn file_size(&self) -> ByteSize {
        self.header.bytes
    }

    /// The BLAKE3 digest of the original file, in hexadecimal.
    pub fn file_digest(&self) -> &str {
        &self.header.blake3
    }

    /// The payloads, in the order of the file.
    pub fn payloads(&self) -> &[Payload] {
        &self.header.payloads
    }

    /// The bytes around the payloads.
    pub(super) fn verbatim(&self) -> &[u8] {
        &self.verbatim
    }
}

#[cfg(test)]
mod tests;
