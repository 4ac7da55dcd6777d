//! `gate`: records held against ceilings and a baseline.

use std::path::{Path, PathBuf};

use plimsoll::ByteSize;
use plimsoll::bytes::MIB;
use plimsoll::gate::{
    Allowance, Baseline, BaselineSource, Conditions, DEFAULT_FOLDER, GateReport, Limits, Outcome, Rules, Subject,
    evaluate, write_baseline,
};
use plimsoll::record::Record;
use plimsoll::report::terminal;

use super::args::Gate;
use super::{Failed, output, records};

/// Judges the records; 1 where one fails, 3 where that cannot be told.
pub fn run(arguments: &Gate) -> Result<u8, Failed> {
    let records = records::read(&arguments.records)?;
    if records.is_empty() {
        let paths: Vec<String> = arguments.records.iter().map(|path| path.display().to_string()).collect();
        return Err(format!(
            "there is no record in {}: `plimsoll run --record FILE -- CMD` writes one",
            paths.join(", ")
        )
        .into());
    }
    let source = arguments.baseline.clone().map(|source| source.or_folder(Path::new(DEFAULT_FOLDER)));
    let baseline = source.as_ref().map(|source| baseline(source, arguments)).transpose()?;
    let default = Allowance::new(5.0, ByteSize::new(4 * MIB))?;
    let rules = |_: &Subject| Rules {
        ceilings: arguments.ceilings.ceilings(),
        limits: Limits::new(arguments.limits.clone(), default),
        confidence: arguments.confidence,
        allow: arguments.allow.iter().flat_map(|Conditions(conditions)| conditions).copied().collect(),
    };
    let report = evaluate(&records, baseline.as_ref(), &rules);
    if arguments.update_baseline {
        return update(arguments, source.as_ref(), &records, &report);
    }
    show(&report, arguments.json)?;
    Ok(report.exit_code())
}

fn baseline(source: &BaselineSource, arguments: &Gate) -> Result<Baseline, Failed> {
    let remedy = match source {
        BaselineSource::Path(path) => format!("make one with `plimsoll gate {}`", updating(path, &arguments.records)),
        BaselineSource::Git { revision, path } => {
            let folder = path.as_deref().unwrap_or(Path::new(DEFAULT_FOLDER));
            format!(
                "make one with `plimsoll gate {}` and commit it to {revision}",
                updating(folder, &arguments.records)
            )
        }
    };
    Ok(Baseline { name: source.to_string(), records: source.read()?, remedy })
}

/// The arguments that make the baseline at `path`.
fn updating(path: &Path, records: &[PathBuf]) -> String {
    let words = records.iter().map(|path| super::quoted(&path.to_string_lossy()));
    let path = super::quoted(&path.to_string_lossy());
    let words: Vec<String> = words.chain(["--baseline".to_owned(), path, "--update-baseline".to_owned()]).collect();
    words.join(" ")
}

/// Makes the records the baseline, unless one of them failed or broke a ceiling: such a run is no measure of others.
fn update(
    arguments: &Gate,
    source: Option<&BaselineSource>,
    records: &[Record],
    report: &GateReport,
) -> Result<u8, Failed> {
    let path = match source {
        None => Path::new(DEFAULT_FOLDER),
        Some(BaselineSource::Path(path)) => path,
        Some(source @ BaselineSource::Git { .. }) => {
            let words =
                format!("{source} is history: update the folder with --baseline DIR --update-baseline, and commit it");
            return Err(words.into());
        }
    };
    let failed = |subject: &&plimsoll::gate::SubjectVerdict| {
        subject.outcome == Outcome::Fail && subject.figures.iter().all(|figure| figure.outcome != Outcome::Fail)
            || subject.verdicts.iter().any(|verdict| verdict.status == plimsoll::record::VerdictStatus::Fail)
    };
    show(report, arguments.json)?;
    if let Some(subject) = report.subjects.iter().find(failed) {
        super::report_message(&format!(
            "the baseline {} stays as it is: {} failed or broke a ceiling",
            path.display(),
            subject.subject
        ));
        return Ok(1);
    }
    for file in write_baseline(path, records)? {
        output::note(&format_args!("wrote {}", file.display()));
    }
    Ok(0)
}

fn show(report: &GateReport, json: bool) -> Result<(), Failed> {
    if json { output::json(report) } else { output::text(&terminal::gate(report, &super::screen())) }
}
