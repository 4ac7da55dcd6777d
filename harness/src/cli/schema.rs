//! `schema` and `completions`.

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, ValueHint};
use clap_complete::Shell;
use plimsoll::documents::DOCUMENTS;

use super::{Failed, output};

#[derive(Args)]
pub struct Schema {
    /// Which document
    #[arg(default_value = "record", value_parser = words())]
    pub document: String,
}

fn words() -> PossibleValuesParser {
    DOCUMENTS.map(|document| PossibleValue::new(document.word).help(document.about)).into()
}

/// Prints the JSON Schema of a document.
pub fn run(which: &Schema) -> Result<u8, Failed> {
    let document = DOCUMENTS.iter().find(|document| document.word == which.document).expect("the parser knows them");
    output::json(&(document.schema)())?;
    Ok(0)
}

/// Prints completions of `command` for `shell`.
pub fn completions(shell: Shell, command: &mut clap::Command) -> Result<u8, Failed> {
    let mut script = Vec::new();
    clap_complete::generate(shell, command, "plimsoll", &mut script);
    let mut script = String::from_utf8(script)?;
    if shell == Shell::Bash {
        script += &programs_in_bash(command);
    }
    output::verbatim(&script)?;
    Ok(0)
}

/// Completes the names of programs after commands that run one, which clap's script for bash leaves to files.
fn programs_in_bash(command: &clap::Command) -> String {
    let runs = |command: &clap::Command| {
        command.get_arguments().any(|argument| argument.get_value_hint() == ValueHint::CommandWithArguments)
    };
    let names: Vec<&str> =
        command.get_subcommands().filter(|command| runs(command)).map(clap::Command::get_name).collect();
    PROGRAMS_IN_BASH.replace("COMMANDS", &names.join("|"))
}

/// A program is named right behind the command or `--`; its arguments are files.
const PROGRAMS_IN_BASH: &str = r#"
_plimsoll_or_program() {
    _plimsoll "$@"
    case "${COMP_WORDS[1]}" in
        COMMANDS)
            if [[ "$2" != -* && ( $COMP_CWORD -eq 2 || "${COMP_WORDS[COMP_CWORD-1]}" == -- ) ]] ; then
                COMPREPLY=( $(compgen -c -- "$2") )
            fi
            ;;
    esac
}

complete -F _plimsoll_or_program -o bashdefault -o default plimsoll
"#;
