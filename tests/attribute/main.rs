//! `#[plimsoll::test]` keeps its promises under plain `cargo test` and nextest.

mod calibrated;
mod ends;
mod fixture;
mod fixtures;
mod judged;
mod regressions;
mod runners;
mod usage;
mod wrong;

use plimsoll::alloc::Tracking;

#[global_allocator]
static ALLOCATOR: Tracking = Tracking::new();
