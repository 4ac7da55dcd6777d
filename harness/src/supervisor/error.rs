//! [`NoLauncher`]: why no worker can be started for a kernel.

use std::io;

use plimsoll::kernel::{KernelSpec, SpecError};

/// The worker of `torch:` kernels, a separate program because only it needs libtorch.
pub(super) const TORCH_WORKER: &str = "plimsoll-torch-worker";
/// The environment variable with that program's file.
pub(super) const TORCH_WORKER_VARIABLE: &str = "PLIMSOLL_TORCH_WORKER";

/// The program that serves workers of built-in kernels and shared libraries.
pub(super) const PROGRAM: &str = "plimsoll";
/// The environment variable with that program's file.
pub(crate) const PROGRAM_VARIABLE: &str = "PLIMSOLL_WORKER";

/// Why no worker could be started for a kernel.
#[derive(Debug, thiserror::Error)]
pub enum NoLauncher {
    /// The kernel cannot be loaded.
    #[error(transparent)]
    Kernel(#[from] SpecError),
    /// The worker's files cannot be made.
    #[error(transparent)]
    Files(#[from] io::Error),
    /// The worker is not installed.
    #[error(transparent)]
    NotInstalled(#[from] NoTorchWorker),
    /// The program that serves workers is not installed.
    #[error(transparent)]
    NoProgram(#[from] NoProgram),
    /// A requirement of the worker or the kernel is missing.
    #[error("{0}")]
    Absent(String),
}

/// There is no program for `torch:` kernels. The message is [`missing`](Self::missing) and [`remedy`](Self::remedy),
/// one line each.
#[derive(Debug, thiserror::Error)]
#[error("{}\n{}", self.missing(), self.remedy())]
pub struct NoTorchWorker {
    pub(super) kernel: KernelSpec,
    pub(super) looked: String,
}

impl NoTorchWorker {
    /// What is missing, and where it was searched.
    pub fn missing(&self) -> String {
        format!("{} needs {TORCH_WORKER}, but there is none {}", self.kernel, self.looked)
    }

    /// The command that installs it.
    pub fn remedy(&self) -> &'static str {
        "install it from Plimsoll's sources: pip install torch==2.11.0 && \
         LIBTORCH_USE_PYTORCH=1 cargo install --path harness/torch --features tch"
    }
}

/// There is no program that serves workers.
#[derive(Debug, thiserror::Error)]
#[error(
    "isolated kernels run in the program `{PROGRAM}`, which was not found {looked}: `cargo install --path harness` in Plimsoll's \
     sources, or name its file in {PROGRAM_VARIABLE}"
)]
pub struct NoProgram {
    pub(super) looked: String,
}
