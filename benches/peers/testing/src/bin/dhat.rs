//! The work under dhat in testing mode.

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

fn main() {
    plimsoll_bench_testing::timed(|work| {
        let _profiler = dhat::Profiler::builder().testing().build();
        work();
        let stats = dhat::HeapStats::get();
        dhat::assert!(stats.max_bytes <= 1 << 30);
    });
}
