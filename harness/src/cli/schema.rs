//! `schema` and `completions`.

use clap::CommandFactory;
use clap_complete::Shell;
use plimsoll::inspect;
use plimsoll::record::schema;

use super::Failed;
use super::args::{Arguments, Document, Schema};

/// Prints the JSON Schema of a document.
pub fn run(which: &Schema) -> Result<u8, Failed> {
    let schema = match which.document {
        Document::Record => schema::record(),
        Document::Differences => schema::differences(),
        Document::Inspect => inspect::schema::inspection(),
    };
    println!("{}", serde_json::to_string_pretty(&schema)?);
    Ok(0)
}

/// Prints completions for `shell`.
pub fn completions(shell: Shell) {
    clap_complete::generate(shell, &mut Arguments::command(), "plimsoll", &mut std::io::stdout());
}
