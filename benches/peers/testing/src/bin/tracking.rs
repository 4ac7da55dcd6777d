//! The work in a block whose ceilings the counting allocator judges.

#[global_allocator]
static ALLOCATOR: plimsoll::alloc::Tracking = plimsoll::alloc::Tracking::new();

fn main() {
    plimsoll_bench_testing::timed(|work| {
        plimsoll::assert_memory!(peak_heap <= "1 GiB", retained_heap <= "1 MiB", { work() });
    });
}
