//! [`ConvertError`]: the errors of values that cannot be given to a kernel.

/// The values that one call may hold. A file in which lists share lists can mean far more of them than it has bytes, and each
/// is copied for the worker, named in the record and compared: a container counts as [`CONTAINER`] of them, a tensor as [`TENSOR`].
pub(crate) const VALUES_LIMIT: usize = 1 << 19;

/// The plain values that take as much as a container.
pub(crate) const CONTAINER: usize = 4;

/// The plain values that take as much as a tensor.
pub(crate) const TENSOR: usize = 16;

/// The bytes of texts, byte strings and shapes that one call may hold.
pub(crate) const TEXT_LIMIT: usize = 32 << 20;

/// How deep the values of a call may be nested: far deeper than any call of an operator is, and still within the stack of
/// a thread of 2 MiB where nothing is optimised.
pub(crate) const DEPTH_LIMIT: usize = 128;

/// A value that cannot be given to a kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// More than half a million values.
    #[error(
        "the call holds more than {VALUES_LIMIT} values, a container counted as {CONTAINER} and a tensor as {TENSOR}"
    )]
    TooMany,
    /// Texts, byte strings and shapes beyond 32 MiB.
    #[error("the texts and shapes of the call take more than {TEXT_LIMIT} bytes")]
    TooLong,
    /// Nested more than 128 deep.
    #[error("the values of the call are nested more than {DEPTH_LIMIT} deep")]
    TooDeep,
    /// A container that contains itself.
    #[error("a container of the call contains itself")]
    Cycle,
}
