//! [`Settings`]: how the workers of all kernels of a check are run.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use plimsoll::defaults;
use plimsoll::gpu::DeviceFacts;

use super::crew::Crew;
use crate::signals::Cancel;

/// The GPU that a kernel is launched on.
#[derive(Clone)]
pub struct OnGpu {
    /// The device.
    pub facts: DeviceFacts,
    /// Whether replays of a CUDA graph are timed.
    pub graph: bool,
}

/// How workers are run: the program, its limits, the device.
#[derive(Clone)]
pub struct Settings {
    /// The program `plimsoll`.
    pub program: PathBuf,
    /// The Python of `py:` kernels; absent if none is named.
    pub python: Option<PathBuf>,
    /// Whether that Python also runs operators of PyTorch.
    pub torch_in_python: bool,
    /// The longest that one launch may take.
    pub timeout: Duration,
    /// The device of launches; absent for the CPU.
    pub gpu: Option<OnGpu>,
    /// Whether timed launches are audited.
    pub audit: bool,
    /// Files that untrusted kernels must not reach; absent for kernels with the rights of their user.
    pub hidden: Option<Vec<PathBuf>>,
    pub cancel: Cancel,
    /// The workers of this process, if it starts nothing else.
    pub crew: Option<Arc<Crew>>,
    /// Files of the kernel, named by the user.
    pub sources: Vec<PathBuf>,
}

impl Settings {
    /// The Python of `py:` kernels.
    pub fn python_or_default(&self) -> PathBuf {
        let python = self.python.clone().unwrap_or_else(|| PathBuf::from(defaults::PYTHON));
        // An untrusted worker starts in a folder of its own. A bare name is looked for in the PATH.
        let named = python.components().nth(1).is_some();
        if named { std::path::absolute(&python).unwrap_or(python) } else { python }
    }
}
