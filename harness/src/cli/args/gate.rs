//! The arguments of `gate`, `bench-gate`, `calibrate` and `ratchet`.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use plimsoll::gate::{Allowance, BaselineSource, Conditions, Limit};
use plimsoll::meter::Metric;

use super::run::{CeilingFlags, Run};
use super::{HistoryFlags, ReportFlags, default, duration};

/// What a ceiling that is proposed leaves free.
const HEADROOM: &str = "10% | 4 MiB";

#[derive(Args)]
#[command(
    after_help = "A figure fails where it got worse by more than every part of its limit, and the interval of the change \
    excludes no change; that takes five runs a side. Exit codes: 0 everything holds; 1 a ceiling is broken, a figure got \
    worse or a run failed; 2 bad usage or unreadable; 3 it cannot be told: too few runs, no baseline, other conditions."
)]
pub struct Gate {
    /// Records, or folders of them; those of the same label are runs of one
    #[arg(required = true, value_name = "RECORD")]
    pub records: Vec<PathBuf>,

    /// What figures are held against: a record, a folder of them, `git:REVISION[:PATH]` for those of a commit, or
    /// `history[:BRANCH]` for the latest of a branch in the history
    #[arg(long, value_name = "BASELINE", env = "PLIMSOLL_BASELINE")]
    pub baseline: Option<BaselineSource>,

    /// Make the records the baseline, after they were judged; not where one failed or broke a ceiling
    #[arg(long, env = "PLIMSOLL_UPDATE_BASELINE")]
    pub update_baseline: bool,

    /// What a figure may get worse by: `5% | 64 MiB`, or `peak_rss=..` for figures whose name matches (`*` is any text),
    /// which are then judged alone; the last that matches counts [default: 5% | 4 MiB on the memory of what was run]
    #[arg(long = "limit", value_name = "LIMIT", env = "PLIMSOLL_LIMIT", value_delimiter = ',')]
    pub limits: Vec<Limit>,

    /// The confidence of the interval [default: 0.99]
    #[arg(long, value_name = "P", env = "PLIMSOLL_CONFIDENCE", value_parser = confidence)]
    pub confidence: Option<f64>,

    /// Compare although this differs: semantics, kernel, transparent_huge_pages, allocator, cgroup ..; machine stands for
    /// memory, cpus and cpu
    #[arg(long, value_name = "CONDITION", env = "PLIMSOLL_ALLOW", value_delimiter = ',')]
    pub allow: Vec<Conditions>,

    #[command(flatten)]
    pub ceilings: CeilingFlags,

    #[command(flatten)]
    pub history: HistoryFlags,

    #[command(flatten)]
    pub documents: ReportFlags,

    /// Print the judgement as JSON
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,
}

#[derive(Args)]
#[command(
    after_help = "A regression exceeds every part of its limit, and the interval of its change excludes no change. \
    Exit codes: 0 none regressed; 1 one did; 2 unreadable; 3 it cannot be told, or there is nothing to compare with."
)]
pub struct BenchGate {
    /// Criterion's folder [default: $CRITERION_HOME, $CARGO_TARGET_DIR/criterion or target/criterion]
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,

    /// The baseline, as saved by `cargo bench -- --save-baseline NAME` [default: base, the run before]
    #[arg(long, value_name = "NAME", env = "PLIMSOLL_BASELINE")]
    pub baseline: Option<String>,

    /// What a benchmark may grow by: `5% | 1 MiB`, or `PATTERN=..` for those whose name matches (`*` is any text); the last
    /// that matches counts [default: 5% | 64 KiB]
    #[arg(long = "limit", value_name = "LIMIT", env = "PLIMSOLL_LIMIT", value_delimiter = ',')]
    pub limits: Vec<Limit>,

    /// The confidence of the interval [default: 0.99]
    #[arg(long, value_name = "P", env = "PLIMSOLL_CONFIDENCE", value_parser = confidence)]
    pub confidence: Option<f64>,

    #[command(flatten)]
    pub config: ConfigFlags,

    /// Print the judgement as JSON
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,
}

#[derive(Args)]
#[command(
    after_help = "plimsoll ab --repeat 20 -- ./old --input x --vs ./new --input x: the two take turns, the first of each \
    pair drawn by lot, and the differences within pairs are judged, so that a machine that drifts moves both. Their standard \
    output is left away. Exit codes: 0 the second is no worse; 1 it is, broke a ceiling or failed; 2 bad usage; 3 it cannot \
    be told."
)]
// One run of each of a pair tells nothing.
#[command(mut_arg("repeat", |repeat| repeat.default_value("10")))]
pub struct Ab {
    /// What a figure of the second may be worse by: `5% | 64 MiB`, or `peak_rss=..` for figures whose name matches (`*` is
    /// any text), which are then judged alone; the last that matches counts [default: 5% | 4 MiB on the memory of what was
    /// run]
    #[arg(long = "limit", value_name = "LIMIT", env = "PLIMSOLL_LIMIT", value_delimiter = ',')]
    pub limits: Vec<Limit>,

    /// The confidence of the interval [default: 0.99]
    #[arg(long, value_name = "P", env = "PLIMSOLL_CONFIDENCE", value_parser = confidence)]
    pub confidence: Option<f64>,

    /// The seed of the lots that tell which of a pair is first
    #[arg(long, value_name = "S", env = "PLIMSOLL_SEED", default_value_t = 0)]
    pub seed: u64,

