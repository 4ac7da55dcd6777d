//! [`Arguments`]: every command with its arguments; flags that are not given come from `plimsoll.toml`.

use clap::error::{ContextKind, ContextValue};
use clap::{ArgAction, Args as _, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use plimsoll::config::{Resolved, settings};
use plimsoll::report::terminal::{clean, nearest};

use super::ab::Ab;
use super::args::ConfigFlags;
use super::bench_gate::BenchGate;
use super::bisect::Bisect;
use super::calibrate::Calibrate;
use super::check::Check;
use super::compare::Compare;
use super::config::ConfigCommand;
use super::devices::DevicesArguments;
use super::diagnose::Diagnose;
use super::doctor::DoctorArguments;
use super::estimate::Estimate;
use super::gate::Gate;
use super::generate::Generate;
use super::history::HistoryCommand;
use super::init::Init;
use super::inspect::Inspect;
use super::isolate::Isolate;
use super::kernel::KernelCommand;
use super::ledger::Ledger;
use super::manual::Man;
use super::mark::Mark;
use super::matrix::Matrix;
use super::merge::Merge;
use super::pack::Pack;
use super::ratchet::Ratchet;
use super::report::Report;
use super::run::Run;
use super::schema::Schema;
use super::settings::Settings;
use super::shard::Shard;
use super::store::StoreArguments;
use super::unpack::Unpack;
use super::verify::Verify;
use super::{Failed, groups, output};

/// Tests, benchmarks and gates for memory.
#[derive(Parser)]
#[command(name = "plimsoll", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "Exit codes: 0 holds; 1 a ceiling, a comparison or a gate failed; 2 bad usage or unreadable \
    input; 3 not measurable or inconclusive.")]
pub struct Arguments {
    /// When to use colours
    #[arg(long, value_name = "WHEN", env = "PLIMSOLL_COLOR", default_value = "auto", global = true)]
    pub color: Color,

    #[command(subcommand)]
    pub command: Command,
}

// Only the called subcommand's arguments are built, as there are many.
#[derive(Subcommand)]
#[command(defer = true)]
pub enum Command {
    /// Validate a kernel on every entry of a capture, then profile it in batches
    Check(Check),
    /// Compare a kernel's outputs with those of a capture
    Validate(Check),
    /// Time a kernel on every entry of a capture, in batches capped by bytes
    Profile(Check),
    /// Run a command and judge the memory of its process tree
    Run(Run),
    /// Begin a phase of the run that this is called in
    Mark(Mark),
    /// Write a synthetic capture
    Generate(Generate),
    /// Show which share of a capture this process takes, and what each holds
    Shard(Shard),
    /// Put the records of shards or ranks together
    Merge(Merge),
    /// Show what changed between two records
    Compare(Compare),
    /// Show what is inside .pt files, from their headers only
    Inspect(Inspect),
    /// Start a kernel from a template
    #[command(subcommand)]
    Kernel(KernelCommand),
    /// List the NVIDIA GPUs that kernels can run on
    Devices(DevicesArguments),
    /// Show which figures are exact on this machine, and how to improve the others
    Doctor(DoctorArguments),
    /// Keep the entries of a folder in a store, each storage once
    Pack(Pack),
    /// Restore entries of a store as files, byte for byte
    Unpack(Unpack),
    /// Check that every file in a store can be restored; writes nothing
    Verify(Verify),
    /// List a store, or delete what no entry needs
    Store(StoreArguments),
    /// Explain memory failures and trends in logs, snapshots and records
    Diagnose(Box<Diagnose>),
    /// Estimate the memory that training a model takes
    Estimate(Box<Estimate>),
    /// Compare measured with expected bytes per parameter, stage by stage
    Ledger(Box<Ledger>),
    /// Compare configurations of a command with a baseline
    Matrix(Matrix),
    /// Fail if a record breaks a ceiling or regresses against a baseline
    Gate(Gate),
    /// Compare two commands that are run in turns
    Ab(Ab),
    /// Find the commit between two that changed a figure
    Bisect(Bisect),
    /// Show the settings of plimsoll.toml and where each comes from
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Keep figures by commit, and show how they changed
    #[command(subcommand)]
    History(HistoryCommand),
    /// Write a plimsoll.toml with ceilings measured from a command
    Init(Init),
    /// Fail if a benchmark of criterion, divan or gungraun regressed
    BenchGate(BenchGate),
    /// Run a command several times and propose ceilings
    Calibrate(Calibrate),
    /// Lower ceilings in the sources of tests to what records show
    Ratchet(Ratchet),
    /// Write records as HTML, Markdown, JUnit and other formats
    Report(Report),
    /// Print the JSON Schema of a document
    Schema(Schema),
    /// Print shell completions
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print a manual page, as `plimsoll man run | man -l -` shows it
    Man(Man),
    /// Judge a test of another runner (started by the pytest plugin)
    #[command(hide = true)]
    Isolate(Isolate),
    /// Give up rights and become a worker (started by `check --untrusted`)
    #[command(hide = true)]
    Confined {
        /// The worker
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "CMD")]
        program: Vec<std::ffi::OsString>,
    },
    /// Serve a supervisor (started by `check`, `validate` and `profile`)
    #[command(hide = true)]
    Worker,
}

