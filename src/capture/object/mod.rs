//! The meaning of the nodes of a pickle: tensors, dtypes, devices, sets, NumPy's scalars.
//!
//! A fixed list of names is known ([`rebuild`] has those that create tensors, [`value`] the rest). Any other object is
//! an opaque value with the name of its class, and does not affect its neighbours. Every layout is checked here against
//! its storage, with checked arithmetic, so that callers need not.

mod children;
mod dtypes;
mod numpy;
mod persistent;
mod rebuild;
mod repr;
mod tensor;
mod value;

pub(super) use children::{Children, Step};
pub(super) use dtypes::{storage_class, swap_width};
pub(super) use persistent::{Claim, Locate, LocateError, Located, StorageClaim, claim};
pub(super) use rebuild::Objects;
pub use tensor::TensorItem;
pub(super) use tensor::{Tensor, TensorKind};
pub use value::ItemValue;
pub(super) use value::value;
