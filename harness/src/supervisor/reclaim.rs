//! Checks that the memory of a finished worker is back with the system.

use std::time::Duration;

use plimsoll::ByteSize;
use plimsoll::meter::SystemMemory;

/// How far MemAvailable may stay below its earlier value: other programs, and the kernel's page tables and caches,
/// change it by that much from one moment to the next.
pub const TOLERANCE: ByteSize = ByteSize::mib(64);
/// How long MemAvailable is waited for.
pub const WAIT_FOR_MEMORY: Duration = Duration::from_secs(2);

/// MemAvailable now; `None` if it cannot be read.
pub fn available() -> Option<ByteSize> {
    SystemMemory::read().ok().and_then(|memory| memory.available)
}
