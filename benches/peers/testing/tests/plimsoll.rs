use plimsoll::assert_memory;
use plimsoll_bench_testing::{FILE, checksum, file};

#[global_allocator]
static ALLOCATOR: plimsoll::alloc::Tracking = plimsoll::alloc::Tracking::new();

#[test]
fn a_file_is_summed_in_pieces() {
    let path = file();
    let sum = assert_memory!(peak_rss_growth <= "16 MiB", peak_heap <= "16 MiB", allocations <= 4, {
        checksum(&path).unwrap()
    });
    assert_eq!(sum, FILE as u64);
}
