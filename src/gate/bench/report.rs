//! [`BenchGate`]: the judgement of benchmarks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::gate::{Comparison, Outcome, Summary, Unit};
use plimsoll_memory::text::counted;

/// The judgement of benchmarks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchGate {
    /// `plimsoll.bench-gate/1`.
    #[schemars(extend("const" = "plimsoll.bench-gate/1"))]
    pub schema: String,
    /// The folder or file with the benchmarks.
    pub folder: String,
    /// The baseline that benchmarks were compared with: its name, or the path to an earlier output.
    pub baseline: String,
    /// The benchmarks, by name.
    pub benchmarks: Vec<BenchmarkVerdict>,
    /// `fail` if a benchmark failed, else `inconclusive` if one is or if none could be compared, else `pass`.
    pub outcome: Outcome,
    /// The verdict on one line.
    pub message: String,
}

/// The format of [`BenchGate`].
pub(super) const SCHEMA: &str = "plimsoll.bench-gate/1";

/// The judgement of one benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchmarkVerdict {
    /// Its name, such as `compare float32 peak_heap/16 MiB` or `parse::large Ir`.
    pub id: String,
    /// The metric in its name; absent if there is none, as with wall time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// The unit of its figures.
    pub unit: Unit,
    /// Its figures.
    pub current: Summary,
    /// The comparison; absent without a baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// Criterion's own comparison with the same baseline, if it made one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub criterion: Option<CriterionChange>,
    /// Why it was not compared, or another remark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Criterion's own estimate of the median's change by bootstrap, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CriterionChange {
    /// The change.
    pub percent: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The confidence level of the interval: 0.95 unless the benchmark sets another.
    pub confidence: f64,
}

impl BenchGate {
    pub(super) fn new(folder: String, baseline: &str, benchmarks: Vec<BenchmarkVerdict>, hint: &str) -> Self {
        let count = |wanted| {
            let of = |verdict: &&BenchmarkVerdict| verdict.comparison.as_ref().is_some_and(|one| one.outcome == wanted);
            benchmarks.iter().filter(of).count()
        };
        let (failed, inconclusive) = (count(Outcome::Fail), count(Outcome::Inconclusive));
        let compared = benchmarks.iter().filter(|verdict| verdict.comparison.is_some()).count();
        let benches = |count: usize| counted(count, "benchmark", "benchmarks");
        let (outcome, message) = if failed > 0 {
            (Outcome::Fail, format!("{failed} of {} regressed against `{baseline}`", benches(compared)))
        } else if compared == 0 {
            (Outcome::Inconclusive, format!("nothing was compared: {hint}"))
        } else if inconclusive > 0 {
            let message = format!("{inconclusive} of {} cannot be distinguished from `{baseline}`", benches(compared));
            (Outcome::Inconclusive, message)
        } else {
            (Outcome::Pass, format!("none of {} regressed against `{baseline}`", benches(compared)))
        };
        let (schema, baseline) = (SCHEMA.to_owned(), baseline.to_owned());
        Self { schema, folder, baseline, benchmarks, outcome, message }
    }

    /// The exit code of the command: 0 if nothing regressed, 1 if something did, 3 if undecided.
    pub fn exit_code(&self) -> u8 {
        self.outcome.exit_code()
    }
}
