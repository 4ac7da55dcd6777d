//! [`DeviceOperator`]: an operator that is launched on a device.

use super::accounting::AllocatorUse;
use crate::kernel::{DeviceCall, Evaluation, KernelError};

/// An [`Operator`](crate::kernel::Operator) on a device, with memory from an allocator of its own.
pub trait DeviceOperator {
    /// Converts `call` to the form that the operator takes: done once, for any number of launches.
    ///
    /// # Errors
    /// [`KernelError`] if the operator does not take such a call.
    fn bind<'a>(&'a self, call: &'a DeviceCall<'_>) -> Result<Box<dyn Evaluation + 'a>, KernelError>;

    /// Returns the allocator's cached memory to the device, and resets its peaks.
    ///
    /// # Errors
    /// [`KernelError`] if the device failed.
    fn trim(&self) -> Result<(), KernelError>;

    /// The memory that the allocator holds, and its peak since the last [`trim`](Self::trim), without a workspace.
    ///
    /// # Errors
    /// [`KernelError`] if the allocator does not report it.
    fn allocated(&self) -> Result<AllocatorUse, KernelError>;
}
