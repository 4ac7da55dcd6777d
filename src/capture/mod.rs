//! Captures: folders of `entry_*.pt` files, each one call of an operator.

mod argument;
mod dtype;
mod signature;
pub mod synthesize;
mod tensor;
pub mod write;

pub use argument::{Argument, TensorRef};
pub use dtype::{Dtype, DtypeKind, ParseDtypeError};
pub use signature::Signature;
pub use tensor::{Layout, OutsideStorage, TensorSpec, TensorView};
