//! The counting allocator in its usual place: around all allocations of this program.

mod asserts;
mod model;
mod process;
mod thread;

use plimsoll::alloc::Tracking;

#[global_allocator]
static ALLOCATOR: Tracking = Tracking::new();
