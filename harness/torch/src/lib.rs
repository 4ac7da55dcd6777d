//! PyTorch's own operators as kernels: `torch:NAME`.
//!
//! A captured call names a function of Python. [`functional`] says which operator of libtorch computes it, on which
//! arguments: for most functions the operator of the same name, on the same arguments, which is decided by its schema
//! alone; for those that torch.nn.functional computes in Python before, by a rule. `TorchOperator` (feature `tch`) calls it
//! through libtorch's dispatcher, on tensors that view the captured storages where they are mapped.

#[cfg(feature = "tch")]
mod device;
#[cfg(feature = "tch")]
mod dispatch;
pub mod functional;
#[cfg(feature = "tch")]
mod operator;

#[cfg(feature = "tch")]
pub use operator::{TorchOnDevice, TorchOperator, version};
