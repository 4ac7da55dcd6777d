//! [`Format`]: the formats of single tensors.

use std::fmt;

/// A format for one tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// NumPy's format.
    Npy,
    /// The safetensors format.
    Safetensors,
    /// The elements alone, without a header.
    Bin,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Npy => "npy",
            Self::Safetensors => "safetensors",
            Self::Bin => "bin",
        })
    }
}
