//! The counting allocator in the place where it belongs: before everything that this program allocates.

mod asserts;
mod model;
mod process;
mod thread;

use plimsoll::alloc::Tracking;

#[global_allocator]
static ALLOCATOR: Tracking = Tracking::new();
