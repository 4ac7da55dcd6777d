//! The command line: one file per command.

mod ab;
mod args;
mod arguments;
mod bench_gate;
mod bisect;
mod calibrate;
mod ceilings_toml;
mod check;
mod compare;
mod config;
mod devices;
mod diagnose;
mod doctor;
mod estimate;
mod gate;
mod generate;
mod generate_op;
mod groups;
mod history;
mod init;
mod inspect;
mod isolate;
mod kernel;
mod ledger;
mod manual;
mod mark;
mod matrix;
mod merge;
mod model;
mod output;
mod pack;
mod ratchet;
mod records;
mod report;
mod run;
mod schema;
mod settings;
mod shard;
mod snapshot;
mod store;
mod turn;
mod unpack;
mod verify;

use std::process::ExitCode;

use arguments::Command;
use plimsoll::report::terminal::{self, Palette, Screen};
use plimsoll::run::RunError;

use crate::supervisor::NoLauncher;

/// Bad usage or unreadable input.
const USAGE: u8 = 2;
/// A figure cannot be measured on this machine.
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
        Command::Shard(shard) => shard::run(&shard),
        Command::Merge(merge) => merge::run(&merge),
        Command::Compare(compare) => compare::run(&compare),
        Command::Diagnose(diagnose) => diagnose::run(&diagnose),
        Command::Inspect(inspect) => inspect::run(&inspect),
        Command::Kernel(command) => kernel::run(&command),
        Command::Devices(devices) => devices::run(&devices),
        Command::Doctor(doctor) => doctor::run(&doctor),
        Command::Pack(pack) => pack::run(&pack),
        Command::Unpack(unpack) => unpack::run(&unpack),
        Command::Verify(verify) => verify::run(&verify),
        Command::Store(store) => store::run(&store),
        Command::Estimate(estimate) => estimate::run(&estimate),
        Command::Ledger(ledger) => ledger::run(&ledger),
        Command::Matrix(matrix) => matrix::run(matrix),
        Command::BenchGate(bench_gate) => bench_gate::run(bench_gate, settings.as_ref()),
        Command::Gate(gate) => gate::run(&gate, settings.as_ref()),
        Command::Bisect(bisect) => bisect::run(&bisect, settings.as_ref()),
        Command::Ab(ab) => ab::run(&ab, settings.as_ref()),
        Command::Config(which) => {
            let mut program = arguments::program();
            program.build();
            config::run(&which, settings.as_ref(), &program)
        }
        Command::History(history) => history::run(&history, settings.as_ref()),
        Command::Init(init) => init::run(&init),
        Command::Calibrate(calibrate) => calibrate::run(&calibrate),
        Command::Ratchet(ratchet) => ratchet::run(&ratchet),
        Command::Report(report) => report::run(&report),
        Command::Schema(schema) => schema::run(&schema),
        Command::Completions { shell } => schema::completions(shell, &mut arguments::program()),
        Command::Man(man) => manual::run(&man, arguments::program()),
        Command::Isolate(isolate) => isolate::run(&isolate),
        Command::Confined { program } => match crate::confine::become_confined(&program) {
            Ok(never) => match never {},
            Err(error) => Err(error.into()),
        },
        Command::Worker => crate::worker::serve(&crate::worker::Host::builtin()).map(|()| 0).map_err(Failed::from),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            match no_launcher(error.as_ref()) {
                // An error is one line whatever it contains; this one has a command to copy below.
                Some(NoLauncher::NotInstalled(worker)) => {
                    report_message(&worker.missing());
                    output::aside(worker.remedy());
                }
                _ => report(error.as_ref()),
            }
            ExitCode::from(exit_code(error.as_ref()))
        }
    }
}

/// The launcher's own error, if one ends the command.
fn no_launcher<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a NoLauncher> {
    match error.downcast_ref::<RunError>() {
        Some(RunError::Launch(refused)) => refused.downcast_ref(),
        _ => error.downcast_ref(),
    }
}

