//! Memory of processes and the system, limits on it, and tests that check them.
//!
//! Modules in layers, each using only those above it in this list:
//! - [`bytes`]: amounts with the unit in the type. [`text`]: tables and words for a terminal.
//! - [`alloc`]: exact heap figures from a counting allocator.
//! - [`meter`]: memory of processes and the system. [`ceiling`]: limits on it, their verdicts, and proposals for them.
//! - [`command`]: runs a command's process tree under the meter, enforces its ceilings, and reports how it ended.
//! - [`assert`](mod@assert): ceilings in tests, for a block or for a whole test, and the failure message.
//!
//! Use this package through `plimsoll`, whose default features are this package's contents.

pub mod alloc;
pub mod assert;
pub mod bytes;
pub mod ceiling;
pub mod command;
pub mod meter;
mod nanoseconds;
#[cfg(feature = "schema")]
pub mod schema;
mod socket;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod testing;
pub mod text;
mod thread;

pub use assert::phase;
pub use bytes::ByteSize;
pub use nanoseconds::nanoseconds;
