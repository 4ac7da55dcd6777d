//! Runs a test of `fixtures` in this test binary as a user would.

use std::process::{Command, Output};

/// The result of one fixture.
pub struct Ran {
    pub passed: bool,
    /// Both streams of the test binary.
    pub text: String,
}

/// The command that runs `fixtures::NAME` with further arguments of the test harness.
pub fn command(name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([&format!("fixtures::{name}"), "--exact", "--include-ignored"]).args(arguments);
    // Settings of the surrounding run must not reach the fixtures.
    for variable in ["RUST_BACKTRACE", "RUST_TEST_NOCAPTURE", "RUST_TEST_THREADS", "PLIMSOLL_RECORD_DIR"] {
        command.env_remove(variable);
    }
    command
}

pub fn run(name: &str) -> Ran {
    ran(command(name, &[]).output().unwrap())
}

pub fn ran(output: Output) -> Ran {
    let text = [&output.stdout, &output.stderr].map(|stream| String::from_utf8_lossy(stream).into_owned()).concat();
    Ran { passed: output.status.success(), text }
}

impl Ran {
    #[track_caller]
    pub fn passes(self) -> Self {
        assert!(self.passed, "{}", self.text);
        self
    }

    #[track_caller]
    pub fn fails(self) -> Self {
        assert!(!self.passed, "{}", self.text);
        self
    }

    #[track_caller]
    pub fn says(self, what: &str) -> Self {
        assert!(self.text.contains(what), "`{what}` is not in\n{}", self.text);
        self
    }

    #[track_caller]
    pub fn does_not_say(self, what: &str) -> Self {
        assert!(!self.text.contains(what), "`{what}` is in\n{}", self.text);
        self
    }
}
