//! The `plimsoll` command: arguments, supervisor, worker, progress, exit codes.
//!
//! The command is an adapter: it parses, calls the library, prints. Exit codes: 0 holds; 1 a ceiling, a comparison or a
//! gate failed; 2 bad usage or unreadable input; 3 not measurable or inconclusive; 128 + N ended by signal N.

mod cli;
mod exports;
mod guardian;
mod live;
mod progress;
mod replace;
mod scaffold;

use std::process::ExitCode;

use plimsoll_harness::{confine, keep, signals, supervisor, worker};

fn main() -> ExitCode {
    // Commands that run others, which must end with this one however it ends.
    let runs_others = std::env::args_os().nth(1).is_some_and(|word| word == "run" || word == "ab" || word == "bisect");
    if runs_others && let Some(code) = guardian::split() {
        return ExitCode::from(code);
    }
    cli::main()
}
