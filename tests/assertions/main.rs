//! Blocks with asserted limits, in a program that uses the system's allocator.
//!
//! In a process with several tests, each block has its test run alone, in its own process.

mod blocks;
mod figures;
mod messages;
mod neighbours;

use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};

use memmap2::MmapMut;
use plimsoll::bytes::MIB;

/// Memory that is resident until it is dropped. The system's allocator would keep some freed memory for later, and
/// reuse it.
fn touch(mib: u64) -> MmapMut {
    let mut memory = MmapMut::map_anon((mib * MIB) as usize).unwrap();
    black_box(&mut memory).fill(1);
    memory
}

/// The panic message of `work`.
fn panic_of<T>(work: impl FnOnce() -> T) -> String {
    let panic = catch_unwind(AssertUnwindSafe(work)).err().expect("it does not panic");
    *panic.downcast::<String>().expect("a formatted message")
}
