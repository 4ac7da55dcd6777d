//! [`KernelError`]: why a kernel refused a call.

use super::library::Raised;
use crate::{Dtype, OutsideStorage, TensorSpec};
use plimsoll_memory::text::counted;

/// Why a kernel refused a call, or failed in it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// An argument that the kernel needs is not among those given.
    #[error("argument `{name}` (position {position}) is missing: the call has {given:?}")]
    MissingArgument {
        /// The parameter's name.
        name: &'static str,
        /// Its position.
        position: usize,
        /// The names of the call's parameters.
        given: Vec<String>,
    },
    /// An argument is no value of the kind that the kernel takes.
    #[error("argument `{name}` is to be {expected}, and the call gives a value of kind {found}")]
    WrongKind {
        /// The parameter's name.
        name: String,
        /// The kinds taken.
        expected: &'static str,
        /// The kind found.
        found: &'static str,
    },
    /// A tensor has a dtype that the kernel does not take.
    #[error("tensor `{name}` is to be {expected}, and the call gives {found}")]
    WrongDtype {
        /// The parameter's name.
        name: &'static str,
        /// The dtypes taken.
        expected: &'static str,
        /// The dtype found.
        found: Dtype,
    },
    /// A tensor has a number of dimensions that the kernel does not take.
    #[error("tensor `{name}` is to have {expected} dimensions, and the call gives one of shape {shape:?}")]
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
        /// Where in the index tensor it stands, a number a dimension; empty for a scalar tensor.
        position: Vec<u64>,
        /// The index.
        index: i64,
        /// The rows of the table.
        rows: u64,
    },
    /// An option has a value that no call can have.
    #[error("option `{name}` is {value}: {reason}")]
    InvalidOption {
        /// The parameter's name.
        name: &'static str,
        /// The value given.
        value: String,
        /// What it would have to be.
        reason: String,
    },
    /// The call is valid, and this kernel does not implement it.
    #[error("{kernel} does not implement {what}: use a `py:` kernel for this call")]
    Unsupported {
        /// The kernel.
        kernel: &'static str,
        /// What it does not implement.
        what: String,
    },
    /// A kernel that calls into other code got an exception from there.
    #[error("{message}")]
    Exception {
        /// What it said.
        message: String,
    },
    /// The memory of a kernel that calls into other code could not be had.
    #[error("{message}")]
    OutOfMemory {
        /// What it said.
        message: String,
    },
    /// The memory of the device could not be had by a kernel that calls into other code.
    #[error("{message}")]
    DeviceOutOfMemory {
        /// What it said.
        message: String,
    },
    /// The kernel changed what describes an argument: where its elements lie, or its shape.
    #[error(
        "the kernel changed the description of its argument `{name}` (a tensor of a list: data, shape, strides or dtype); \
         a launch is to leave it as it was, for those that follow are given the same"
    )]
    ChangedDescription {
        /// The parameter's name.
        name: String,
    },
    /// The memory that describes a call could not be had.
    #[error("the arguments of the kernel cannot be described to it: {reason}")]
    NoPages {
        /// The system's answer.
        reason: String,
    },
    /// There is no such operator, or none that takes such a call.
    #[error("{message}")]
    NotReachable {
        /// What was looked for, and what there is.
        message: String,
    },
    /// An argument has no form in which a kernel of a library could be given it.
    #[error("argument `{name}` cannot be given to a kernel of a library: {reason}")]
    NotForLibraries {
        /// The parameter's name.
        name: String,
        /// Why not.
        reason: String,
    },
    /// A kernel of a library failed.
    #[error("{}", raised_message(.kernel, *.code, .raised.as_ref(), .given, *.outputs))]
    Raised {
        /// The kernel.
        kernel: String,
        /// What it returned.
        code: i32,
        /// What it raised; absent where it did not say.
        raised: Option<Raised>,
        /// The names of the arguments that it was given.
        given: Vec<String>,
        /// How many outputs it was given after them.
        outputs: usize,
    },
    /// A kernel of a library gave an object back.
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
    /// The call that was captured gave no tensor that a kernel could be given memory for.
    #[error("{kernel} is given memory for its outputs, and the captured call gave no tensor: use a `py:` kernel")]
    NoOutputs {
        /// The kernel.
        kernel: String,
    },
    /// An argument is a tensor over a storage that the call does not have.
    #[error("argument `{name}` lies in storage {storage}, and the call has {storages} storages")]
    NoSuchStorage {
        /// The parameter's name.
        name: String,
        /// The index of the storage.
        storage: usize,
        /// How many the call has.
        storages: usize,
    },
    /// A tensor reaches beyond its storage.
    #[error("argument `{name}`: {source}")]
    OutsideStorage {
        /// The parameter's name.
        name: String,
        /// What does not fit.
        source: OutsideStorage,
    },
    /// The number of output buffers is not that of outputs.
    #[error("the kernel has {expected} outputs, and {given} buffers are given")]
    OutputCount {
        /// The kernel's outputs.
        expected: usize,
        /// The buffers given.
        given: usize,
    },
    /// An output buffer is not of the output's dtype and shape.
    #[error("output {index} is {expected_dtype} {expected_shape:?}, and the buffer given is {dtype} {shape:?}",
        expected_dtype = .expected.dtype, expected_shape = .expected.shape, dtype = .given.dtype, shape = .given.shape)]
    OutputSpec {
        /// Which output.
        index: usize,
        /// What the kernel gives.
        expected: TensorSpec,
        /// What the buffer is for.
        given: TensorSpec,
    },
    /// The bytes of an output buffer are not as many as its tensor needs.
    #[error("a {dtype} tensor of shape {shape:?} is given {given} bytes of memory, and needs {needed}",
        dtype = .spec.dtype, shape = .spec.shape,
        needed = .spec.bytes().map_or_else(|| "more than 2^64".to_owned(), |b| b.to_string()))]
    OutputBytes {
        /// The tensor.
        spec: TensorSpec,
        /// The bytes given.
        given: usize,
    },
}

/// What a kernel of a library raised; where it is about its arguments, which these were.
fn raised_message(kernel: &str, code: i32, raised: Option<&Raised>, given: &[String], outputs: usize) -> String {
    let Some(raised) = raised else {
        return format!(
            "{kernel} returned {code} and did not say why: it says so by TVMFFIErrorSetRaisedFromCStr before it returns"
        );
    };
    if raised.kind != "TypeError" {
        return raised.to_string();
    }
    format!("{raised} (it was given {}, then {})", given.join(", "), counted(outputs, "output", "outputs"))
}
