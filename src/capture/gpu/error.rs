//! [`GpuError`]: the errors of a GPU and its driver.

use plimsoll_memory::bytes::ByteSize;

/// Why an operation on a GPU failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GpuError {
    /// The driver's library is not installed, or cannot be loaded.
    #[error("no NVIDIA driver found: {reason}")]
    NoDriver {
        /// The loader's error.
        reason: String,
    },
    /// The driver lacks a function.
    #[error(
        "the NVIDIA driver is too old: its libcuda.so.1 has no {function}; install one of the branch R525 or later"
    )]
    OldDriver {
        /// The function that it lacks.
        function: &'static str,
    },
    /// The driver cannot be used, for example because the kernel module has another version.
    #[error("the NVIDIA driver does not start: {name}: {reason}")]
    Start {
        /// The driver's name for the error.
        name: String,
        /// The driver's description of the error.
        reason: String,
    },
    /// The driver reports no devices.
    #[error("no NVIDIA GPU found: the driver reports no devices; check CUDA_VISIBLE_DEVICES")]
    NoDevice,
    /// There is no device with that number.
    #[error("there is no device cuda:{index}: the driver reports {count}, counted from 0")]
    NoSuchDevice {
        /// The requested number.
        index: u32,
        /// The number of devices.
        count: u32,
    },
    /// The device exists, but this process may not use it.
    #[error("the GPU cannot be used: {name}: {reason}; does another process own it (`nvidia-smi -q -d COMPUTE`)?")]
    Unavailable {
        /// The driver's name for the error.
        name: String,
        /// The driver's description of the error.
        reason: String,
    },
    /// The device has too little free memory.
    #[error("cannot allocate {bytes} of device memory: {free} of {total} are free")]
    OutOfMemory {
        /// The bytes that were requested.
        bytes: ByteSize,
        /// The bytes that were free then.
        free: ByteSize,
        /// The bytes that the device has in total.
        total: ByteSize,
    },
    /// Work on the device failed in a way that ends all use of the device in this process.
    #[error("the kernel failed on the device ({name}: {reason}), reported by {call}")]
    Fault {
        /// The function of the driver that reported it.
        call: &'static str,
        /// The driver's name for the error.
        name: String,
        /// The driver's description of the error.
        reason: String,
    },
    /// Work that was captured from a stream continued on another stream, which was not joined to it again.
    #[error(
        "the kernel forks from the stream that it is given and does not join it: work that it puts on the other stream may continue after the kernel's stream has ended"
    )]
    Unjoined,
    /// The driver refused a call for any other reason.
    #[error("{call} failed: {name}: {reason}")]
    Call {
        /// The function of the driver.
        call: &'static str,
        /// The driver's name for the error.
        name: String,
        /// The driver's description of the error.
        reason: String,
    },
}

impl GpuError {
    /// Whether there is no usable GPU here: nothing was measured, and nothing is wrong with the kernel.
    pub fn is_absence(&self) -> bool {
        use GpuError::*;
        matches!(
            self,
            NoDriver { .. } | OldDriver { .. } | Start { .. } | NoDevice | NoSuchDevice { .. } | Unavailable { .. }
        )
    }

    /// Whether the process can no longer use the device.
    pub fn is_fault(&self) -> bool {
        matches!(self, Self::Fault { .. })
    }
}
