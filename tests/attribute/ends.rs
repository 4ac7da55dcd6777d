//! The end of a body determines the end of its test.

use super::fixture::{command, ran, run};

#[test]
fn a_panic_is_the_tests_own() {
    run("panics")
        .fails()
        .says("thread 'fixtures::panics'")
        .says("sums are wrong")
        .says("tests/attribute/fixtures.rs:")
        .says("printed before the panic")
        .does_not_say("isolated");
}

#[test]
fn an_error_that_is_returned_fails_the_test() {
    run("returns_an_error").fails().says("Error: ParseIntError").says("the test returned an error");
}

#[test]
fn should_panic_is_held() {
    run("panics_as_expected").passes();
    run("panics_above_tokio").passes();
    run("panics_otherwise_than_expected").fails().says("panic did not contain expected string");
    run("does_not_panic").fails().says("did not panic as expected");
}

#[test]
fn a_broken_ceiling_fails_a_test_that_should_panic() {
    run("panics_and_breaks_a_ceiling")
        .fails()
        .says("above its ceiling of 32.00 MiB")
        .says("and the test panicked: as expected");
    run("exits_where_it_should_panic").fails().says("exited with code 101 before its body had ended");
}

#[test]
fn a_crash_is_told_by_its_signal() {
    run("is_killed_by_a_signal")
        .fails()
        .says("its process was killed by SIGSEGV (signal 11) before its body had ended");
    run("aborts").fails().says("SIGABRT (signal 6)");
    run("recurses_for_ever").fails().says("has overflowed its stack").says("SIGABRT (signal 6)");
    run("is_killed_by_another").fails().says("SIGKILL (signal 9): by another program or itself");
}

#[test]
fn an_exit_is_no_success() {
    run("exits")
        .fails()
        .says("its process exited with code 0 before its body had ended: did the test call `std::process::exit`?")
        .says("printed before the exit");
}

#[test]
fn a_body_that_closes_descriptors_is_told_so() {
    run("closes_every_descriptor").fails().says("does the body close descriptors?");
}

#[test]
fn a_timeout_ends_everything() {
    let mark = format!("83{}", std::process::id());
    let mut command = command("hangs_with_a_child", &[]);
    ran(command.env("PLIMSOLL_FIXTURE_MARK", &mark).output().unwrap())
        .fails()
        .says("ran longer than its timeout of 300ms and was killed");
    assert!(!runs(&mark));
}

#[test]
fn what_a_test_leaves_running_is_ended() {
    let mark = format!("82{}", std::process::id());
    let mut command = command("leaves_a_child", &[]);
    ran(command.env("PLIMSOLL_FIXTURE_MARK", &mark).output().unwrap()).passes();
    assert!(!runs(&mark));
}

/// Whether a `sleep` of this many seconds runs.
fn runs(seconds: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line.starts_with(b"sleep\0") && line.split(|&byte| byte == 0).any(|argument| argument == seconds.as_bytes())
    })
}
