//! Blocks beside other tests of their process: a neighbour's memory does not count.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use plimsoll::assert::MemoryGuard;
use plimsoll::assert_memory;

use super::touch;

/// Runs fixtures of these names in parallel under libtest: whether they passed, and their output.
fn run(names: &[&str]) -> (bool, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(names.iter().map(|name| format!("neighbours::{name}")));
    command.args(["--exact", "--include-ignored", "--test-threads=4"]).env_remove("RUST_BACKTRACE");
    // A single name would run in a process of its own already.
    command.arg("neighbours::idle");
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].map(|stream| String::from_utf8_lossy(&stream).into_owned()).concat();
    (output.status.success(), text)
}

/// The progress of the quiet test and its neighbour: nothing, a block has begun, the neighbour has its memory, the
/// block ends.
static STAGE: AtomicU32 = AtomicU32::new(0);

fn await_stage(stage: u32) {
    let began = Instant::now();
    while STAGE.load(Ordering::SeqCst) < stage && began.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether the test runs in the process that was started to measure it.
fn is_alone() -> bool {
    std::env::var_os("PLIMSOLL_BLOCKS").is_some()
}

#[test]
#[ignore = "a fixture"]
fn idle() {}

#[test]
#[ignore = "a fixture"]
fn noisy() {
    await_stage(1);
    let _held = touch(64);
    let mut child = Command::new("sleep").arg("60").spawn().unwrap();
    STAGE.store(2, Ordering::SeqCst);
    await_stage(3);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
#[ignore = "a fixture"]
fn quiet() {
    let took = assert_memory!(peak_rss_growth <= "8 MiB", retained_rss <= "8 MiB", {
        STAGE.store(1, Ordering::SeqCst);
        if !is_alone() {
            await_stage(2);
        }
        touch(4).len()
    });
    STAGE.store(3, Ordering::SeqCst);
    assert_eq!(took, 4 << 20);
    // The measurement from there is returned here.
    let guard = MemoryGuard::begin("peak_rss_growth = 64 MiB".parse::<plimsoll::assert::Limits>().unwrap());
    drop(touch(24));
    let measured = guard.finish();
    let read = measured.verdicts[0].reading.as_ref().unwrap().bytes.bytes() >> 20;
    assert!((23..30).contains(&read), "{measured}");
}

#[test]
#[ignore = "a fixture"]
#[should_panic(expected = "above its ceiling of 8.00 MiB")]
fn breaks() {
    assert_memory!(peak_rss_growth <= "8 MiB", { touch(32) });
}

#[test]
#[ignore = "a fixture"]
fn on_another_thread() {
    let block = || assert_memory!(peak_rss_growth <= "8 MiB", {});
    for name in [None, Some("worker")] {
        let thread = std::thread::Builder::new();
        let thread = name.into_iter().fold(thread, |thread, name| thread.name(String::from(name)));
        assert!(thread.spawn(block).unwrap().join().is_err());
    }
}

#[test]
#[ignore = "a fixture"]
fn dies() {
    assert_memory!(peak_rss_growth <= "8 MiB", {
        println!("its last words");
        if is_alone() {
            std::process::abort();
        }
    });
}

#[test]
fn what_neighbours_take_counts_for_nothing() {
    let (passed, text) = run(&["noisy", "quiet", "breaks"]);
    assert!(passed && text.contains("4 passed"), "{text}");
}

#[test]
fn a_block_that_cannot_be_measured_says_why() {
    let (passed, text) = run(&["on_another_thread"]);
    assert!(passed, "{text}");
    let (passed, text) = run(&["dies"]);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!passed && words.contains("peak_rss_growth is not measurable"), "{text}");
    for part in [
        "the process that ran `neighbours::dies` alone was killed by SIGABRT",
        "its last words",
        "write `#[plimsoll::test]`",
    ] {
        assert!(words.contains(part), "{part}: {text}");
    }
}
