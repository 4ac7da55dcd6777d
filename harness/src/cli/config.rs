//! `config show`: what `plimsoll.toml` sets, and where each value comes from.

use std::env;

use clap::{Args, Subcommand};
use plimsoll::config::{LIMITED, settings};
use plimsoll::report::terminal;

use super::args::ConfigFlags;
use super::settings::Settings;
use super::{Failed, output};

#[derive(Args)]
#[command(after_help = "Exit codes: 0 shown; 1 there is no configuration; 2 it cannot be read.")]
pub struct ConfigShow {
    /// What is set for this label; without one, what is set for all
    #[arg(long, value_name = "NAME", env = "PLIMSOLL_LABEL")]
    pub label: Option<String>,

    #[command(flatten)]
    pub config: ConfigFlags,
}

/// What to do with a configuration.
#[derive(Subcommand)]
pub enum ConfigCommand {
    /// Show every setting, its value and where that comes from
    Show(ConfigShow),
}

/// Shows the settings; `program` is built first, so that its flags name their environment variables.
pub fn run(command: &ConfigCommand, settings: Option<&Settings>, program: &clap::Command) -> Result<u8, Failed> {
    let ConfigCommand::Show(arguments) = command;
    show(arguments, settings, program)
}

fn show(arguments: &ConfigShow, configured: Option<&Settings>, program: &clap::Command) -> Result<u8, Failed> {
    let set = Settings::of(configured, arguments.label.as_deref())?;
    let mut rows: Vec<[String; 3]> = Vec::new();
    for setting in settings() {
        let key = setting.key();
        if let Some((variable, value)) = variable(program, setting.section, setting.name) {
            rows.push([key, value, format!("the environment, {variable}")]);
        } else if let Some(set) = set.get(&key) {
            rows.push([key, set.value.text(), set.origin.to_string()]);
        } else if let Some(default) = setting.default {
            rows.push([key, default.flag(), "default".to_owned()]);
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

/// The environment variable of a setting, and its value.
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
