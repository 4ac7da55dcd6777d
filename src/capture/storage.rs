//! [`Storage`]: a run of untyped bytes that tensors are views of.

use std::path::Path;
use std::sync::Arc;

use plimsoll_memory::bytes::ByteSize;

/// Where the bytes of a [`Storage`] are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the file as they are. Of an entry of a store the file is an object, which entries share.
    File {
        /// The file.
        path: Arc<Path>,
        /// Where they start in it.
        offset: u64,
    },
    /// In the file, but not as they are: reading them takes memory of their size.
    Encoded {
        /// The file.
        path: Arc<Path>,
        /// Where the encoded bytes start in it.
        offset: u64,
        /// How they are encoded.
        encoding: Encoding,
    },
}

/// How the bytes of a storage differ from those in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Encoding {
    /// The bytes of the file where it is a compressed object of a store. Offset and other encodings are those of its
    /// content.
    pub zstd: Option<ByteSize>,
    /// The bytes in the file where they are deflated.
    pub deflated: Option<ByteSize>,
    /// The bytes of one number where their order is to be turned, because a big-endian machine wrote them. A complex
    /// element is two numbers.
    pub swapped: Option<usize>,
}

/// A run of untyped bytes of an entry. Tensors that share memory share a storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Storage {
    pub(super) key: String,
    pub(super) bytes: ByteSize,
    pub(super) crc32: Option<u32>,
    pub(super) place: Place,
}

impl Storage {
    /// Its name in the file, unique there: `0` of the record `data/0`.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Its size.
    pub fn bytes(&self) -> ByteSize {
        self.bytes
    }

    /// The CRC-32 of its bytes as they lie in the file (inflated where they are deflated), `None` where the writer
    /// computed none.
    pub fn crc32(&self) -> Option<u32> {
        self.crc32
    }

    /// Where its bytes are.
    pub fn place(&self) -> &Place {
        &self.place
    }
}
