//! What every worker of `plimsoll` is made of: the protocol that it speaks with its supervisor, and the loop that serves it.
//!
//! The `plimsoll` command is its own worker for built-in kernels and shared libraries; `plimsoll-torch-worker`
//! (`harness/torch`) is one that libtorch is linked into.

pub mod protocol;
pub mod worker;
