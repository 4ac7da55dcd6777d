//! Checks that the memory of a finished worker is back with the system.

use std::time::Duration;

use plimsoll::ByteSize;

/// How far the available memory may stay below its earlier value: other programs, and the kernel's page tables and caches,
/// change it by that much from one moment to the next.
pub const TOLERANCE: ByteSize = ByteSize::mib(64);
/// How long the available memory is waited for.
pub const WAIT_FOR_MEMORY: Duration = Duration::from_secs(2);
