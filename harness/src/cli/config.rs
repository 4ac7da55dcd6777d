//! `plimsoll.toml`: found and read before a command starts, its settings the defaults of the command's flags; `config show`.

use std::env;

use clap::{ArgAction, CommandFactory as _, FromArgMatches as _};
use plimsoll::config::{Config, ConfigError, Kind, LIMITED, Resolved, find, settings};
use plimsoll::report::terminal;

use super::args::{Arguments, Command, ConfigCommand, ConfigFlags, ConfigShow};
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
        let path = match &flags.file {
            _ if flags.no_config => None,
            Some(path) => Some(path.clone()),
            // Where the working directory is gone, there is no configuration in it.
            None => env::current_dir().ok().and_then(|folder| find(&folder)),
        };
        let Some(path) = path else {
            return match &flags.profile {
                Some(name) if !flags.no_config => Err(ConfigError::NoFile { name: name.clone() }.into()),
                _ => Ok(None),
            };
        };
        let settings = Self { config: Config::read(&path)?, profile: flags.profile.clone() };
        // A profile that is not there is found before anything is run.
        Self::of(Some(&settings), None)?;
        Ok(Some(settings))
    }
}

/// The arguments of this call, flags that are not given taken from the configuration, and that.
pub fn arguments() -> Result<(Arguments, Option<Settings>), Failed> {
    let parsed = |command: clap::Command| Arguments::from_arg_matches(&command.get_matches());
    let arguments = parsed(command()).unwrap_or_else(|error| error.exit());
    let Some(Use { name, flags, sections, label }) = Use::of(&arguments.command) else { return Ok((arguments, None)) };
    let Some(settings) = Settings::read(flags)? else { return Ok((arguments, None)) };
    if sections.is_empty() {
        return Ok((arguments, Some(settings)));
    }
    let set = Settings::of(Some(&settings), label.as_deref())?;
    let command = command().mut_subcommand(name, |subcommand| with_defaults(subcommand, &set, sections));
    let arguments = parsed(command).unwrap_or_else(|error| error.exit());
    Ok((arguments, Some(settings)))
}

/// The command line. One run of each of a pair tells nothing, so that `ab` runs more.
fn command() -> clap::Command {
    Arguments::command().mut_subcommand("ab", |ab| ab.mut_arg("repeat", |repeat| repeat.default_value("10")))
}

/// How a command uses a configuration.
struct Use<'a> {
    /// The subcommand.
    name: &'static str,
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
        let run = |name, run: &'a super::args::Run| {
            let label = super::run::label(run.label.as_deref(), &run.command);
            Self { name, flags: &run.config, sections: &["ceilings", "run", "report"], label: Some(label) }
        };
        let check = |name, check: &'a super::args::Check| {
            let label = check.capture.file_name().map(|name| name.to_string_lossy().into_owned());
            Self { name, flags: &check.config, sections: &["ceilings", "check", "report"], label }
        };
        let plain = |name, flags| Self { name, flags, sections: &[], label: None };
        Some(match command {
            Command::Run(arguments) => run("run", arguments),
            Command::Ab(arguments) => run("ab", &arguments.run),
            Command::Check(arguments) => check("check", arguments),
            Command::Validate(arguments) => check("validate", arguments),
            Command::Profile(arguments) => check("profile", arguments),
            Command::Gate(arguments) => Self { sections: &["report"], ..plain("gate", &arguments.history.config) },
            Command::Calibrate(arguments) => {
                let label = super::run::label(arguments.label.as_deref(), &arguments.command);
                Self { sections: &["run"], label: Some(label), ..plain("calibrate", &arguments.config) }
            }
            Command::BenchGate(arguments) => plain("bench-gate", &arguments.config),
            Command::Config(super::args::ConfigCommand::Show(arguments)) => plain("config", &arguments.config),
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
    for setting in settings() {
        let key = setting.key();
        if let Some((variable, value)) = variable(setting.section, setting.name) {
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
fn variable(section: &str, name: &str) -> Option<(String, String)> {
    let subcommand = match section {
        "ceilings" | "run" | "report" => "run",
        "check" => "check",
        "gate" => "gate",
        "bench_gate" => "bench-gate",
        _ => return None,
    };
    let command = Arguments::command();
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
            let command = command();
            let subcommand = command.find_subcommand(subcommand).unwrap();
            let known = subcommand.get_arguments().any(|argument| argument.get_id() == setting.name);
            assert!(known, "{} is no flag of {}", setting.name, subcommand.get_name());
        }
        command().debug_assert();
    }
}
