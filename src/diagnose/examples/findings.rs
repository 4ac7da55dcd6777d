//! Diagnoses logs, and prints one line of `plimsoll.findings/1` for each: `cargo run -p plimsoll-diagnose --example
//! findings FILE..`.

use std::env;
use std::fs::File;
use std::process::ExitCode;

use plimsoll_diagnose::{Analysis, DiagnoseError};

fn main() -> ExitCode {
    let names: Vec<String> = env::args().skip(1).collect();
    if names.is_empty() {
        eprintln!("usage: findings FILE..");
        return ExitCode::from(2);
    }
    for name in names {
        match findings(&name) {
            Ok(json) => println!("{json}"),
            Err(error) => {
                eprintln!("error: {error}");
                return ExitCode::from(2);
            }
        }
    }
    ExitCode::SUCCESS
}

fn findings(name: &str) -> Result<String, DiagnoseError> {
    let failed = |source| DiagnoseError::Io { name: name.to_owned(), source };
    let mut analysis = Analysis::default();
    // Only texts are read here: records and snapshots have readers of their own.
    analysis.read_with(name, File::open(name).map_err(failed)?, |_, _| Ok(0))?;
    serde_json::to_string(&analysis.findings(None)).map_err(|error| failed(error.into()))
}
