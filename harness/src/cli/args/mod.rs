//! The arguments of every command, but of those whose files hold their own.

mod check;
mod diagnose;
mod gate;
mod generate;
mod history;
mod inspect;
mod report;
mod run;

use std::time::Duration;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

use super::estimate::Estimate;
use super::isolate::Isolate;
use super::kernel::KernelCommand;
use super::ledger::Ledger;
use super::matrix::Matrix;
use super::pack::Pack;
use super::store::StoreArguments;
use super::unpack::Unpack;
use super::verify::Verify;

pub use check::{Check, ComparisonFlags, DigestMode, MemoryFlags, OverCapRule, ProtocolName, TimingFlags, VerifyMode};
pub use diagnose::Diagnose;
pub use gate::{Ab, BenchGate, Calibrate, ConfigCommand, ConfigFlags, ConfigShow, Gate, Init, Ratchet};
pub use generate::{Generate, PresetName};
pub use history::{HistoryAdd, HistoryCommand, HistoryFlags, HistoryRemove, HistoryShow};
pub use inspect::{Compare, Devices, DigestFunctionName, Document, Inspect, Schema};
pub use report::{Report, ReportFlags};
pub use run::{Mark, Run};

/// Test harness and regression benchmarks for memory: captured operator inputs, ceilings, records.
#[derive(Parser)]
#[command(name = "plimsoll", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "Exit codes: 0 holds; 1 a ceiling, a comparison or a gate failed; 2 bad usage or unreadable \
    input; 3 not measurable or inconclusive.")]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

// The arguments of a subcommand are laid out once it is the one that was asked for: there are many.
#[derive(Subcommand)]
#[command(defer = true)]
pub enum Command {
    /// Validate a kernel on every entry of a capture, give the memory back, then profile it in batches
    Check(Check),
    /// Launch a kernel once on every entry of a capture and compare its outputs
    Validate(Check),
    /// Time a kernel on every entry of a capture, in batches capped by bytes
    Profile(Check),
    /// Run a command and the processes below it under the meter, and judge their memory
    Run(Run),
    /// Begin a phase of the run that this is called in, and return once it has begun
    Mark(Mark),
    /// Write a synthetic capture: deterministic by seed, any size, constant memory
    Generate(Generate),
    /// Show what changed between two records; exit 1 where their semantics differ
    Compare(Compare),
    /// Show what is inside a file of torch.save, or the files of a folder, from headers alone
    Inspect(Inspect),
    /// Begin a kernel: its source, how it is built and checked
    #[command(subcommand)]
    Kernel(KernelCommand),
    /// The NVIDIA GPUs that kernels can be launched on; exit 3 where there is none
    Devices(Devices),
    /// Keep the entries of a folder in a store, each storage once
    Pack(Pack),
    /// Write entries of a store as the files that they were, byte for byte
    Unpack(Unpack),
    /// Prove that a store gives every file back, without writing; exit 1 where it does not
    Verify(Verify),
    /// Look into a store, or collect its garbage
    Store(StoreArguments),
    /// Say what went wrong: find every memory event in logs, decode it and advise
    Diagnose(Box<Diagnose>),
    /// What training a model should cost: fixed state, activations, temporaries; whether it fits, and what to do
    Estimate(Box<Estimate>),
    /// Bytes a parameter by stage, measured beside expected; exit 1 where there is an excess
    Ledger(Box<Ledger>),
    /// Configurations of a command beside a baseline, run in turn under the meter or read from their logs
    Matrix(Matrix),
    /// Judge records by ceilings and against a baseline; exit 1 where one fails
    Gate(Gate),
    /// Run two commands in turns and judge the second by the first; exit 1 where it is worse
    Ab(Ab),
    /// Show what plimsoll.toml sets, and where each value comes from
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Keep records by commit in an SQLite file, and show what figures were over the commits
    #[command(subcommand)]
    History(HistoryCommand),
    /// Write a plimsoll.toml with comments, its ceilings from runs of a command
    Init(Init),
    /// Judge the benchmarks of criterion against a baseline; exit 1 where one regressed
    BenchGate(BenchGate),
    /// Run a command several times and propose ceilings for it
    Calibrate(Calibrate),
    /// Lower ceilings of tests in their source, where records show that usage fell
    Ratchet(Ratchet),
    /// Write records as documents: a page, Markdown, JUnit, annotations, formats of metrics
    Report(Report),
    /// Print the JSON Schema of a document
    Schema(Schema),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Judge a test of another runner (started by the pytest plugin)
    #[command(hide = true)]
    Isolate(Isolate),
    /// Serve a supervisor (started by `check`, `validate` and `profile`)
    #[command(hide = true)]
    Worker,
}

/// What a flag is if neither it nor anything else sets it: the default of the setting of `plimsoll.toml` with this key.
fn default(key: &str) -> String {
    plimsoll::config::default_of(key).expect("a key of a setting that has a default")
}

fn duration(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(time) if !time.is_zero() => Ok(time),
        Ok(_) => Err("it has to be longer than nothing".to_owned()),
        Err(e) => Err(format!("{e}: write a number and a unit, such as 10ms, 60s or 5min")),
    }
}
