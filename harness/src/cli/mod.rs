//! The command line: one file a command.

mod ab;
mod args;
mod arguments;
mod bench_gate;
mod calibrate;
mod ceilings_toml;
mod check;
mod compare;
mod config;
mod devices;
mod diagnose;
mod estimate;
mod gate;
mod generate;
mod generate_op;
mod history;
mod init;
mod inspect;
mod isolate;
mod kernel;
mod ledger;
mod mark;
mod matrix;
mod model;
mod output;
mod pack;
mod ratchet;
mod records;
mod report;
mod run;
mod schema;
mod settings;
mod snapshot;
mod store;
mod turn;
mod unpack;
mod verify;

use std::process::ExitCode;

use arguments::{Arguments, Command};
use clap::CommandFactory as _;
use plimsoll::report::terminal::{Palette, Screen};
use plimsoll::run::RunError;

use crate::supervisor::NoLauncher;

/// Bad usage or unreadable input.
const USAGE: u8 = 2;
/// What was to be measured cannot be measured here.
const NOT_MEASURABLE: u8 = 3;

/// An error on its way to the user: one message with its causes.
type Failed = Box<dyn std::error::Error>;

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    let (arguments, settings) = match arguments::arguments() {
        Ok(both) => both,
        Err(error) => {
            report(error.as_ref());
            return ExitCode::from(USAGE);
        }
    };
    let result = match arguments.command {
        Command::Check(check) => check::run(check::Parts::Both, check),
        Command::Validate(check) => check::run(check::Parts::Validate, check),
        Command::Profile(check) => check::run(check::Parts::Profile, check),
        Command::Run(arguments) => run::run(&arguments),
        Command::Mark(mark) => mark::run(&mark),
        Command::Generate(generate) => match &generate.op {
            Some(operator) => generate_op::run(&generate, operator),
            None => generate::run(&generate),
        },
        Command::Compare(compare) => compare::run(&compare),
        Command::Diagnose(diagnose) => diagnose::run(&diagnose),
        Command::Inspect(inspect) => inspect::run(&inspect),
        Command::Kernel(command) => kernel::run(&command),
        Command::Devices(devices) => devices::run(&devices),
        Command::Pack(pack) => pack::run(&pack),
        Command::Unpack(unpack) => unpack::run(&unpack),
        Command::Verify(verify) => verify::run(&verify),
        Command::Store(store) => store::run(&store),
        Command::Estimate(estimate) => estimate::run(&estimate),
        Command::Ledger(ledger) => ledger::run(&ledger),
        Command::Matrix(matrix) => matrix::run(matrix),
        Command::BenchGate(bench_gate) => bench_gate::run(bench_gate, settings.as_ref()),
        Command::Gate(gate) => gate::run(&gate, settings.as_ref()),
        Command::Ab(ab) => ab::run(&ab, settings.as_ref()),
        Command::Config(which) => {
            let mut program = Arguments::command();
            program.build();
            config::run(&which, settings.as_ref(), &program)
        }
        Command::History(history) => history::run(&history, settings.as_ref()),
        Command::Init(init) => init::run(&init),
        Command::Calibrate(calibrate) => calibrate::run(&calibrate),
        Command::Ratchet(ratchet) => ratchet::run(&ratchet),
        Command::Report(report) => report::run(&report),
        Command::Schema(schema) => schema::run(&schema),
        Command::Completions { shell } => schema::completions(shell, &mut Arguments::command()),
        Command::Isolate(isolate) => isolate::run(&isolate),
        Command::Worker => crate::worker::serve(&crate::worker::Host::builtin()).map(|()| 0).map_err(Failed::from),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            report(error.as_ref());
            ExitCode::from(exit_code(error.as_ref()))
        }
    }
}

/// What an error that ends a command is to whoever started it.
fn exit_code(error: &(dyn std::error::Error + 'static)) -> u8 {
    let refused = match error.downcast_ref::<RunError>() {
        Some(RunError::Launch(refused)) => refused.downcast_ref::<NoLauncher>(),
        _ => error.downcast_ref::<NoLauncher>(),
    };
    match refused {
        Some(NoLauncher::NotInstalled(_) | NoLauncher::Absent(_)) => NOT_MEASURABLE,
        _ => USAGE,
    }
}

/// The terminal that documents are laid out for; what is no terminal takes them 120 columns wide, and anstream strips the
/// colours.
fn screen() -> Screen {
    let width = terminal_size::terminal_size().map_or(120, |(width, _)| usize::from(width.0));
    Screen::new(width, Palette::colour())
}

/// The command line of this process, as records have it.
fn own_command() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Prints an error and what caused it, once each.
fn report(error: &dyn std::error::Error) {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let message = inner.to_string();
        if !text.contains(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        cause = inner.source();
    }
    report_message(&text);
}

/// Prints an error.
fn report_message(text: &str) {
    let style = clap::builder::Styles::styled();
    let error = style.get_error();
    output::note(&format_args!("{error}error:{error:#} {text}"));
}
