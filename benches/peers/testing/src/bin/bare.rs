//! The work alone.

fn main() {
    plimsoll_bench_testing::timed(|work| work());
}
