//! The `plimsoll` command: arguments, supervisor, worker, progress, exit codes.
//!
//! The command is an adapter: it parses, calls the library, prints. Exit codes: 0 holds; 1 a ceiling, a comparison or a
//! gate failed; 2 bad usage or unreadable input; 3 not measurable or inconclusive; 128 + N ended by signal N.

mod cli;
mod live;
mod progress;
mod protocol;
mod replace;
mod signals;
mod supervisor;
mod worker;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
