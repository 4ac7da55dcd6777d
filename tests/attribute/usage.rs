//! Passing tests as users write them.

use std::io::Read;
use std::process::Command;

use plimsoll::ByteSize;

use super::fixture::{command, ran, run};
use super::fixtures::allocate;

/// Documented as any other function.
#[plimsoll::test(peak_rss = "512 MiB", swap_growth = "0 B", timeout = "300 s")]
fn a_body_runs_in_a_process_of_its_own() {
    let parent = rustix::process::getppid().unwrap().as_raw_nonzero();
    let program = |pid: i32| std::fs::read_link(format!("/proc/{pid}/exe")).unwrap();
    assert_eq!(program(parent.get()), program(std::process::id() as i32), "its parent is the test binary");
    assert_eq!(std::thread::current().name(), Some("usage::a_body_runs_in_a_process_of_its_own"));
    assert_eq!(std::io::stdin().read(&mut [0]).unwrap(), 0, "its input is empty");
}

#[plimsoll::test(peak_anon_growth = "48 MiB", retained_anon = "4 MiB")]
fn errors_go_through_the_question_mark() -> plimsoll::Result<()> {
    let amount: ByteSize = "32 MiB".parse()?;
    assert_eq!(allocate(32).len() as u64, amount.bytes());
    Ok(())
}

#[plimsoll::test]
#[should_panic(expected = "index out of bounds")]
fn a_panic_that_is_expected() {
    let none: &[u8] = std::hint::black_box(&[]);
    let _ = none[0];
}

#[tokio::test]
#[plimsoll::test(peak_rss = "512 MiB")]
async fn an_async_body_below_its_runtime() -> Result<(), std::io::Error> {
    tokio::task::yield_now().await;
    Ok(())
}

#[plimsoll::test(peak_rss = "512 MiB")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_async_body_above_its_runtime() {
    assert_eq!(tokio::spawn(async { 7 }).await.unwrap(), 7);
}

#[plimsoll::test(allocations = 1, allocated = "4 KiB", peak_heap = "4 KiB", retained_heap = "0 B")]
fn the_heap_is_counted_to_the_byte() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(4096)));
}

#[plimsoll::test(peak_rss = "280 MiB")]
fn a_small_child_of_a_large_body_is_not_taken_for_large() {
    let held = allocate(200);
    for _ in 0..20 {
        assert!(Command::new("true").status().unwrap().success());
    }
    drop(held);
}

#[test]
fn a_test_of_a_large_test_binary_is_not_taken_for_large() {
    // This process is the fixture's grandparent, whose memory both processes below it had before exec.
    let held = allocate(300);
    run("small_beside_large").passes();
    drop(held);
}

#[test]
fn a_neighbour_raises_no_alarm() {
    let mut both = command("small_beside_large", &["--test-threads=8"]);
    both.arg("fixtures::large_beside_small");
    ran(both.output().unwrap()).passes().says("2 passed");
}

#[test]
fn what_a_body_prints_is_shown_as_the_test_harness_is_told() {
    run("holds").passes().does_not_say("printed by the body");
    let ran_with = |argument| ran(command("holds", &[argument]).output().unwrap()).passes();
    for argument in ["--nocapture", "--show-output"] {
        let ran = ran_with(argument).says("printed by the body\n").says("complained by the body\n");
        // The output of the inner test harness may appear once.
        assert_eq!(ran.text.matches("running 1 test").count(), 1, "{}", ran.text);
        assert_eq!(ran.text.matches("test result").count(), 1, "{}", ran.text);
    }
    ran(command("prints_what_is_no_text", &["--nocapture"]).output().unwrap()).passes().says("before \u{fffd} after\n");
}

#[test]
fn an_ignored_test_is_ignored() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    ran(command.args(["fixtures::panics", "--exact"]).output().unwrap()).passes().says("1 ignored");
}
