//! The work in a block whose ceilings the kernel's figures judge.

fn main() {
    plimsoll_bench_testing::timed(|work| {
        plimsoll::assert_memory!(peak_rss_growth <= "1 GiB", retained_rss <= "1 GiB", { work() });
    });
}
