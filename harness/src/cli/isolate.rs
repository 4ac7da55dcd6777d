//! `isolate`: runs one test of another runner in a process of its own. The pytest plugin starts it once per test.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;

use clap::Args;
use plimsoll::assert::isolated::{Isolated, Judgement};
use serde::Serialize;

use super::{Failed, NOT_MEASURABLE, USAGE};
use crate::replace::replace;
use crate::signals::Cancel;

#[derive(Args)]
pub struct Isolate {
    /// The project that the test belongs to
    #[arg(long)]
    package: String,

    /// The file or module that holds the test
    #[arg(long)]
    suite: String,

    /// The test, as its runner names it within the suite
    #[arg(long)]
    name: String,

    /// A ceiling, or `enforce`, `timeout`, `sample_interval`: NAME=VALUE
    #[arg(long, value_name = "NAME=VALUE")]
    argument: Vec<String>,

    /// Where the judgement goes
    #[arg(long, value_name = "FILE")]
    answer: PathBuf,

    /// The child of this process that will run the test: a copy of the parent that waits at the other side of standard
    /// input
    #[arg(long, value_name = "PID")]
    child: Option<u32>,

    /// The command that runs the test and reports its result at its standard input
    #[arg(required_unless_present = "child", conflicts_with = "child", trailing_var_arg = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// What the runner should do.
#[derive(Serialize)]
#[serde(tag = "judgement", rename_all = "snake_case")]
enum Answer {
    /// Every ceiling holds, and the body returned or was skipped.
    Passed,
    /// Every ceiling holds, and the body raised an exception.
    Raised,
    /// A ceiling is broken, or the process did not come to its end.
    Failed { message: String },
    /// The arguments are wrong; nothing was run.
    Refused { errors: Vec<String> },
    /// The child cannot be measured like a process of its own; nothing was run.
    Declined { reason: String },
}

impl From<Judgement> for Answer {
    fn from(judgement: Judgement) -> Self {
        match judgement {
            Judgement::Passed => Self::Passed,
            Judgement::Panicked(_) => Self::Raised,
            Judgement::Failed(message) => Self::Failed { message },
        }
    }
}

/// Runs the test and writes the judgement; 1 if it fails.
pub fn run(arguments: &Isolate) -> Result<u8, Failed> {
    // If the process that waits for the judgement is killed, the test is given up with all its processes.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))?;
    let cancel = Cancel::install()?;
    let mut test = plimsoll::assert::test(&arguments.package, &arguments.suite, &arguments.name);
    // Report all wrong arguments at once.
    let errors: Vec<String> = arguments.argument.iter().filter_map(|argument| take(&mut test, argument)).collect();
    let cancel = Some(cancel.fd());
    let answer = if !errors.is_empty() {
        Answer::Refused { errors }
    } else if let Some(pid) = arguments.child {
        let channel = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        match test.judge_fork(pid, channel, cancel) {
            Ok(judgement) => judgement.into(),
            Err(error) => Answer::Declined { reason: error.to_string() },
        }
    } else {
        let (program, rest) = arguments.command.split_first().expect("the parser asks for a command");
        let mut command = Command::new(program);
        command.args(rest);
        test.judge_command(command, cancel).into()
    };
    let code = match answer {
        Answer::Passed => 0,
        Answer::Raised | Answer::Failed { .. } => 1,
        Answer::Refused { .. } => USAGE,
        Answer::Declined { .. } => NOT_MEASURABLE,
    };
    replace(&arguments.answer, &serde_json::to_vec(&answer)?)?;
    Ok(code)
}

/// The error in an argument, if any.
fn take(test: &mut Isolated, argument: &str) -> Option<String> {
    let (name, value) = argument.split_once('=').unwrap_or((argument, ""));
    test.argument(name, value).err().map(|error| error.to_string())
}
