//! [`DeviceOperator`]: an operator that is launched on a device.

use super::accounting::AllocatorUse;
use crate::kernel::{DeviceCall, Evaluation, KernelError};

/// An [`Operator`](crate::kernel::Operator) on a device, whose memory it has from an allocator of its own.
pub trait DeviceOperator {
    /// `call` in the form that the operator takes; made once, launched any number of times.
    ///
    /// # Errors
    /// [`KernelError`] where the operator does not take such a call.
    fn bind<'a>(&'a self, call: &'a DeviceCall<'_>) -> Result<Box<dyn Evaluation + 'a>, KernelError>;

    /// Gives back to the device what the allocator keeps for later, and has its peaks begin anew.
    ///
    /// # Errors
    /// [`KernelError`] where the device failed.
    fn trim(&self) -> Result<(), KernelError>;

    /// What the allocator holds, and held at most since the last [`trim`](Self::trim); it knows of no workspace.
    ///
    /// # Errors
    /// [`KernelError`] where it does not tell.
    fn allocated(&self) -> Result<AllocatorUse, KernelError>;
}
