//! [`Extraction`]: one tensor of a file as a file of its own.
//!
//! | extension | what it holds |
//! |---|---|
//! | `.npy` | NumPy's format 1.0: a header with dtype and shape, then the elements |
//! | `.safetensors` | a header of JSON, then the elements; the tensor is named by its path |
//! | `.bin` | the elements |
//!
//! Elements are row-major and little-endian, with the tensor's conjugate and negative bits applied. A dtype that a
//! format lacks is refused: nothing is converted.

mod error;
mod format;
mod header;
mod output;

pub use error::ExtractError;
pub use format::Format;
pub use output::Extraction;
