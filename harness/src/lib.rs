//! What every worker of `plimsoll` is made of: the protocol that it speaks with its supervisor, and the loop that serves it.
//!
//! The `plimsoll` command is its own worker for built-in kernels and shared libraries; `plimsoll-torch-worker`
//! (`harness/torch`) is one that libtorch is linked into.
//!
//! `supervisor` is the other side: a test gives a [`Check`](plimsoll::run::Check) a kernel that runs in workers, and does
//! without the command line what `plimsoll check` does.
//!
//! | feature | holds | for |
//! |---|---|---|
//! | always | [`protocol`], [`worker`] | a worker of one's own |
//! | `supervisor` | `supervisor`, `signals`, `confine` | isolated checks in tests |
//! | `command` (default) | the program `plimsoll` | the command line |

#[cfg(feature = "supervisor")]
pub mod confine;
pub mod protocol;
#[cfg(feature = "supervisor")]
pub mod signals;
#[cfg(feature = "supervisor")]
pub mod supervisor;
pub mod worker;
