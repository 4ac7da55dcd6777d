//! `plimsoll.toml`: found and read before a command starts, its settings the defaults of the command's flags; `config show`.

use std::env;

use clap::{ArgAction, Args as _, CommandFactory as _, FromArgMatches as _};
use plimsoll::config::{Config, ConfigError, Kind, LIMITED, Resolved, find, settings};
use plimsoll::report::terminal;

use super::args::{Ab, Arguments, Calibrate, Check, Command, ConfigCommand, ConfigFlags, ConfigShow, Gate, Run};
use super::{Failed, output};

/// The configuration of this call.
pub struct Settings {
    config: Config,
    profile: Option<String>,
}

impl Settings {
    /// What is set for `label`; nothing where there is no configuration.
    pub fn of(settings: Option<&Self>, label: Option<&str>) -> Result<Resolved, ConfigError> {
        settings.map_or_else(
            || Ok(Resolved::default()),
            |settings| settings.config.resolve(settings.profile.as_deref(), label),
        )
    }

    fn read(flags: &ConfigFlags) -> Result<Option<Self>, Failed> {
        let config = match &flags.file {
            _ if flags.no_config => None,
            Some(path) => Some(Config::read(path)?),
            // Where the working directory is gone, there is no configuration in it.
            None => match env::current_dir().ok().and_then(|folder| find(&folder)) {
                Some(path) => Some(Config::read_found(&path)?),
                None => None,
            },
        };
        let Some(config) = config else {
            return match &flags.profile {
                Some(name) if !flags.no_config => Err(ConfigError::NoFile { name: name.clone() }.into()),
                _ => Ok(None),
            };
        };
        let settings = Self { config, profile: flags.profile.clone() };
        // A profile that is not there is found before anything is run.
        Self::of(Some(&settings), None)?;
        Ok(Some(settings))
    }
}

/// The arguments of this call, flags that are not given taken from the configuration, and that.
pub fn arguments() -> Result<(Arguments, Option<Settings>), Failed> {
    let parsed = |command: clap::Command| Arguments::from_arg_matches(&command.get_matches());
    let arguments = parsed(Arguments::command()).unwrap_or_else(|error| error.exit());
    let Some(Use { name, augment, flags, sections, label }) = Use::of(&arguments.command) else {
        return Ok((arguments, None));
    };
    let Some(settings) = Settings::read(flags)? else { return Ok((arguments, None)) };
    if sections.is_empty() {
        return Ok((arguments, Some(settings)));
    }
    let set = Settings::of(Some(&settings), label.as_deref())?;
    // One whose arguments are not left to be laid out later. Help, which it lacks the words for, was given above.
    let whole = |_| with_defaults(augment(clap::Command::new(name)), &set, sections);
    let command = Arguments::command().mut_subcommand(name, whole);
    let arguments = parsed(command).unwrap_or_else(|error| error.exit());
    Ok((arguments, Some(settings)))
}

/// How a command uses a configuration.
struct Use<'a> {
    /// The subcommand.
    name: &'static str,
    /// Gives it its arguments.
    augment: fn(clap::Command) -> clap::Command,
    /// Which configuration.
    flags: &'a ConfigFlags,
    /// The sections that hold defaults of its flags.
    sections: &'static [&'static str],
    /// What is run.
    label: Option<String>,
}

impl<'a> Use<'a> {
    /// `None` where it uses none.
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

/// `command` with what is set as the defaults of its flags, which a flag and its environment variable go before.
fn with_defaults(mut command: clap::Command, set: &Resolved, sections: &[&str]) -> clap::Command {
    for setting in settings().filter(|setting| sections.contains(&setting.section)) {
        let Some(set) = set.get(&setting.key()) else { continue };
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

/// Shows what is set.
pub fn run(command: &ConfigCommand, settings: Option<&Settings>) -> Result<u8, Failed> {
    let ConfigCommand::Show(arguments) = command;
    show(arguments, settings)
}

fn show(arguments: &ConfigShow, configured: Option<&Settings>) -> Result<u8, Failed> {
    let set = Settings::of(configured, arguments.label.as_deref())?;
    let mut rows: Vec<[String; 3]> = Vec::new();
    let mut command = Arguments::command();
    command.build();
    for setting in settings() {
        let key = setting.key();
        if let Some((variable, value)) = variable(&command, setting.section, setting.name) {
            rows.push([key, value, format!("the environment, {variable}")]);
        } else if let Some(set) = set.get(&key) {
            rows.push([key, set.value.text(), set.origin.to_string()]);
        } else if let Some(default) = setting.default {
            let default = if setting.kind == Kind::Bytes { default.replace(' ', "") } else { default.to_owned() };
            rows.push([key, default, "default".to_owned()]);
        }
    }
    for section in LIMITED {
        let prefix = format!("{section}.limits.");
        let limits = set.iter().filter(|(key, _)| key.starts_with(&prefix));
        rows.extend(limits.map(|(key, set)| [key.to_owned(), set.value.text(), set.origin.to_string()]));
    }
    let file = configured.map(|settings| settings.config.path().display().to_string());
    let profiles: Vec<&str> = configured.map(|settings| settings.config.profiles().collect()).unwrap_or_default();
    let profile = configured.and_then(|settings| settings.profile.as_deref());
    output::text(&terminal::config(file.as_deref(), profile, &profiles, &rows, &super::screen()))?;
    Ok(u8::from(configured.is_none()))
}

/// The environment variable that sets what a setting sets, and its value.
fn variable(command: &clap::Command, section: &str, name: &str) -> Option<(String, String)> {
    let subcommand = match section {
        "ceilings" | "run" | "report" => "run",
        "check" => "check",
        "gate" => "gate",
        "bench_gate" => "bench-gate",
        _ => return None,
    };
    let argument = command.find_subcommand(subcommand)?.get_arguments().find(|argument| argument.get_id() == name)?;
    let variable = argument.get_env()?;
    Some((variable.to_string_lossy().into_owned(), env::var_os(variable)?.to_string_lossy().into_owned()))
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
                // A ceiling without a flag is judged by the gate alone.
                _ => continue,
            };
            let mut command = Arguments::command();
            command.build();
            let subcommand = command.find_subcommand(subcommand).unwrap();
            let known = subcommand.get_arguments().any(|argument| argument.get_id() == setting.name);
            assert!(known, "{} is no flag of {}", setting.name, subcommand.get_name());
        }
        Arguments::command().debug_assert();
    }

    #[test]
    fn arguments_that_are_laid_out_late_leave_a_command_its_words() {
        let about = |command: &clap::Command| -> Vec<_> {
            command.get_subcommands().map(|one| (one.get_name().to_owned(), one.get_about().cloned())).collect()
        };
        let mut command = Arguments::command();
        let before = about(&command);
        command.build();
        let after = about(&command);
        // A doc comment of arguments that are flattened into others takes the place of the command's own.
        assert_eq!(before[..], after[..before.len()]);
        assert!(before.len() > 20);
    }
}