/// The whole command line, with its commands in groups.
pub fn program() -> clap::Command {
    groups::in_groups(Arguments::command())
}

/// Parses the arguments of this call; flags that are not given come from the configuration, which is returned as well.
pub fn arguments() -> Result<(Arguments, Option<Settings>), Failed> {
    let parsed = |mut command: clap::Command| {
        let matches = command.try_get_matches_from_mut(std::env::args_os());
        let matches = matches.unwrap_or_else(|error| refuse(&with_the_meant(error, &command)));
        Arguments::from_arg_matches(&matches)
    };
    let arguments = parsed(program()).unwrap_or_else(|error| refuse(&error));
    arguments.color.choose();
    let Some(Use { name, augment, flags, sections, label }) = Use::of(&arguments.command) else {
        return Ok((arguments, None));
    };
    let Some(settings) = Settings::read(flags)? else { return Ok((arguments, None)) };
    if sections.is_empty() {
        return Ok((arguments, Some(settings)));
    }
    let set = Settings::of(Some(&settings), label.as_deref())?;
    // Arguments not deferred to the second pass. Help, which would lack their text, was handled above.
    let whole = |_| with_defaults(augment(clap::Command::new(name)), &set, sections);
    let command = program().mut_subcommand(name, whole);
    let arguments = parsed(command).unwrap_or_else(|error| refuse(&error));
    if let (Command::Run(run), Some(label)) = (&arguments.command, &label) {
        note_unlimited(run, &settings, label);
    }
    Ok((arguments, Some(settings)))
}

/// Ends the process with the error, or with the help that was requested. An argument may be the name of a file from a
/// stranger: a message that could contain what a terminal obeys is printed as one line.
fn refuse(error: &clap::Error) -> ! {
    let obeyed = std::env::args_os().any(|argument| {
        let argument = argument.to_string_lossy();
        clean(&argument) != argument
    });
    if !error.use_stderr() || !obeyed {
        error.exit();
    }
    let message = error.render().to_string();
    let words: Vec<&str> = message.trim_start_matches("error:").split_whitespace().collect();
    output::error(&words.join(" "));
    std::process::exit(error.exit_code())
}

/// The error with the command that was probably meant, which is never an internal one.
fn with_the_meant(mut error: clap::Error, command: &clap::Command) -> clap::Error {
    let is_hidden = |name: &String| command.find_subcommand(name).is_some_and(clap::Command::is_hide_set);
    let similar = match error.remove(ContextKind::SuggestedSubcommand) {
        Some(ContextValue::Strings(names)) => names,
        _ => Vec::new(),
    };
    let typed = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(typed)) => typed.as_str(),
        _ => "",
    };
    let commands: Vec<&str> = groups::GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
    let meant = match nearest(typed, &commands) {
        Some(meant) if std::env::args().nth(1).as_deref() == Some(typed) => vec![meant.to_owned()],
        _ => similar.into_iter().filter(|name| !is_hidden(name)).collect(),
    };
    if !meant.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(meant));
    }
    error
}

/// How many labels a note lists.
const LABELS: usize = 8;

/// Says so if the configuration has ceilings, but none for the label of this run: a misspelt label would hold nothing.
fn note_unlimited(run: &Run, settings: &Settings, label: &str) {
    let labels: Vec<&str> = settings.config.labels().collect();
    if run.quiet || run.json || labels.is_empty() || !run.ceilings.ceilings().is_empty() {
        return;
    }
    let name = nearest(label, &labels).unwrap_or(labels[0]);
    let (named, others) = labels.split_at(labels.len().min(LABELS));
    let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
    output::note(&format_args!(
        "note: no ceiling applies to `{label}`: {} has ceilings for `{}`{more}; choose them by --label {name}",
        settings.config.path().display(),
        named.join("`, `"),
    ));
}

/// When to colour the output.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    fn choose(self) {
        match self {
            Self::Auto => {}
            Self::Always => anstream::ColorChoice::Always.write_global(),
            Self::Never => anstream::ColorChoice::Never.write_global(),
        }
    }
}

/// How a command uses a configuration.
struct Use<'a> {
    /// The subcommand.
    name: &'static str,
    /// Adds the arguments to the subcommand.
    augment: fn(clap::Command) -> clap::Command,
    /// Which configuration applies.
    flags: &'a ConfigFlags,
    /// The sections that hold defaults of its flags.
    sections: &'static [&'static str],
    /// The label of the command that is run.
    label: Option<String>,
}

