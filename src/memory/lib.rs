//! Memory of processes and the system, limits on it, and tests that assert them.
//!
//! Modules in layers, each using only those above it in this list:
//! - [`bytes`]: amounts with their unit in the type. [`text`]: tables and words for a terminal.
//! - [`alloc`]: exact figures of the heap, from an allocator that counts.
//! - [`meter`]: memory of processes and the system. [`ceiling`]: limits on it, their verdicts, and proposals for them.
//! - [`command`]: a command's process tree under the meter, its ceilings enforced, its end typed.
//! - [`assert`](mod@assert): ceilings in tests, of a block or of a whole test, and the message of a broken one.
//!
//! Use this package through `plimsoll`, whose default features are what stands here.

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
