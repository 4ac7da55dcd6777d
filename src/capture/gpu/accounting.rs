//! [`DeviceUse`]: what a launch took of a device's memory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use plimsoll_memory::bytes::ByteSize;

/// What a launch took of a device's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceUse {
    /// The storages of its arguments, each once. Exact.
    pub inputs: ByteSize,
    /// Its outputs. Exact.
    pub outputs: ByteSize,
    /// What the memory in use on the device grew by during it, or during the first launch before the timed ones where that
    /// was more: what the kernel allocated and kept, and whatever other programs did meanwhile; what it gave back before it
    /// returned is not seen. A lower bound; absent where the driver does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growth: Option<ByteSize>,
    /// What PyTorch's allocator held; absent for kernels that are not PyTorch's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocator: Option<AllocatorUse>,
}

/// What PyTorch's allocator of a device held after a launch, and at most during it. Exact, by its own count. The inputs of
/// `py:` kernels are in it; those of `torch:` kernels are allocated beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AllocatorUse {
    /// In tensors, after it.
    pub allocated: ByteSize,
    /// In tensors, at most.
    pub allocated_peak: ByteSize,
    /// Taken from the device, after it.
    pub reserved: ByteSize,
    /// Taken from the device, at most.
    pub reserved_peak: ByteSize,
    /// In tensors, at most, beside what was in them before the launch and its outputs; absent where it was not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<ByteSize>,
}

impl DeviceUse {
    /// What the kernel took besides its inputs and outputs, by PyTorch's allocator where it is that one's, else by what the
    /// memory in use grew by.
    pub fn workspace(&self) -> Option<ByteSize> {
        self.allocator.and_then(|allocator| allocator.workspace).or(self.growth)
    }
}