/// What the caller should know about an error that ends a command.
fn exit_code(error: &(dyn std::error::Error + 'static)) -> u8 {
    match no_launcher(error) {
        Some(NoLauncher::NotInstalled(_) | NoLauncher::Absent(_)) => NOT_MEASURABLE,
        _ => USAGE,
    }
}

/// The terminal that documents are laid out for. If the output is not a terminal, the width is 120 columns and anstream
/// strips the colours.
fn screen() -> Screen {
    let width = terminal_size::terminal_size().map_or(120, |(width, _)| usize::from(width.0));
    Screen::new(width, Palette::colour())
}

/// The command line of this process, as records have it.
fn own_command() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// A path that is safe to show on a terminal.
fn shown(path: &std::path::Path) -> String {
    terminal::clean(&path.to_string_lossy())
}

/// A word, quoted for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else if word.chars().any(|c| terminal::clean(c.encode_utf8(&mut [0; 4])).chars().ne([c])) {
        // A terminal would obey or hide it: use the form that shells read back.
        let escaped = |c: char| match c {
            '\'' | '\\' => format!("\\{c}"),
            c if terminal::clean(c.encode_utf8(&mut [0; 4])).chars().eq([c]) => c.to_string(),
            c => c.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("\\x{byte:02x}")).collect(),
        };
        format!("$'{}'", word.chars().map(escaped).collect::<String>())
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Prints an error and its causes, each once.
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
    output::error(text);
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    #[test]
    fn a_quoted_word_is_read_back_by_a_shell_and_obeyed_by_no_terminal() {
        for word in ["plain", "", "two words", "it's", "a\x1b[2Jb", "a\nb'c\\d", "\u{202e}txt", "é"] {
            let quoted = quoted(word);
            assert_eq!(terminal::clean(&quoted), quoted);
            let shell = std::process::Command::new("bash").args(["-c", &format!("printf %s {quoted}")]).output();
            assert_eq!(String::from_utf8(shell.unwrap().stdout).unwrap(), word, "{quoted}");
        }
    }

    /// The files of a command: its own, or those of its folder.
    fn files(of: &Path) -> Vec<PathBuf> {
        if of.is_file() {
            return vec![of.to_owned()];
        }
        let entries = fs::read_dir(of).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
    }

    #[test]
    fn commands_use_one_another_in_no_circle() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cli");
        let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
        let rooms: BTreeMap<String, PathBuf> = names.map(|path| (name(&path), path)).collect();
        let mut uses: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (room, path) in rooms.iter().filter(|(room, _)| *room != "mod") {
            let used = uses.entry(room).or_default();
            for file in files(path) {
                let text = fs::read_to_string(&file).unwrap();
                let text = text.split("#[cfg(test)]").next().unwrap().replace("super::super::", "above::");
                // What a file within a folder calls `super` is that folder's module.
                let above = if path.is_dir() && name(&file) != "mod" { "above::" } else { "super::" };
                for after in text.split(above).skip(1) {
                    let group = after.strip_prefix('{').map_or(after, |group| group.split('}').next().unwrap());
                    let many = after.starts_with('{');
                    let words = group.split(',').take(if many { usize::MAX } else { 1 });
                    let first = |word: &str| {
                        word.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>()
                    };
                    used.extend(words.filter_map(|word| rooms.get_key_value(&first(word)).map(|(name, _)| &**name)));
                }
            }
            used.remove(&**room);
        }
        assert!(uses["arguments"].len() > 20 && uses["check"].contains("args"), "{uses:?}");
        // A module that uses none of the remaining ones is not part of a cycle.
        while let Some(done) = uses.iter().find(|(_, used)| used.iter().all(|name| !uses.contains_key(name))) {
            let done = *done.0;
            uses.remove(done);
        }
        assert!(uses.is_empty(), "a circle: {uses:?}");
    }
}