    /// Keep the records of both in this folder, as a.json and b.json
    #[arg(long, value_name = "DIR", env = "PLIMSOLL_RECORDS")]
    pub records: Option<PathBuf>,

    #[command(flatten)]
    pub run: Run,
}

#[derive(Args)]
#[command(after_help = "Exit codes: 0 written; 2 bad usage, or there is such a file; 3 a run failed.")]
pub struct Init {
    /// How often the command is run, to propose ceilings
    #[arg(long, value_name = "N", env = "PLIMSOLL_RUNS", default_value = "10")]
    pub runs: NonZeroU32,

    /// What is left free beyond the worst reading: the larger of the two parts
    #[arg(long, value_name = "ALLOWANCE", env = "PLIMSOLL_HEADROOM", default_value = HEADROOM)]
    pub headroom: Allowance,

    /// The name of the command in the file [default: the program's file name]
    #[arg(long, value_name = "NAME", env = "PLIMSOLL_LABEL")]
    pub label: Option<String>,

    /// Kill a run once it has taken so long
    #[arg(long, value_name = "TIME", env = "PLIMSOLL_RUN_TIMEOUT", value_parser = duration)]
    pub timeout: Option<Duration>,

    /// Take the place of a file that is there
    #[arg(long, env = "PLIMSOLL_FORCE")]
    pub force: bool,

    /// The command that is calibrated; without one the file has no ceilings
    #[arg(trailing_var_arg = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

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

// Which configuration is used.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Configuration")]
pub struct ConfigFlags {
    /// The configuration [default: plimsoll.toml here or above, up to the root of the repository]
    #[arg(long = "config", id = "config_file", value_name = "FILE", env = "PLIMSOLL_CONFIG")]
    pub file: Option<PathBuf>,

    /// Use no configuration
    #[arg(long, conflicts_with = "config_file", env = "PLIMSOLL_NO_CONFIG")]
    pub no_config: bool,

    /// The profile of the configuration
    #[arg(long = "profile", id = "config_profile", value_name = "NAME", env = "PLIMSOLL_PROFILE")]
    pub profile: Option<String>,
}

#[derive(Args)]
#[command(after_help = "Exit codes: 0 ceilings are proposed; 2 bad usage, or FILE cannot be written; 3 a run failed.")]
pub struct Calibrate {
    /// How often the command is run
    #[arg(long, value_name = "N", env = "PLIMSOLL_RUNS", default_value = "10")]
    pub runs: NonZeroU32,

    /// What is left free beyond the worst reading: the larger of the two parts
    #[arg(long, value_name = "ALLOWANCE", env = "PLIMSOLL_HEADROOM", default_value = HEADROOM)]
    pub headroom: Allowance,

    /// Propose for this metric alone, such as peak_rss; may be given several times. peak_pss, gpu_peak and unified_peak are
    /// read only where they are asked for
    #[arg(long = "metric", value_name = "METRIC", env = "PLIMSOLL_METRICS", value_delimiter = ',')]
    pub metrics: Vec<Metric>,

    /// The name of the command in FILE and in what is printed [default: the program's file name]
    #[arg(long, value_name = "NAME", env = "PLIMSOLL_LABEL")]
    pub label: Option<String>,

    /// Put the ceilings into this TOML file, as table [ceilings.NAME]; what else is in it stays
    #[arg(long, value_name = "FILE", env = "PLIMSOLL_WRITE")]
    pub write: Option<PathBuf>,

    /// Kill a run once it has taken so long
    #[arg(long, value_name = "TIME", env = "PLIMSOLL_RUN_TIMEOUT", value_parser = duration)]
    pub timeout: Option<Duration>,

    /// The time between two samples of memory
    #[arg(long, value_name = "TIME", env = "PLIMSOLL_SAMPLE_INTERVAL", default_value = default("run.sample_interval"), value_parser = duration)]
    pub sample_interval: Duration,

    #[command(flatten)]
    pub config: ConfigFlags,

    /// Print the proposal as JSON
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,

    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

#[derive(Args)]
#[command(
    after_help = "Records are written by tests where PLIMSOLL_RECORD_DIR is set. Exit codes: 0 done; 1 with --check, where \
    a ceiling could be lowered; 2 unreadable; 3 no record has a ceiling."
)]
pub struct Ratchet {
    /// Records, or folders of them
    #[arg(required = true, value_name = "RECORD")]
    pub records: Vec<PathBuf>,

    /// Where the tests stand: files, or folders to search
    #[arg(long = "source", value_name = "PATH", env = "PLIMSOLL_SOURCE", default_value = ".", value_delimiter = ',')]
    pub sources: Vec<PathBuf>,

    /// What is left free above the largest reading: the larger of the two parts. A ceiling moves only by more than that
    #[arg(long, value_name = "ALLOWANCE", env = "PLIMSOLL_HEADROOM", default_value = HEADROOM)]
    pub headroom: Allowance,

    /// Change nothing; exit 1 where a ceiling could be lowered
    #[arg(long, env = "PLIMSOLL_CHECK")]
    pub check: bool,

    /// Print what was found as JSON
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,
}

fn confidence(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(confidence) if (0.5..1.0).contains(&confidence) => Ok(confidence),
        _ => Err("a confidence is a number from 0.5 to below 1, such as 0.99".to_owned()),
    }
}
