use plimsoll_bench_testing::{FILE, checksum, file};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

#[test]
fn a_file_is_summed_in_pieces() {
    let path = file();
    let _profiler = dhat::Profiler::builder().testing().build();
    let sum = checksum(&path).unwrap();
    let stats = dhat::HeapStats::get();
    dhat::assert!(stats.max_bytes <= 16 << 20);
    dhat::assert!(stats.total_blocks <= 4);
    assert_eq!(sum, FILE as u64);
}
