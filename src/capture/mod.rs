//! Captures: folders of `entry_*.pt` files, each one call of an operator.

mod argument;
mod dtype;
mod tensor;

pub use argument::{Argument, TensorRef};
pub use dtype::{Dtype, DtypeKind, ParseDtypeError};
pub use tensor::{Layout, OutsideStorage, TensorSpec, TensorView};
