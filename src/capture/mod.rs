//! Captures: folders of `entry_*.pt` files, each one call of an operator.

mod argument;
pub mod batch;
mod dtype;
mod residency;
mod signature;
#[cfg(any(test, feature = "proptest"))]
pub mod strategies;
pub mod synthesize;
mod tensor;
pub mod write;

pub use argument::{Argument, TensorRef};
pub use dtype::{Dtype, DtypeKind, ParseDtypeError};
pub use residency::{Residency, StorageId};
pub use signature::Signature;
pub use tensor::{Layout, OutsideStorage, TensorSpec, TensorView};
