//! Kernels, the calls that they are given and the buffers that they fill.
//!
//! A [`Kernel`] reports the shape of its outputs ([`Kernel::outputs`]), the caller provides the memory
//! ([`OutputBuffer`], poisoned if the launch is to be checked), and the kernel fills it ([`Kernel::launch`]). Inputs
//! are read in place from the storages of a [`Call`], which are mapped files: a kernel never writes to them. An
//! [`Operator`] is a kernel that returns tensors of its own, as PyTorch's do. A [`KernelSpec`] is the name under which
//! a user asks for a kernel; [`Builtin`] kernels and those of a shared [`library`] run in this process.

pub mod builtin;
mod call;
mod device_call;
mod error;
mod launch;
pub mod library;
mod operator;
mod output;
mod reference;
mod spec;

pub(crate) use builtin::table;
pub use builtin::{Builtin, looked_up};
pub use call::{Call, CapturedOutput};
pub use device_call::{DeviceCall, DeviceRange};
pub use error::KernelError;
pub use launch::{Kernel, KernelIdentity, Launch, file_digest};
pub use operator::{Elements, Evaluation, Given, GivenValue, Operator};
pub use output::OutputBuffer;
pub use reference::Reference;
pub use spec::{DEFAULT_FUNCTION, KernelSpec, ParseKernelSpecError, SpecError, operator_of_torch};
