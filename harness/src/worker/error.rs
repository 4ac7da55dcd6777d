//! [`CallError`]: why a call has no result.

use std::io;
use std::path::Path;
use std::time::Duration;

use plimsoll::capture::CaptureError;
use plimsoll::gpu::GpuError;
use plimsoll::kernel::KernelError;
use plimsoll::record::{Failure, FailureKind};
use plimsoll::timing::{ClockError, MeasureError};

use super::private::MapError;
use crate::protocol::Reply;

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error(transparent)]
    Input(#[from] CaptureError),
    #[error(transparent)]
    Map(#[from] MapError),
    #[error(transparent)]
    Kernel(#[from] KernelError),
    #[error("cannot allocate {bytes} bytes for outputs: {source}")]
    Outputs { bytes: usize, source: io::Error },
    #[error("cannot reserve addresses for the inputs: {0}")]
    Addresses(io::Error),
    #[error(transparent)]
    Clock(#[from] ClockError),
    #[error(transparent)]
    Gpu(#[from] GpuError),
    #[error(
        "the device continued for {} after the kernel's stream had ended: the kernel works on a stream of its own, for which nothing waits", humantime::format_duration(*.0)
    )]
    Late(Duration),
    #[error(
        "the kernel wrote to its output while the stream that it is given was held: it works on a stream of its own that does not wait; launch on the stream that TVMFFIEnvGetStream returns, or make the other stream wait for it"
    )]
    Unordered,
    #[error("a launch of the kernel cannot be made a CUDA graph: {0}")]
    NoGraph(String),
    #[error(
        "launched once more on the timed buffers, the kernel wrote nothing to its output, although it did on others: compute on every launch"
    )]
    Idle,
    #[error(
        "launched once more on the timed buffers, the kernel left a part of its output unwritten, although it did \
         not on others: compute all of it on every launch"
    )]
    Partial,
    #[error(
        "launched once more on the timed buffers, with other values in its floating-point arguments, the kernel returned \
         {stale} of the {following} elements that depend on them unchanged: it keeps results by address"
    )]
    Kept { stale: u64, following: u64 },
    #[error(
        "launched once more with other values in its floating-point arguments, the kernel returned the results of the captured \
         values; before it was timed its output depended on them: it returns kept results"
    )]
    Stopped,
    #[error(
        "its output still changed after the launch had returned: a thread or a process of the kernel goes on writing; wait for \
         it before the launch returns"
    )]
    WritesOn,
    #[error(
        "the memory of its output cannot be read: it would be computed when it is read; return memory that holds the output"
    )]
    Unreadable,
    #[error(
        "the memory of an argument cannot be written: the kernel has protected it, to run when the next values are put in; leave \
         the arguments' memory as it is"
    )]
    Unwritable,
    #[error("the kernel wrote out of bounds: {bytes} B, {distance} B {side} the storage of its input `{name}`")]
    OutOfBounds { bytes: u64, distance: u64, side: &'static str, name: String },
}

impl CallError {
    /// A file that could be mapped but not read.
    pub fn unreadable(path: &Path, source: io::Error) -> Self {
        Self::Map(MapError::Io { path: path.to_owned(), source })
    }

    /// Whether the process cannot use the device any more.
    pub fn is_fault(&self) -> bool {
        matches!(self, Self::Gpu(error) if error.is_fault())
    }

    /// The error as a message about the call `index` of the request `id`.
    pub fn reply(&self, id: u64, index: Option<usize>) -> Reply {
        let kind = match self {
            Self::Input(_) | Self::Map(_) => FailureKind::Input,
            Self::Kernel(error) => Failure::from(error.clone()).kind,
            Self::Outputs { .. } | Self::Addresses(_) => FailureKind::HostOom,
            Self::Clock(_) | Self::NoGraph(_) => FailureKind::Unsupported,
            Self::Late(_) | Self::Unordered | Self::WritesOn | Self::Gpu(GpuError::Unjoined) => FailureKind::LateWrite,
            Self::Gpu(GpuError::OutOfMemory { .. }) => FailureKind::DeviceOom,
            Self::Gpu(error) if error.is_fault() => FailureKind::DeviceFault,
            Self::Gpu(_) => FailureKind::Exception,
            Self::Idle | Self::Partial | Self::Kept { .. } | Self::Stopped => FailureKind::StaleOutput,
            Self::OutOfBounds { .. } | Self::Unwritable => FailureKind::MutatedInput,
            Self::Unreadable => FailureKind::NotATensor,
        };
        Reply::Error { id: Some(id), index, kind: kind.into(), message: self.to_string(), detail: None }
    }
}

impl From<MeasureError<KernelError>> for CallError {
    fn from(error: MeasureError<KernelError>) -> Self {
        match error {
            MeasureError::Launch(error) => error.into(),
            MeasureError::Clock(error) => error.into(),
        }
    }
}
