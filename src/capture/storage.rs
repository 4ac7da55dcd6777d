//! [`Storage`]: a run of untyped bytes that tensors are views of.

use std::path::Path;
use std::sync::Arc;

use plimsoll_memory::bytes::ByteSize;

/// The place of the bytes of a [`Storage`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoragePlace {
    /// In the file as they are. For an entry of a store, the file is an object, which entries share.
    File {
        /// The file.
        path: Arc<Path>,
        /// The offset of the bytes in the file.
        offset: u64,
    },
    /// In the file, but not as they are: reading them takes memory of their size.
    Encoded {
        /// The file.
        path: Arc<Path>,
        /// The offset of the encoded bytes in the file.
        offset: u64,
        /// The encoding of the bytes.
        encoding: Encoding,
    },
}

/// How the bytes of a storage differ from those in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Encoding {
    /// The bytes that the file takes, if it is a compressed object of a store. Offset and other encodings are those of
    /// its content.
    pub zstd: Option<ByteSize>,
    /// The bytes that the storage takes in the file, if they are deflated.
    pub deflated: Option<ByteSize>,
    /// The bytes of one number, if their order must be reversed because a big-endian machine wrote them. A complex
    /// element is two numbers.
    pub swapped: Option<usize>,
}

/// A run of untyped bytes of an entry. Tensors that share memory share a storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Storage {
    pub(super) key: String,
    pub(super) bytes: ByteSize,
    pub(super) crc32: Option<u32>,
    pub(super) place: StoragePlace,
    /// See [`Record::unread`](super::archive::Record::unread).
    pub(super) unread: Option<u64>,
}

impl Storage {
    /// The storage's name in the file, unique there: `0` for the record `data/0`.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The storage's size.
    pub fn bytes(&self) -> ByteSize {
        self.bytes
    }

    /// The CRC-32 of the bytes as they are in the file (inflated if they are deflated), or `None` if the writer
    /// computed none.
    pub fn crc32(&self) -> Option<u32> {
        self.crc32
    }

    /// The place of the storage's bytes.
    pub fn place(&self) -> &StoragePlace {
        &self.place
    }
}
