//! The commands in groups, as `plimsoll --help` and the reference show them.

use std::fmt::Write as _;

use clap::Command;
use clap::builder::Styles;

/// Every command, grouped by purpose; the first of a group is the one to begin with.
pub const GROUPS: [(&str, &[&str]); 7] = [
    ("Hold memory", &["run", "init", "config", "calibrate", "ratchet", "mark", "doctor"]),
    ("Check kernels", &["check", "validate", "profile", "kernel", "devices"]),
    ("Compare and gate", &["gate", "ab", "compare", "history", "bisect", "bench-gate", "matrix"]),
    ("Captures", &["generate", "inspect", "pack", "unpack", "verify", "store"]),
    ("Beyond one machine", &["shard", "merge"]),
    ("Diagnose", &["diagnose", "estimate", "ledger"]),
    ("Other", &["report", "schema", "completions", "man"]),
];

/// `program` with a help that lists commands in groups.
pub fn in_groups(program: Command) -> Command {
    let styles = Styles::styled();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let widest = GROUPS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max().unwrap_or(0);
    let mut list = String::new();
    for (title, names) in GROUPS {
        // Writing to a string cannot fail.
        let _ = writeln!(list, "{header}{title}:{header:#}");
        for name in names {
            let about = program.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
            let _ = writeln!(list, "  {literal}{name:<widest$}{literal:#}  {}", about.unwrap_or_default());
        }
        list.push('\n');
    }
    program.help_template(format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n\
         Begin with `plimsoll run -- CMD`, `plimsoll check CAPTURE --kernel K` or `plimsoll diagnose LOG`.\n\n\
         {list}{header}Options:{header:#}\n{{options}}\n\n\
         `plimsoll COMMAND --help` explains a command and its flags.{{after-help}}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::arguments::program;

    #[test]
    fn every_command_is_in_one_group() {
        let program = program();
        let mut shown: Vec<_> =
            program.get_subcommands().filter(|one| !one.is_hide_set()).map(|one| one.get_name()).collect();
        let mut grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(shown, grouped);
    }
}
