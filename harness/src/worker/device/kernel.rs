//! [`DeviceKernel`]: a kernel that is launched on a device.

use plimsoll::capture::TensorSpec;
use plimsoll::gpu::{AllocatorUse, DeviceOperator};
use plimsoll::kernel::library::Library;
use plimsoll::kernel::{DeviceCall, Evaluation, KernelError, Launch};
use plimsoll::run::Placement;

use crate::protocol::CallMessage;
use crate::worker::error::CallError;

/// A kernel on a device.
pub enum DeviceKernel {
    /// A kernel that fills the outputs it is given.
    Library(Library),
    /// A kernel that returns tensors of its own.
    Operator(Box<dyn DeviceOperator>),
}

/// A bound call of the kernel.
pub enum DeviceLaunch<'a> {
    Filled(Launch<'a>),
    Given(Box<dyn Evaluation + 'a>),
}

impl DeviceKernel {
    /// The places of the outputs that the kernel is given, as captured.
    pub fn placement(&self, call: &CallMessage) -> Result<Placement, CallError> {
        let Self::Library(_) = self else { return Ok(Placement::of(&[], &[])?) };
        if call.outputs.is_empty() {
            return Err(KernelError::NoOutputs { kernel: "the kernel".to_owned() }.into());
        }
        let specs: Vec<TensorSpec> = call.outputs.iter().map(|output| output.spec.clone()).collect();
        Ok(Placement::of(&specs, &call.outputs)?)
    }

    /// `call`, ready to be launched any number of times.
    pub fn bind<'a>(&'a self, call: &'a DeviceCall<'_>) -> Result<DeviceLaunch<'a>, KernelError> {
        Ok(match self {
            Self::Library(library) => DeviceLaunch::Filled(library.bind_on_device(call)?),
            Self::Operator(operator) => DeviceLaunch::Given(operator.bind(call)?),
        })
    }

    /// Makes an allocator of the kernel's own release its cached memory, and resets its counts.
    pub fn trim(&self) -> Result<(), KernelError> {
        match self {
            Self::Library(_) => Ok(()),
            Self::Operator(operator) => operator.trim(),
        }
    }

    /// The memory that this allocator holds; absent for a kernel without one.
    pub fn allocated(&self) -> Result<Option<AllocatorUse>, KernelError> {
        match self {
            Self::Library(_) => Ok(None),
            Self::Operator(operator) => operator.allocated().map(Some),
        }
    }
}

impl DeviceLaunch<'_> {
    /// Launches the kernel, without waiting.
    pub fn launch(&mut self) -> Result<(), KernelError> {
        match self {
            Self::Filled(launch) => launch(),
            Self::Given(evaluation) => evaluation.launch(),
        }
    }
}
