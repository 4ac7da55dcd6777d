//! [`ConvertError`]: the errors of values that cannot be passed to a kernel.

/// The most values that one call may hold. A file whose lists share lists can represent far more values than it has
/// bytes, and each is copied for the worker, recorded and compared. A container counts as [`CONTAINER`] values, a
/// tensor as [`TENSOR`].
pub(crate) const VALUES_LIMIT: usize = 1 << 19;

/// The number of plain values that a container counts as.
pub(crate) const CONTAINER: usize = 4;

/// The number of plain values that a tensor counts as.
pub(crate) const TENSOR: usize = 16;

/// The most bytes that texts, byte strings and shapes of one call may take.
pub(crate) const TEXT_LIMIT: usize = 32 << 20;

/// The maximum nesting of a call's values: far deeper than in any operator's call, and still within a thread's stack of
/// 2 MiB in an unoptimised build.
pub(crate) const DEPTH_LIMIT: usize = 128;

/// A value that cannot be passed to a kernel.
///
/// What to do: capture the call with plain arguments (tensors, numbers, texts, lists); no operator takes such a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The call holds more than half a million values.
    #[error(
        "the call holds more than {VALUES_LIMIT} values, a container counted as {CONTAINER} and a tensor as {TENSOR}"
    )]
    TooMany,
    /// The call's texts, byte strings and shapes take more than 32 MiB.
    #[error("the texts and shapes of the call take more than {TEXT_LIMIT} bytes")]
    TooLong,
    /// The values are nested more than 128 deep.
    #[error("the values of the call are nested more than {DEPTH_LIMIT} deep")]
    TooDeep,
    /// A container contains itself.
    #[error("a container of the call contains itself")]
    Cycle,
}
