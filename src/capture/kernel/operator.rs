//! [`Operator`]: a kernel that returns tensors of its own, while a [`Kernel`](super::Kernel) fills memory that it is
//! given.

use super::call::Call;
use super::device_call::DeviceRange;
use super::error::KernelError;
use crate::{Argument, TensorSpec};

/// A kernel whose launches allocate their results, as the functions of PyTorch do. It may write to its inputs, so the
/// caller gives it copies of its own.
pub trait Operator {
    /// Converts `call` to the form that the operator takes: done once, for any number of launches.
    ///
    /// # Errors
    /// [`KernelError`] if the operator does not take such a call.
    fn bind<'a>(&'a self, call: &'a Call<'_>) -> Result<Box<dyn Evaluation + 'a>, KernelError>;
}

/// A call bound to an operator.
pub trait Evaluation {
    /// Launches the operator. The results stay until the next launch.
    ///
    /// # Errors
    /// [`KernelError`] if the launch failed.
    fn launch(&mut self) -> Result<(), KernelError>;

    /// The results of the last launch, flattened.
    ///
    /// # Errors
    /// [`KernelError`] if a result is of a kind that no capture can hold.
    fn given(&mut self) -> Result<Vec<Given<'_>>, KernelError>;
}

/// One leaf of a launch's results, before it is copied to be judged: its elements are the operator's own, and may be on
/// a device.
#[derive(Debug)]
pub struct Given<'a> {
    /// The place in the output: empty for a single value, `[1]` for the second of a tuple.
    pub path: String,
    /// The value.
    pub value: GivenValue<'a>,
}

/// A tensor or a plain value.
#[derive(Debug)]
pub enum GivenValue<'a> {
    /// A contiguous tensor.
    Tensor {
        /// The dtype and shape.
        spec: TensorSpec,
        /// The elements, row-major.
        elements: Elements<'a>,
    },
    /// A value that is not a tensor.
    Value(Argument),
}

/// The elements of a tensor, in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements<'a> {
    /// Elements in the memory of this process.
    Host(&'a [u8]),
    /// Elements on the device that the operator was launched on, which stay until the next launch.
    Device(DeviceRange),
}
