//! Blocks that are asserted to stay within limits, in a program whose allocator is the system's.
//!
//! Among several tests of one process each block has its test run alone, in a process of its own.

mod blocks;
mod figures;
mod messages;
mod neighbours;

use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};

use memmap2::MmapMut;
use plimsoll::bytes::MIB;

/// Memory that is resident until it is dropped. The system's allocator would keep some of what is freed for later, and
/// take some of what is wanted from what it kept.
fn touch(mib: u64) -> MmapMut {
    let mut memory = MmapMut::map_anon((mib * MIB) as usize).unwrap();
    black_box(&mut memory).fill(1);
    memory
}

/// What `work` panics with.
fn panic_of<T>(work: impl FnOnce() -> T) -> String {
    let panic = catch_unwind(AssertUnwindSafe(work)).err().expect("it does not panic");
    *panic.downcast::<String>().expect("a formatted message")
}
