//! `man`: manual pages, from the declarations of the command line.

use clap::{Args, Command};

use plimsoll::report::terminal::nearest;

use super::groups::GROUPS;
use super::{Failed, output};

#[derive(Args)]
pub struct Man {
    /// The command; without it, the page of plimsoll itself
    pub command: Option<String>,
}

/// Prints the page of a command of `program` as roff.
pub fn run(which: &Man, mut program: Command) -> Result<u8, Failed> {
    program.build();
    let command = match &which.command {
        None => program,
        Some(name) => {
            let found = program.find_subcommand(name).filter(|found| !found.is_hide_set()).cloned();
            found.ok_or_else(|| unknown(name))?
        }
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    output::verbatim(&String::from_utf8(page)?)?;
    Ok(0)
}

/// The error for a command that does not exist.
fn unknown(name: &str) -> String {
    let known: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
    let hint = match nearest(name, &known) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "`plimsoll --help` lists them".to_owned(),
    };
    format!("there is no command `{}`: {hint}", name.escape_debug())
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::path::Path;

    use clap::builder::StyledStr;

    use super::*;
    use crate::cli::arguments::program;

    /// One command with its flags, as Markdown.
    fn section(text: &mut String, path: &str, command: &Command, level: usize) {
        let plain = |styled: Option<&StyledStr>| styled.map(ToString::to_string).unwrap_or_default();
        let usage = command.clone().render_usage().to_string();
        let usage = usage.trim_start_matches("Usage:").trim();
        let about = plain(command.get_long_about().or(command.get_about()));
        writeln!(text, "\n{} `{path}`\n\n{}\n\n```text\n{usage}\n```", "#".repeat(level), as_prose(&about)).unwrap();
        let shown = |argument: &&clap::Arg| {
            !argument.is_hide_set() && !["help", "version"].contains(&argument.get_id().as_str())
        };
        if command.get_arguments().any(|argument| shown(&argument)) {
            text.push_str("\n| argument | meaning |\n|---|---|\n");
        }
        for argument in command.get_arguments().filter(shown) {
            let mut name = argument.get_long().map_or_else(String::new, |long| format!("--{long}"));
            let values: Vec<_> =
                argument.get_value_names().unwrap_or_default().iter().map(|name| format!("<{name}>")).collect();
            if argument.is_positional() || argument.get_action().takes_values() {
                name = format!("{name} {}", values.join(" ")).trim().to_owned();
            }
            let mut meaning = cell(&plain(argument.get_help().or(argument.get_long_help())));
            let default: Vec<_> =
                argument.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
            if argument.get_action().takes_values() && !default.is_empty() {
                write!(meaning, " (default `{}`)", default.join(" ")).unwrap();
            }
            writeln!(text, "| `{}` | {meaning} |", name.replace('|', "\\|")).unwrap();
        }
        for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help") {
            section(text, &format!("{path} {}", inner.get_name()), inner, level + 1);
        }
    }

    /// Escapes Markdown's markup.
    fn as_prose(text: &str) -> String {
        text.replace('<', "\\<")
    }

    fn cell(text: &str) -> String {
        as_prose(&text.split_whitespace().collect::<Vec<_>>().join(" ")).replace('|', "\\|")
    }

    fn page() -> String {
        let mut program = program();
        program.build();
        let mut text = "# Commands\n\n<!-- Generated from the command line's declarations: \
            PLIMSOLL_UPDATE_DOCS=1 cargo test -p plimsoll-harness --bin plimsoll manual -->\n\n\
            Every command with its flags, as `plimsoll COMMAND --help` explains them. A flag `--some-flag` can be set by the\n\
            environment variable `PLIMSOLL_SOME_FLAG`, and many by [plimsoll.toml](config.md).\n"
            .to_owned();
        for (title, names) in GROUPS {
            writeln!(text, "\n## {title}").unwrap();
            for name in names {
                let command = program.find_subcommand(name).unwrap();
                section(&mut text, &format!("plimsoll {name}"), command, 3);
            }
        }
        text
    }

    #[test]
    fn the_page_of_commands_is_up_to_date() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/commands.md");
        if std::env::var_os("PLIMSOLL_UPDATE_DOCS").is_some() {
            std::fs::write(&path, page()).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap();
        assert!(committed == page(), "{} is out of date: PLIMSOLL_UPDATE_DOCS=1 writes it", path.display());
    }

    #[test]
    fn every_help_text_is_as_it_was_reviewed() {
        let mut program = program().term_width(100);
        program.build();
        let mut commands = vec![("plimsoll".to_owned(), program)];
        while let Some((path, command)) = commands.pop() {
            let inner = command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help");
            commands.extend(inner.map(|inner| (format!("{path}_{}", inner.get_name()), inner.clone())));
            // A snapshot must not contain values from this process's environment.
            let mut command = command.mut_args(|argument| argument.hide_env_values(true));
            let texts = format!("{}\n==== --help ====\n\n{}", command.render_help(), command.render_long_help());
            insta::with_settings!({
                snapshot_path => concat!(env!("CARGO_MANIFEST_DIR"), "/../snapshots/help"),
                prepend_module_to_snapshot => false,
                omit_expression => true,
            }, {
                insta::assert_snapshot!(path, texts);
            });
        }
    }

    #[test]
    fn every_flag_is_one_short_line() {
        let mut program = program();
        program.build();
        let mut commands = vec![&program];
        let mut long = Vec::new();
        while let Some(command) = commands.pop() {
            commands.extend(command.get_subcommands().filter(|inner| !inner.is_hide_set()));
            for argument in command.get_arguments() {
                let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
                if help.lines().count() > 1 || help.chars().count() > 80 {
                    long.push(format!("{} {}: {help}", command.get_name(), argument.get_id()));
                }
            }
        }
        assert!(long.is_empty(), "{} flags need a shorter line:\n{}", long.len(), long.join("\n"));
    }

    #[test]
    fn every_command_has_a_manual_page() {
        let mut program = program();
        program.build();
        for name in GROUPS.iter().flat_map(|(_, names)| *names) {
            let mut page = Vec::new();
            clap_mangen::Man::new(program.find_subcommand(name).unwrap().clone()).render(&mut page).unwrap();
            let page = String::from_utf8(page).unwrap();
            assert!(page.contains(".SH OPTIONS") || page.contains(".SH SUBCOMMANDS"), "{name}:\n{page}");
        }
    }
}
