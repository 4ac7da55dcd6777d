//! The parts of every worker of `plimsoll`: the protocol with its supervisor, and the loop that serves it.
//!
//! The `plimsoll` command is its own worker for built-in kernels and shared libraries; `plimsoll-torch-worker`
//! (`harness/torch`) is a worker with libtorch linked in.
//!
//! `supervisor` is the other side: a test gives a [`Check`](plimsoll::run::Check) a kernel that runs in workers, and
//! does the work of `plimsoll check` without the command line.
//!
//! | feature | holds | for |
//! |---|---|---|
//! | always | [`protocol`], [`worker`] | a worker of one's own |
//! | `supervisor` | `supervisor`, `keep`, `signals`, `confine` | isolated checks in tests |
//! | `command` (default) | the program `plimsoll` | the command line |

#[cfg(feature = "supervisor")]
pub mod confine;
#[cfg(feature = "supervisor")]
pub mod keep;
pub mod protocol;
#[cfg(feature = "supervisor")]
pub mod signals;
#[cfg(feature = "supervisor")]
pub mod supervisor;
pub mod worker;
