//! `schema` and `completions`.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
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
    output::verbatim(&String::from_utf8(script)?)?;
    Ok(0)
}
