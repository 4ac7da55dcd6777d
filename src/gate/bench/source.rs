//! [`judge_benchmarks`]: finds out which harness wrote an output, and judges it.

use std::path::Path;

use super::divan;
use super::error::BenchError;
use super::files::{bytes, exists};
use super::folder::{DEFAULT_BASELINE, judge_folder};
use super::gungraun::{self, Counts};
use super::report::{BenchGate, BenchmarkVerdict};
use crate::gate::Limits;

/// Judges every benchmark in `path`, each by the limit for its name, with intervals of this `confidence`.
///
/// `path` is criterion's folder, the folder in which gungraun saved its summaries, or a file with what divan or
/// gungraun printed; its contents decide. `baseline` is the name of a baseline that criterion or gungraun saved, or the
/// path to an earlier output of divan or gungraun.
///
/// # Errors
/// [`BenchError`] if a file cannot be read, or is the output of none of them.
pub fn judge_benchmarks(
    path: &Path,
    baseline: &str,
    limits: &Limits,
    confidence: f64,
) -> Result<BenchGate, BenchError> {
    let Some(output) = Output::read(path)? else { return judge_folder(path, baseline, limits, confidence) };
    let earlier = earlier(&output, baseline)?;
    let shown = match &output {
        Output::Gungraun(now) if earlier.is_none() => gungraun::baseline_of(now, baseline),
        _ => baseline.to_owned(),
    };
    let mut verdicts = verdicts(&output, earlier.as_ref(), baseline, limits, confidence)
        .ok_or_else(|| BenchError::OtherHarness { path: baseline.into() })?;
    verdicts.sort_by(|a, b| a.id.cmp(&b.id));
    let hint = hint(path, &output, verdicts.is_empty(), earlier.is_some());
    Ok(BenchGate::new(path.display().to_string(), &shown, verdicts, &hint))
}

/// What a harness wrote.
enum Output {
    Divan(divan::Runs),
    Gungraun(Vec<Counts>),
}

impl Output {
    /// Reads a file or a folder of summaries; `None` if a folder has none.
    fn read(path: &Path) -> Result<Option<Self>, BenchError> {
        if path.is_dir() {
            let summaries = gungraun::summaries(path)?;
            return match &summaries[..] {
                [] => Ok(None),
                paths => gungraun::read_all(paths).map(|all| Some(Self::Gungraun(all))),
            };
        }
        let contents = bytes(path)?;
        let text = String::from_utf8_lossy(&contents);
        if divan::is_table(&text) {
            return divan::read(path, &text).map(|runs| Some(Self::Divan(runs)));
        }
        if gungraun::is_summary(&contents) {
            return gungraun::read(path, &contents).map(|all| Some(Self::Gungraun(all)));
        }
        Err(BenchError::Unknown { path: path.to_owned() })
    }
}

/// Reads the baseline, if it is a path rather than a name.
fn earlier(output: &Output, baseline: &str) -> Result<Option<Output>, BenchError> {
    let path = Path::new(baseline);
    // The default is a name. Divan saves no baselines, so that any other is a path for it.
    let named = baseline == DEFAULT_BASELINE
        || match output {
            Output::Gungraun(now) => gungraun::is_named(now, baseline) || !exists(path)?,
            Output::Divan(_) => false,
        };
    if named {
        return Ok(None);
    }
    Output::read(path)?.map(Some).ok_or_else(|| BenchError::Unknown { path: path.to_owned() })
}

/// `None` if the two are of different harnesses.
fn verdicts(
    output: &Output,
    earlier: Option<&Output>,
    baseline: &str,
    limits: &Limits,
    confidence: f64,
) -> Option<Vec<BenchmarkVerdict>> {
    Some(match (output, earlier) {
        (Output::Divan(now), None) => divan::verdicts(now, None, limits, confidence),
        (Output::Divan(now), Some(Output::Divan(before))) => divan::verdicts(now, Some(before), limits, confidence),
        (Output::Gungraun(now), None) => gungraun::verdicts(now, None, baseline, limits, confidence),
        (Output::Gungraun(now), Some(Output::Gungraun(before))) => {
            gungraun::verdicts(now, Some(before), baseline, limits, confidence)
        }
        _ => return None,
    })
}

/// What to do if nothing can be compared.
fn hint(path: &Path, output: &Output, empty: bool, compared: bool) -> String {
    let path = path.display();
    match output {
        _ if empty => format!("there is no figure to judge in {path}"),
        _ if compared => format!("no benchmark of {path} is in the baseline"),
        Output::Divan(_) => "name the saved output of an earlier `cargo bench` with --baseline FILE".to_owned(),
        Output::Gungraun(_) => "run `cargo bench -- --save-summary` twice, or with --baseline=NAME after \
            --save-baseline=NAME"
            .to_owned(),
    }
}
