//! PyTorch's own operators as kernels: `torch:NAME`.
//!
//! A captured call names a function of Python. [`functional`] finds the operator of libtorch that computes it, and its
//! arguments: for most functions the operator with the same name, on the same arguments, decided by its schema alone;
//! for functions that torch.nn.functional first processes in Python, by a rule. `TorchOperator` (feature `tch`) calls
//! it through libtorch's dispatcher, on tensors that view the mapped storages in place.

#[cfg(feature = "tch")]
mod device;
#[cfg(feature = "tch")]
mod dispatch;
pub mod functional;
#[cfg(feature = "tch")]
mod operator;

#[cfg(feature = "tch")]
pub use operator::{TorchOnDevice, TorchOperator, version};
