//! `schema` and `completions`.

use clap::CommandFactory;
use clap_complete::Shell;
use plimsoll::diagnose::ledger;
use plimsoll::record::schema;
use plimsoll::{config, diagnose, estimate, gate, gpu, inspect, matrix};

use super::args::{Arguments, Document, Schema};
use super::{Failed, output};

/// Prints the JSON Schema of a document.
pub fn run(which: &Schema) -> Result<u8, Failed> {
    let schema = match which.document {
        Document::Record => schema::record(),
        Document::Differences => schema::differences(),
        Document::Inspect => inspect::schema::inspection(),
        Document::Findings => diagnose::schema::findings(),
        Document::Estimate => estimate::schema::estimate(),
        Document::Ledger => ledger::schema::ledger(),
        Document::Ratchet => gate::ratchet::schema(),
        Document::Calibration => gate::calibration::schema(),
        Document::Matrix => matrix::schema::matrix(),
        Document::Config => config::schema::config(),
        Document::History => gate::history::schema(),
        Document::Gate => gate::report::schema(),
        Document::Devices => gpu::schema(),
        Document::BenchGate => gate::bench::schema::bench_gate(),
    };
    output::json(&schema)?;
    Ok(0)
}

/// Prints completions for `shell`.
pub fn completions(shell: Shell) -> Result<u8, Failed> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "plimsoll", &mut script);
    output::verbatim(&String::from_utf8(script)?)?;
    Ok(0)
}
