//! [`GpuError`]: why a GPU could not do what it was asked for.

use plimsoll_memory::bytes::ByteSize;

/// Why a GPU could not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GpuError {
    /// The library that a driver installs is not there, or cannot be loaded.
    #[error("no NVIDIA driver found: {reason}")]
    NoDriver {
        /// What the loader said.
        reason: String,
    },
    /// The driver is there, and lacks a function.
    #[error(
        "the NVIDIA driver is too old: its libcuda.so.1 has no {function}; install one of the branch R525 or later"
    )]
    OldDriver {
        /// The function.
        function: &'static str,
    },
    /// The driver cannot be used, as where the module of the operating system's kernel is another version.
    #[error("the NVIDIA driver does not start: {name}: {reason}")]
    Start {
        /// The driver's name for it.
        name: String,
        /// What it means.
        reason: String,
    },
    /// The driver knows no device.
    #[error("no NVIDIA GPU found: the driver is there and knows no device; is CUDA_VISIBLE_DEVICES empty?")]
    NoDevice,
    /// There is no device of that number.
    #[error("there is no device cuda:{index}: the driver knows {count}, counted from 0")]
    NoSuchDevice {
        /// The number asked for.
        index: u32,
        /// How many there are.
        count: u32,
    },
    /// The device is there, and not for this process.
    #[error(
        "the GPU cannot be used: {name}: {reason}; does another process have it to itself (`nvidia-smi -q -d COMPUTE`)?"
    )]
    Unavailable {
        /// The driver's name for it.
        name: String,
        /// What it means.
        reason: String,
    },
    /// The memory of the device does not suffice.
    #[error("{bytes} of device memory cannot be had: {free} of {total} are free")]
    OutOfMemory {
        /// What was asked for.
        bytes: ByteSize,
        /// What was free then.
        free: ByteSize,
        /// What the device has.
        total: ByteSize,
    },
    /// Work on the device failed so that nothing more can be done in this process.
    #[error("the kernel failed on the device ({name}: {reason}), seen at {call}")]
    Fault {
        /// The function of the driver that told of it.
        call: &'static str,
        /// The driver's name for it.
        name: String,
        /// What it means.
        reason: String,
    },
    /// Work that was captured from a stream went on to another, which was not joined to it again.
    #[error(
        "the kernel forks from the stream that it is given and does not join it: what it puts on the other stream may go on \
         when the stream of the kernel has ended"
    )]
    Unjoined,
    /// Any other refusal of the driver.
    #[error("{call} failed: {name}: {reason}")]
    Call {
        /// The function of the driver.
        call: &'static str,
        /// The driver's name for the error.
        name: String,
        /// What it means.
        reason: String,
    },
}

impl GpuError {
    /// Whether there is no GPU to be had here: nothing was measured, and nothing is wrong with the kernel.
    pub fn is_absence(&self) -> bool {
        use GpuError::*;
        matches!(
            self,
            NoDriver { .. } | OldDriver { .. } | Start { .. } | NoDevice | NoSuchDevice { .. } | Unavailable { .. }
        )
    }

    /// Whether the process can use the device no more.
    pub fn is_fault(&self) -> bool {
        matches!(self, Self::Fault { .. })
    }
}