impl<'a> Use<'a> {
    /// `None` if the command uses no configuration.
    fn of(command: &'a Command) -> Option<Self> {
        let run = |name, augment, run: &'a Run| {
            let label = super::run::label(run.label.as_deref(), &run.command);
            Self { name, augment, flags: &run.config, sections: &["ceilings", "run", "report"], label: Some(label) }
        };
        let check = |name, check: &'a Check| {
            let label = check.capture.file_name().map(|name| name.to_string_lossy().into_owned());
            let sections = &["ceilings", "check", "report"];
            Self { name, augment: Check::augment_args, flags: &check.config, sections, label }
        };
        let plain = |name, flags| Self { name, augment: |command| command, flags, sections: &[], label: None };
        Some(match command {
            Command::Run(arguments) => run("run", Run::augment_args, arguments),
            Command::Ab(arguments) => run("ab", Ab::augment_args, &arguments.run),
            Command::Bisect(arguments) if !arguments.reset => run("bisect", Bisect::augment_args, &arguments.run),
            Command::Check(arguments) => check("check", arguments),
            Command::Validate(arguments) => check("validate", arguments),
            Command::Profile(arguments) => check("profile", arguments),
            Command::Gate(arguments) => {
                Self { augment: Gate::augment_args, sections: &["report"], ..plain("gate", &arguments.history.config) }
            }
            Command::Calibrate(arguments) => {
                let label = super::run::label(arguments.label.as_deref(), &arguments.command);
                Self {
                    augment: Calibrate::augment_args,
                    sections: &["run"],
                    label: Some(label),
                    ..plain("calibrate", &arguments.config)
                }
            }
            Command::BenchGate(arguments) => plain("bench-gate", &arguments.config),
            Command::Config(ConfigCommand::Show(arguments)) => plain("config", &arguments.config),
            Command::History(command) => plain("history", command.config()),
            _ => return None,
        })
    }
}

/// `command` with configured values as the defaults of its flags; a flag and its environment variable override them.
fn with_defaults(mut command: clap::Command, set: &Resolved, sections: &[&str]) -> clap::Command {
    for setting in settings().filter(|setting| sections.contains(&setting.section)) {
        let Some(set) = set.get(&setting.key()) else { continue };
        // `ab` compares figures and reads no output, so settings of diagnosis do not apply to it.
        if command.get_name() == "ab" && matches!(setting.name, "diagnose" | "fail_on") {
            continue;
        }
        let value = set.value.text();
        let flag = command.get_arguments().find(|argument| argument.get_id() == setting.name);
        let Some(flag) = flag else {
            if setting.section == "ceilings" {
                let name = command.get_name();
                output::note(&format_args!(
                    "note: {} is not a ceiling of {name}, but of gate ({})",
                    setting.name, set.origin
                ));
            }
            continue;
        };
        let is_switch = matches!(flag.get_action(), ArgAction::SetTrue);
        if !is_switch || value == "true" {
            command = command.mut_arg(setting.name, |argument| argument.default_value(value));
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_a_flag_of_the_command_that_it_is_for() {
        for setting in settings() {
            let subcommand = match setting.section {
                "run" => "run",
                "check" => "check",
                // Only the gate judges a ceiling without a flag.
                _ => continue,
            };
            let mut command = program();
            command.build();
            let subcommand = command.find_subcommand(subcommand).unwrap();
            let known = subcommand.get_arguments().any(|argument| argument.get_id() == setting.name);
            assert!(known, "{} is no flag of {}", setting.name, subcommand.get_name());
        }
        program().debug_assert();
    }

    #[test]
    fn a_flag_has_the_default_of_its_setting() {
        let mut command = program();
        command.build();
        let mut checked = 0;
        for setting in settings().filter(|setting| ["run", "check"].contains(&setting.section)) {
            let Some(default) = setting.default else { continue };
            let subcommand = command.find_subcommand(setting.section).unwrap();
            let flag = subcommand.get_arguments().find(|argument| argument.get_id() == setting.name).unwrap();
            // A switch is off by default, and the record's path depends on --json.
            let Some(value) = flag.get_default_values().first().filter(|value| *value != "false") else { continue };
            assert_eq!(value.to_string_lossy(), default.flag(), "{}", setting.key());
            checked += 1;
        }
        assert_eq!(checked, 8);
        let calibrate = command.find_subcommand("calibrate").unwrap();
        let interval = calibrate.get_arguments().find(|argument| argument.get_id() == "sample_interval").unwrap();
        assert_eq!(interval.get_default_values(), ["10ms"]);
    }

    #[test]
    fn arguments_that_are_laid_out_late_leave_a_command_its_words() {
        let about = |command: &clap::Command| -> Vec<_> {
            command.get_subcommands().map(|one| (one.get_name().to_owned(), one.get_about().cloned())).collect()
        };
        let mut command = program();
        let before = about(&command);
        command.build();
        let after = about(&command);
        // The doc comment of flattened arguments would replace the command's own.
        assert_eq!(before[..], after[..before.len()]);
        assert!(before.len() > 20);
    }
}
