//! `bench-gate`: criterion's benchmarks against a baseline.

use std::path::PathBuf;

use plimsoll::ByteSize;
use plimsoll::bytes::KIB;
use plimsoll::gate::bench::{DEFAULT_BASELINE, judge_folder};
use plimsoll::gate::{Allowance, DEFAULT_CONFIDENCE, Limits};
use plimsoll::report::terminal;

use super::args::BenchGate;
use super::config::Settings;
use super::{Failed, output};

/// Judges every benchmark; 1 where one regressed, 3 where that cannot be told.
pub fn run(arguments: BenchGate, settings: Option<&Settings>) -> Result<u8, Failed> {
    let set = Settings::of(settings, None)?;
    let folder = arguments.folder.unwrap_or_else(criterion_folder);
    let named = arguments.baseline.or_else(|| set.get("bench_gate.baseline").map(|set| set.value.text()));
    let baseline = named.as_deref().unwrap_or(DEFAULT_BASELINE);
    let limits = if arguments.limits.is_empty() { set.limits("bench_gate") } else { arguments.limits };
    let confidence = arguments.confidence.or(set.confidence("bench_gate")).unwrap_or(DEFAULT_CONFIDENCE);
    let limits = Limits::new(limits, Allowance::new(5.0, ByteSize::new(64 * KIB))?);
    let gate = judge_folder(&folder, baseline, &limits, confidence)?;
    if arguments.json {
        output::json(&gate)?;
    } else {
        output::text(&terminal::bench_gate(&gate, &super::screen()))?;
    }
    Ok(gate.exit_code())
}

/// Where criterion writes when it is started by cargo.
fn criterion_folder() -> PathBuf {
    let of = |name| std::env::var_os(name).map(PathBuf::from);
    of("CRITERION_HOME")
        .or_else(|| of("CARGO_TARGET_DIR").map(|target| target.join("criterion")))
        .unwrap_or_else(|| PathBuf::from("target/criterion"))
}
