//! `bench-gate`: the benchmarks of criterion, gungraun and divan against a baseline.

use clap::Args;
use plimsoll::gate::Limit;
use std::path::PathBuf;

use plimsoll::ByteSize;
use plimsoll::bytes::KIB;
use plimsoll::gate::bench::{DEFAULT_BASELINE, judge_benchmarks};
use plimsoll::gate::{Allowance, DEFAULT_CONFIDENCE, Limits};
use plimsoll::meter::{Metric, Subject};
use plimsoll::report::terminal;

use super::args::{ConfigFlags, confidence};
use super::settings::Settings;
use super::{Failed, output};

#[derive(Args)]
#[command(
    after_help = "A regression exceeds every part of its limit, and the interval of its change excludes no change. \
    Exit codes: 0 none regressed; 1 one did; 2 unreadable; 3 undecided, or there is nothing to compare with."
)]
pub struct BenchGate {
    /// Criterion's or gungraun's folder, or a saved output [default: target/criterion]
    ///
    /// Recognized by its contents: criterion's folder, gungraun's folder with summaries (`--save-summary`), or a file
    /// with what divan or gungraun (`--output-format=json`) printed. $CRITERION_HOME and $CARGO_TARGET_DIR/criterion
    /// come first; target/gungraun is the default if there is no folder of criterion.
    #[arg(value_name = "PATH")]
    pub path: Option<PathBuf>,

    /// The name of a saved baseline, or an earlier output [default: base]
    ///
    /// `cargo bench -- --save-baseline NAME` saves one; `base` is the run before. Divan saves no baselines: name the file with its earlier output.
    #[arg(long, value_name = "NAME|FILE", env = "PLIMSOLL_BASELINE")]
    pub baseline: Option<String>,

    /// By how much a benchmark may grow, such as '5% | 1 MiB'; may be repeated
    ///
    /// `PATTERN=..` is for benchmarks whose name matches (`*` is any text); the last match counts. Default: 5% | 1 MiB
    /// of resident memory, 5% | 64 KiB of anything else.
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

/// The limit on the growth of resident memory if none is given.
const RESIDENT: &str = "5% | 1 MiB";

/// Judges every benchmark; 1 if one regressed, 3 if undecided.
pub fn run(arguments: BenchGate, settings: Option<&Settings>) -> Result<u8, Failed> {
    let set = Settings::of(settings, None)?;
    let path = arguments.path.unwrap_or_else(default_folder);
    let named = arguments.baseline.or_else(|| set.get("bench_gate.baseline").map(|set| set.value.text()));
    let baseline = named.as_deref().unwrap_or(DEFAULT_BASELINE);
    let limits = if arguments.limits.is_empty() { set.limits("bench_gate") } else { arguments.limits };
    let confidence = arguments.confidence.or(set.confidence("bench_gate")).unwrap_or(DEFAULT_CONFIDENCE);
    // Repeats within one process share the state of allocator and kernel, so their interval does not show how much the
    // next process differs: up to a MiB for resident memory, nothing for what an allocator counts.
    let resident = Metric::ALL.into_iter().filter(|metric| metric.facts().of == Subject::Processes);
    let resident =
        resident.map(|metric| format!("*{metric}*={RESIDENT}").parse()).collect::<Result<Vec<Limit>, _>>()?;
    let limits = resident.into_iter().chain(limits).collect();
    let limits = Limits::new(limits, Allowance::new(5.0, ByteSize::new(64 * KIB))?);
    let gate = judge_benchmarks(&path, baseline, &limits, confidence)?;
    if arguments.json {
        output::json(&gate)?;
    } else {
        output::text(&terminal::bench_gate(&gate, &super::screen()))?;
    }
    Ok(gate.exit_code())
}

/// Where criterion writes when it is started by cargo; where gungraun does, if only that folder exists.
fn default_folder() -> PathBuf {
    let folder = |variable, name| {
        let of = |name| std::env::var_os(name).map(PathBuf::from);
        of(variable)
            .or_else(|| of("CARGO_TARGET_DIR").map(|target| target.join(name)))
            .unwrap_or_else(|| PathBuf::from("target").join(name))
    };
    let criterion = folder("CRITERION_HOME", "criterion");
    let gungraun = folder("GUNGRAUN_HOME", "gungraun");
    if !criterion.exists() && gungraun.exists() { gungraun } else { criterion }
}
