//! `schema` and `completions`.

use clap::{Args, ValueEnum};
use clap_complete::Shell;
use plimsoll::diagnose::ledger;
use plimsoll::record::schema;
use plimsoll::{config, diagnose, estimate, gate, gpu, inspect, matrix};

use super::{Failed, output};

#[derive(Args)]
pub struct Schema {
    /// Which document
    #[arg(default_value = "record")]
    pub document: Document,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Document {
    /// The record of a run, `plimsoll.record/1`
    Record,
    /// What changed between two records, `plimsoll.differences/1`
    Differences,
    /// What is inside files, `plimsoll.inspect/1`
    Inspect,
    /// What went wrong, `plimsoll.findings/1`
    Findings,
    /// What training a model should cost, `plimsoll.estimate/1`
    Estimate,
    /// Bytes a parameter by stage, `plimsoll.ledger/1`
    Ledger,
    /// Configurations beside a baseline, `plimsoll.matrix/1`
    Matrix,
    /// The configuration, plimsoll.toml
    Config,
    /// Figures over the commits, `plimsoll.history/1`
    History,
    /// Records, judged, `plimsoll.gate/1`
    Gate,
    /// The GPUs of this machine, `plimsoll.devices/1`
    Devices,
    /// The benchmarks of criterion, judged, `plimsoll.bench-gate/1`
    BenchGate,
    /// Ceilings that are proposed, `plimsoll.calibration/1`
    Calibration,
    /// Ceilings that can be lowered, `plimsoll.ratchet/1`
    Ratchet,
}

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

/// Prints completions of `command` for `shell`.
pub fn completions(shell: Shell, command: &mut clap::Command) -> Result<u8, Failed> {
    let mut script = Vec::new();
    clap_complete::generate(shell, command, "plimsoll", &mut script);
    output::verbatim(&String::from_utf8(script)?)?;
    Ok(0)
}
