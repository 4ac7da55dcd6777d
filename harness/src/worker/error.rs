//! [`CallError`]: why a call gave no result.

use std::io;
use std::path::Path;

use plimsoll::capture::CaptureError;
use plimsoll::kernel::KernelError;
use plimsoll::record::{Failure, FailureKind};
use plimsoll::timing::{ClockError, MeasureError};

use super::private::MapError;
use crate::protocol::{ErrorKind, Reply};

/// Why a call gave no result.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error(transparent)]
    Input(#[from] CaptureError),
    #[error(transparent)]
    Map(#[from] MapError),
    #[error(transparent)]
    Kernel(#[from] KernelError),
    #[error("{bytes} bytes for outputs cannot be had: {source}")]
    Outputs { bytes: usize, source: io::Error },
    #[error("addresses for the inputs cannot be had: {0}")]
    Addresses(io::Error),
    #[error(transparent)]
    Clock(#[from] ClockError),
    #[error(
        "launched once more on the buffers that were timed, the kernel wrote nothing to its output, and on others it did"
    )]
    Idle,
}

impl CallError {
    /// A file that could be mapped, and not be read.
    pub fn unreadable(path: &Path, source: io::Error) -> Self {
        Self::Map(MapError::Io { path: path.to_owned(), source })
    }

    /// The error as a message about the call `index` of the request `id`.
    pub fn reply(&self, id: u64, index: Option<usize>) -> Reply {
        let kind = match self {
            Self::Input(_) | Self::Map(_) => ErrorKind::Input,
            Self::Kernel(error) => match Failure::from(error.clone()).kind {
                FailureKind::Unsupported => ErrorKind::Unsupported,
                FailureKind::HostOom => ErrorKind::HostOom,
                _ => ErrorKind::Exception,
            },
            Self::Outputs { .. } | Self::Addresses(_) => ErrorKind::HostOom,
            Self::Clock(_) => ErrorKind::Unsupported,
            Self::Idle => ErrorKind::StaleOutput,
        };
        Reply::Error { id: Some(id), index, kind, message: self.to_string(), detail: None }
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
