//! After a worker: its memory is back with the system.

use std::time::Duration;

use plimsoll::ByteSize;
use plimsoll::meter::SystemMemory;

/// How far below what it was MemAvailable may stay: other programs, and the page tables and caches of the kernel, move it
/// by as much from one moment to the next.
pub const TOLERANCE: ByteSize = ByteSize::mib(64);
/// How long MemAvailable is waited for.
pub const WAIT_FOR_MEMORY: Duration = Duration::from_secs(2);

/// MemAvailable now; `None` if it cannot be read.
pub fn available() -> Option<ByteSize> {
    SystemMemory::read().ok().and_then(|memory| memory.available)
}
