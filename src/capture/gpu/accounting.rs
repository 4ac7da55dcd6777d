//! [`DeviceUse`]: the memory of a device that a launch took.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use plimsoll_memory::bytes::ByteSize;

/// The memory of a device that a launch took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceUse {
    /// The bytes of its arguments' storages, each counted once. Exact.
    pub inputs: ByteSize,
    /// The bytes of its outputs. Exact.
    pub outputs: ByteSize,
    /// How much the memory in use on the device grew during the launch, or during the first untimed launch if that was
    /// more: the kernel's allocations that it kept, and those of other programs in that time. Memory that the kernel
    /// freed before it returned is not seen. A lower bound; absent if the driver does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growth: Option<ByteSize>,
    /// The memory that PyTorch's allocator held; absent for kernels that are not PyTorch's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocator: Option<AllocatorUse>,
}

/// The memory that PyTorch's allocator held on a device after a launch, and its peak during it. Exact, by the
/// allocator's own count. The inputs of `py:` kernels are included; those of `torch:` kernels are allocated outside of
/// it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AllocatorUse {
    /// The bytes in tensors after the launch.
    pub allocated: ByteSize,
    /// The peak of the bytes in tensors.
    pub allocated_peak: ByteSize,
    /// The bytes reserved from the device after the launch.
    pub reserved: ByteSize,
    /// The peak of the bytes reserved from the device.
    pub reserved_peak: ByteSize,
    /// The peak of the bytes in tensors, without those held before the launch and without its outputs; absent if it was
    /// not reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<ByteSize>,
}

impl DeviceUse {
    /// The memory that the kernel took besides its inputs and outputs: by the count of PyTorch's allocator if the
    /// kernel uses it, else by the growth of the memory in use.
    pub fn workspace(&self) -> Option<ByteSize> {
        self.allocator.and_then(|allocator| allocator.workspace).or(self.growth)
    }
}
