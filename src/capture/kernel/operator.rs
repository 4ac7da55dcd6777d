//! [`Operator`]: a kernel that gives tensors of its own, where a [`Kernel`](super::Kernel) fills memory that it is handed.

use super::call::Call;
use super::device_call::DeviceRange;
use super::error::KernelError;
use crate::{Argument, TensorSpec};

/// A kernel whose launches allocate what they give, as the functions of PyTorch do. It may write to its inputs, so that
/// whoever launches it gives it inputs of its own.
pub trait Operator {
    /// `call` in the form that the operator takes; made once, launched any number of times.
    ///
    /// # Errors
    /// [`KernelError`] where the operator does not take such a call.
    fn bind<'a>(&'a self, call: &'a Call<'_>) -> Result<Box<dyn Evaluation + 'a>, KernelError>;
}

/// A call that is bound.
pub trait Evaluation {
    /// Launches the operator. What it gave stays until it is launched again.
    ///
    /// # Errors
    /// [`KernelError`] where the launch failed.
    fn launch(&mut self) -> Result<(), KernelError>;

    /// What the last launch gave, flattened.
    ///
    /// # Errors
    /// [`KernelError`] where it gave what no capture can hold.
    fn given(&mut self) -> Result<Vec<Given<'_>>, KernelError>;
}

/// One leaf of what a launch gave, before it is copied to where it is judged: its elements are the operator's own, and may
/// lie on a device.
#[derive(Debug)]
pub struct Given<'a> {
    /// Where in the output it stands: empty for a single value, `[1]` for the second of a tuple.
    pub path: String,
    /// The value.
    pub value: GivenValue<'a>,
}

/// A tensor or a plain value.
#[derive(Debug)]
pub enum GivenValue<'a> {
    /// A contiguous tensor.
    Tensor {
        /// Its dtype and shape.
        spec: TensorSpec,
        /// Its elements, row-major.
        elements: Elements<'a>,
    },
    /// A value that is no tensor.
    Value(Argument),
}

/// The elements of a tensor, where they lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements<'a> {
    /// In the memory of this process.
    Host(&'a [u8]),
    /// On the device that the operator was launched on, where they stay until it is launched again.
    Device(DeviceRange),
}
