//! From what a failed run left behind to what went wrong.
//!
//! [`snapshot`] reads memory snapshots of PyTorch's allocator.

pub mod snapshot;
