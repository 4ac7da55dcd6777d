//! [`KernelError`]: why a kernel refused a call.

use std::fmt;

use crate::{Dtype, OutsideStorage, TensorSpec};
use plimsoll_memory::text::counted;

/// Why a kernel refused a call, or failed in it.
///
/// What to do: compare the call (`plimsoll inspect ENTRY`) with what the kernel takes; use a `py:` kernel for a call
/// that this one does not take.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// An argument that the kernel needs is missing from the call.
    #[error("argument `{name}` (position {position}) is missing: the call has {given:?}")]
    MissingArgument {
        /// The parameter's name.
        name: &'static str,
        /// Its position.
        position: usize,
        /// The names of the call's parameters.
        given: Vec<String>,
    },
    /// An argument is of a kind that the kernel does not take.
    #[error("argument `{name}` must be {expected}, but the call gives a value of kind {found}")]
    WrongKind {
        /// The parameter's name.
        name: String,
        /// The kinds taken.
        expected: &'static str,
        /// The kind found.
        found: &'static str,
    },
    /// A tensor has a dtype that the kernel does not take.
    #[error("tensor `{name}` must be {expected}, but the call gives {found}")]
    WrongDtype {
        /// The parameter's name.
        name: &'static str,
        /// The dtypes taken.
        expected: &'static str,
        /// The dtype found.
        found: Dtype,
    },
    /// A tensor has a number of dimensions that the kernel does not take.
    #[error("tensor `{name}` must have {expected} dimensions, but the call gives one of shape {shape:?}")]
    WrongRank {
        /// The parameter's name.
        name: &'static str,
        /// The number of dimensions taken.
        expected: usize,
        /// The shape found.
        shape: Vec<u64>,
    },
    /// An index points outside of the table that it indexes.
    #[error("index {index} at {position:?} of `{name}` is out of range: the table has {rows} rows")]
    IndexOutOfRange {
        /// The name of the index tensor.
        name: &'static str,
        /// The place in the index tensor, one number per dimension; empty for a scalar tensor.
        position: Vec<u64>,
        /// The index.
        index: i64,
        /// The rows of the table.
        rows: u64,
    },
    /// An option has an invalid value.
    #[error("option `{name}` is {value}: {reason}")]
    InvalidOption {
        /// The parameter's name.
        name: &'static str,
        /// The value given.
        value: String,
        /// The rule that the value breaks.
        reason: String,
    },
    /// The call is valid, but this kernel does not implement it.
    #[error("{kernel} does not implement {what}: use a `py:` kernel for this call")]
    Unsupported {
        /// The kernel.
        kernel: &'static str,
        /// The feature that it does not implement.
        what: String,
    },
    /// A kernel that calls into other code received an exception from it.
    #[error("{message}")]
    Exception {
        /// The message of the exception.
        message: String,
    },
    /// A kernel that calls into other code could not allocate memory.
    #[error("{message}")]
    OutOfMemory {
        /// The error of the allocation.
        message: String,
    },
    /// A kernel that calls into other code could not allocate memory on the device.
    #[error("{message}")]
    DeviceOutOfMemory {
        /// The error of the allocation.
        message: String,
    },
    /// The kernel changed the description of an argument: the address of its elements, or its shape.
    #[error(
        "the kernel changed the description of its argument `{name}` (a tensor of a list: data, shape, strides or dtype); \
         a launch must not change it, because later launches use the same one"
    )]
    ChangedDescription {
        /// The parameter's name.
        name: String,
    },
    /// The memory that describes a call to the kernel could not be allocated.
    #[error("cannot allocate the description of the kernel's arguments: {reason}")]
    NoPages {
        /// The system's error.
        reason: String,
    },
    /// The operator does not exist, or none of its overloads takes such a call.
    #[error("{message}")]
    NotReachable {
        /// The operator that was looked for, and those that exist.
        message: String,
    },
    /// An argument cannot be passed to a kernel of a library.
    #[error("argument `{name}` cannot be passed to a kernel of a library: {reason}")]
    NotForLibraries {
        /// The parameter's name.
        name: String,
        /// Why it cannot be passed.
        reason: String,
    },
    /// A kernel of a library failed.
    #[error("{}", raised_message(.kernel, *.code, .raised.as_ref(), .given, *.outputs))]
    Raised {
        /// The kernel.
        kernel: String,
        /// The code that it returned.
        code: i32,
        /// The error that it raised; absent if it raised none.
        raised: Option<Raised>,
        /// The names of the arguments that it received.
        given: Vec<String>,
        /// How many outputs it received after them.
        outputs: usize,
    },
    /// A kernel of a library returned an object.
    #[error(
        "{kernel} returned an object (of type index {type_index}): a kernel of a library fills the outputs that it is \
        given last, and returns nothing"
    )]
    ReturnsObject {
        /// The kernel.
        kernel: String,
        /// The type of the object, by the ABI's number.
        type_index: i32,
    },
    /// The captured call returned no tensor for which a kernel could be given memory.
    #[error("{kernel} fills memory for its outputs, but the captured call returned no tensor: use a `py:` kernel")]
    NoOutputs {
        /// The kernel.
        kernel: String,
    },
    /// An argument is a tensor over a storage that the call does not have.
    #[error("argument `{name}` is in storage {storage}, but the call has {storages} storages")]
    NoSuchStorage {
        /// The parameter's name.
        name: String,
        /// The index of the storage.
        storage: usize,
        /// The number of storages that the call has.
        storages: usize,
    },
    /// A tensor reaches beyond its storage.
    #[error("argument `{name}`: {source}")]
    OutsideStorage {
        /// The parameter's name.
        name: String,
        /// The layout, and the size of the storage.
        source: OutsideStorage,
    },
    /// The number of output buffers differs from the number of outputs.
    #[error("the kernel has {expected} outputs, but {given} buffers are given")]
    OutputCount {
        /// The number of the kernel's outputs.
        expected: usize,
        /// The number of buffers given.
        given: usize,
    },
    /// An output buffer does not have the output's dtype and shape.
    #[error("output {index} is {expected_dtype} {expected_shape:?}, but the buffer given is {dtype} {shape:?}",
        expected_dtype = .expected.dtype, expected_shape = .expected.shape, dtype = .given.dtype, shape = .given.shape)]
    OutputSpec {
        /// The index of the output.
        index: usize,
        /// The dtype and shape of the kernel's output.
        expected: TensorSpec,
        /// The dtype and shape of the buffer.
        given: TensorSpec,
    },
    /// An output buffer does not have as many bytes as its tensor needs.
    #[error("a {dtype} tensor of shape {shape:?} is given {given} bytes of memory, but needs {needed}",
        dtype = .spec.dtype, shape = .spec.shape,
        needed = .spec.bytes().map_or_else(|| "more than 2^64".to_owned(), |b| b.to_string()))]
    OutputBytes {
        /// The tensor.
        spec: TensorSpec,
        /// The bytes given.
        given: usize,
    },
}

/// An error that a kernel raised: a kind such as `ValueError`, and a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raised {
    /// The kind.
    pub kind: String,
    /// The message.
    pub message: String,
}

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.kind.as_str(), self.message.as_str()) {
            ("", "") => f.write_str("an error without a kind or message"),
            ("", word) | (word, "") => f.write_str(word),
            (kind, message) => write!(f, "{kind}: {message}"),
        }
    }
}

/// The message of an error of a library's kernel, with its arguments if the error is about them.
fn raised_message(kernel: &str, code: i32, raised: Option<&Raised>, given: &[String], outputs: usize) -> String {
    let Some(raised) = raised else {
        return format!(
            "{kernel} returned {code} without a message: set one with TVMFFIErrorSetRaisedFromCStr before it returns"
        );
    };
    if raised.kind != "TypeError" {
        return raised.to_string();
    }
    format!("{raised} (it was passed {}, then {})", given.join(", "), counted(outputs, "output", "outputs"))
}
