//! The work in a block of both kinds of ceilings.

#[global_allocator]
static ALLOCATOR: plimsoll::alloc::Tracking = plimsoll::alloc::Tracking::new();

fn main() {
    plimsoll_bench_testing::timed(|work| {
        plimsoll::assert_memory!(peak_rss_growth <= "1 GiB", peak_heap <= "1 GiB", { work() });
    });
}
