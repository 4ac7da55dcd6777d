//! [`ArchiveError`]: the errors of the zip archive.

/// An archive that is malformed, or that no writer of torch files produces.
///
/// What to do: copy or download the file again, or save it again with `torch.save`; a file that fails again is damaged,
/// or was not written by torch.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The file is neither a zip archive nor one of the older formats.
    #[error("this is not a file that torch.save wrote")]
    NotTorch,
    /// The end record is missing: the file is cut, or has bytes after its end.
    #[error("the end-of-central-directory record is missing: the file is truncated or has bytes appended")]
    NoEnd,
    /// A structure of the archive contradicts itself.
    #[error("{0}")]
    Malformed(&'static str),
    /// Two records have the same name.
    #[error("two records have this name")]
    DuplicateRecord,
    /// Two records share bytes.
    #[error("the record shares bytes of the file with record `{other}`")]
    Overlap {
        /// The other record.
        other: String,
    },
    /// The local header gives another name than the central directory.
    #[error("the local header gives the name `{local}`")]
    NameMismatch {
        /// The name in the local header.
        local: String,
    },
    /// The local header contradicts the central directory.
    #[error("the local header and the central directory differ in the {0}")]
    HeaderMismatch(&'static str),
    /// The name would lead out of the archive.
    #[error("the name leads out of the archive")]
    Traversal,
    /// The name is not UTF-8, or contains a NUL.
    #[error("the name is not valid UTF-8, or holds a NUL")]
    BadName,
    /// The record is encrypted.
    #[error("the record is encrypted")]
    Encrypted,
    /// The record is compressed by a method other than stored (0) and deflated (8).
    #[error("compression method {0} is not supported")]
    Method(u16),
    /// A stored record's two sizes differ.
    #[error("the record is stored uncompressed, but its two sizes differ: {compressed} and {bytes} bytes")]
    StoredSizes {
        /// The size in the file.
        compressed: u64,
        /// The size of the content.
        bytes: u64,
    },
    /// A record that every torch file has is missing.
    #[error("the record is missing")]
    MissingRecord,
    /// The `version` record holds a version that this reader does not know.
    #[error("format version {0:?} is not supported")]
    Version(String),
    /// The `byteorder` record is neither `little` nor `big`.
    #[error("byte order {0:?} is unknown")]
    ByteOrder(String),
    /// The bytes do not have the CRC that the archive records.
    #[error("the CRC-32 is {actual:08x} and should be {expected:08x}: the bytes are damaged")]
    Crc {
        /// The CRC in the central directory.
        expected: u32,
        /// The CRC of the bytes.
        actual: u32,
    },
    /// The deflated bytes are not a valid stream, or inflate to another number of bytes than the directory says.
    #[error("the deflated bytes are damaged: {0}")]
    Inflate(String),
    /// The archive's compressed records would take far more memory than the file is large.
    #[error("its compressed records hold {bytes} bytes, more than the {limit} allowed for a file of this size")]
    InflateBomb {
        /// The bytes that the compressed records hold together.
        bytes: u64,
        /// The most bytes that they may hold.
        limit: u64,
    },
    /// A record that is read into memory as a whole is larger than any reasonable one.
    #[error("the record has {bytes} bytes, more than the {limit} allowed")]
    TooLarge {
        /// The record's size in bytes.
        bytes: u64,
        /// The limit in bytes.
        limit: u64,
    },
}

impl ArchiveError {
    pub(crate) fn advice(&self) -> &'static str {
        match self {
            Self::NotTorch => "check the path, or capture the file again",
            Self::NoEnd | Self::Crc { .. } | Self::Inflate(_) => "copy or capture the file again",
            Self::Version(_) | Self::Method(_) | Self::Encrypted => "save the file again with torch.save",
            _ => "do not trust this file: torch.save does not write such archives",
        }
    }
}
