//! Tests that others run and judge. They are ignored because most of them fail on purpose.

use std::hint::black_box;
use std::process::Command;
use std::time::Duration;

use plimsoll::ByteSize;
use plimsoll::bytes::MIB;

/// Memory that is really resident.
pub fn allocate(mib: u64) -> Vec<u8> {
    black_box(vec![1u8; (mib * MIB) as usize])
}

/// An amount chosen by the test that runs a fixture.
fn chosen(name: &str) -> u64 {
    std::env::var(name).map_or(0, |bytes| bytes.parse().unwrap())
}

#[plimsoll::test(peak_rss = "256 MiB", swap_growth = "0 B", timeout = "60 s")]
#[ignore = "a fixture"]
fn holds() {
    println!("printed by the body");
    eprintln!("complained by the body");
    assert_eq!(allocate(8).len(), 8 << 20);
}

#[plimsoll::test]
#[ignore = "a fixture"]
fn panics() {
    println!("printed before the panic");
    assert_eq!(1 + 1, 3, "sums are wrong");
}

#[plimsoll::test]
#[ignore = "a fixture"]
fn returns_an_error() -> Result<(), std::num::ParseIntError> {
    "seven".parse::<u32>().map(drop)
}

#[plimsoll::test]
#[ignore = "a fixture"]
#[should_panic(expected = "sums are wrong")]
fn panics_as_expected() {
    assert_eq!(1 + 1, 3, "sums are wrong");
}

#[plimsoll::test]
#[ignore = "a fixture"]
#[should_panic(expected = "something else")]
fn panics_otherwise_than_expected() {
    panic!("sums are wrong");
}

#[plimsoll::test]
#[ignore = "a fixture"]
#[should_panic]
fn does_not_panic() {}

#[plimsoll::test(peak_rss = "32 MiB")]
#[ignore = "a fixture"]
#[should_panic]
fn panics_and_breaks_a_ceiling() {
    let _held = allocate(64);
    panic!("as expected");
}

#[plimsoll::test]
#[ignore = "a fixture"]
#[should_panic]
fn exits_where_it_should_panic() {
    std::process::exit(101);
}

#[plimsoll::test(peak_rss = "48 MiB", retained_rss = "8 MiB", peak_anon_growth = "1 GiB")]
#[ignore = "a fixture"]
fn breaks_ceilings() {
    plimsoll::phase("load");
    drop(allocate(64));
    plimsoll::phase("keep");
    std::mem::forget(allocate(16));
}

#[plimsoll::test(peak_rss = "32 MiB")]
#[ignore = "a fixture"]
fn panics_past_a_ceiling() {
    let _held = allocate(64);
    panic!("of its own");
}

const LIMIT: ByteSize = ByteSize::mib(32);
const BYTES: u64 = 32 << 20;

#[plimsoll::test(peak_rss = LIMIT, peak_anon = BYTES, peak_rss_growth = 16 * MIB)]
#[ignore = "a fixture"]
fn breaks_limits_that_are_expressions() {
    allocate(64);
}

#[plimsoll::test(peak_heap = "8 MiB", retained_heap = "0 B", allocations = 3, allocated = "1 GiB")]
#[ignore = "a fixture"]
fn breaks_ceilings_of_the_heap() {
    plimsoll::phase("allocate");
    let kept: Vec<Vec<u8>> = (0..4).map(|_| vec![1; 4 << 20]).collect();
    std::mem::forget(kept);
}

#[plimsoll::test(gpu_peak = "1 GiB")]
#[ignore = "a fixture"]
fn limits_what_cannot_be_measured() {}

#[plimsoll::test(peak_rss = "1 GiB")]
#[ignore = "a fixture"]
fn is_killed_by_a_signal() {
    // SAFETY: there is no memory at this address, which is the point: the write ends the process.
    unsafe { std::ptr::with_exposed_provenance_mut::<u8>(8).write_volatile(1) };
}

#[plimsoll::test]
#[ignore = "a fixture"]
fn aborts() {
    std::process::abort();
}

#[plimsoll::test]
#[ignore = "a fixture"]
fn is_killed_by_another() {
    // SAFETY: kill takes two numbers.
    unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
}

#[plimsoll::test]
#[ignore = "a fixture"]
fn exits() {
    println!("printed before the exit");
    std::process::exit(0);
}

#[plimsoll::test]
#[ignore = "a fixture"]
fn closes_every_descriptor() {
    // SAFETY: the descriptors belong to the test harness and to the channel, which must cope.
    unsafe { libc::close_range(3, libc::c_uint::MAX, 0) };
}

#[plimsoll::test]
#[ignore = "a fixture"]
fn recurses_for_ever() {
    #[expect(unconditional_recursion, reason = "that is what it is for")]
    fn deeper(n: u64) -> u64 {
        black_box(deeper(black_box(n) + 1)) + 1
    }
    deeper(0);
}

#[plimsoll::test(timeout = "300 ms")]
#[ignore = "a fixture"]
fn hangs_with_a_child() {
    let mark = std::env::var("PLIMSOLL_FIXTURE_MARK").unwrap();
    let hangs = Command::new("sh").args(["-c", &format!("sleep {mark} & sleep {mark}")]).status();
    panic!("it ended: {hangs:?}");
}

#[plimsoll::test]
#[ignore = "a fixture"]
fn leaves_a_child() {
    let mark = std::env::var("PLIMSOLL_FIXTURE_MARK").unwrap();
    std::mem::forget(Command::new("sleep").arg(mark).spawn());
}

#[plimsoll::test(peak_rss = "64 MiB", enforce = true, sample_interval = "2 ms")]
#[ignore = "a fixture"]
fn grows_past_an_enforced_ceiling() {
    let mut held = Vec::new();
    loop {
        held.push(allocate(8));
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[plimsoll::test(peak_rss = "64 MiB")]
#[ignore = "a fixture"]
fn small_beside_large() {
    allocate(16);
}

#[plimsoll::test(peak_rss = "1 GiB")]
#[ignore = "a fixture"]
fn large_beside_small() {
    let held = allocate(300);
    std::thread::sleep(Duration::from_millis(300));
    drop(held);
}

#[plimsoll::test(peak_rss = ByteSize::new(chosen("PLIMSOLL_FIXTURE_LIMIT")))]
#[ignore = "a fixture"]
fn takes_what_is_chosen() {
    allocate(chosen("PLIMSOLL_FIXTURE_BYTES").div_ceil(MIB));
}

#[tokio::test]
#[plimsoll::test(peak_rss = "32 MiB")]
#[ignore = "a fixture"]
async fn breaks_a_ceiling_below_tokio() {
    tokio::task::yield_now().await;
    allocate(64);
}

#[plimsoll::test(peak_rss = "32 MiB")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a fixture"]
async fn breaks_a_ceiling_above_tokio() {
    tokio::spawn(async { allocate(64).len() }).await.unwrap();
}

#[plimsoll::test]
#[tokio::test]
#[ignore = "a fixture"]
#[should_panic(expected = "awaited in vain")]
async fn panics_above_tokio() {
    tokio::task::yield_now().await;
    panic!("awaited in vain");
}

#[plimsoll::test]
#[ignore = "a fixture"]
fn prints_what_is_no_text() {
    use std::io::Write;
    std::io::stdout().write_all(b"before \xff after\n").unwrap();
}
