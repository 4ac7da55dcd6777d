//! `gate`: judges records by ceilings and against a baseline.

use clap::Args;
use std::path::{Path, PathBuf};

use plimsoll::ByteSize;
use plimsoll::bytes::MIB;
use plimsoll::ceiling::Ceilings;
use plimsoll::config::Resolved;
use plimsoll::gate::{
    Allowance, Baseline, BaselineSource, Condition, Conditions, DEFAULT_CONFIDENCE, DEFAULT_FOLDER, GateReport, Limit,
    Limits, Outcome, Rules, Subject, SubjectVerdict, evaluate, write_baseline,
};
use plimsoll::record::{Record, VerdictStatus};
use plimsoll::report::terminal;

use super::args::{CeilingFlags, HistoryFlags, ReportFlags, confidence};
use super::settings::Settings;
use super::{Failed, output, records};

#[derive(Args)]
#[command(
    after_help = "A figure fails where it got worse by more than every part of its limit, and the interval of the change \
    excludes no change; that takes five runs a side. Exit codes: 0 everything holds; 1 a ceiling is broken, a figure got \
    worse or a run failed; 2 bad usage or unreadable; 3 not decided: too few runs, no baseline, other conditions."
)]
pub struct Gate {
    /// Records, or folders of them; those of the same label are runs of one
    #[arg(required = true, value_name = "RECORD")]
    pub records: Vec<PathBuf>,

    /// A record, a folder of records, `git:REVISION[:PATH]`, or `history[:BRANCH]`
    ///
    /// What figures are compared with. `git:` reads the records of a commit, `history` the latest of a branch.
    #[arg(long, value_name = "BASELINE", env = "PLIMSOLL_BASELINE")]
    pub baseline: Option<BaselineSource>,

    /// Make the records the baseline, unless one failed or broke a ceiling
    #[arg(long, env = "PLIMSOLL_UPDATE_BASELINE")]
    pub update_baseline: bool,

    /// By how much a figure may get worse, such as '5% | 64 MiB'; may be repeated
    ///
    /// `peak_rss=..` is for figures whose name matches (`*` is any text), which are then judged alone; the last match
    /// counts. Default: 5% | 4 MiB on the memory of what was run.
    #[arg(long = "limit", value_name = "LIMIT", env = "PLIMSOLL_LIMIT", value_delimiter = ',')]
    pub limits: Vec<Limit>,

    /// The confidence of the interval [default: 0.99]
    #[arg(long, value_name = "P", env = "PLIMSOLL_CONFIDENCE", value_parser = confidence)]
    pub confidence: Option<f64>,

    /// Compare although this differs, such as semantics, kernel or machine
    ///
    /// Also transparent_huge_pages, allocator, cgroup and the like; `machine` means memory, cpus and cpu.
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

/// Judges the records; 1 if one fails, 3 if undecided.
pub fn run(arguments: &Gate, settings: Option<&Settings>) -> Result<u8, Failed> {
    arguments.documents.check()?;
    let records = records::some(&arguments.records)?;
    let of_all = Settings::of(settings, None)?;
    let folder = of_all.get("gate.folder").map_or_else(|| DEFAULT_FOLDER.to_owned(), |set| set.value.text());
    let source = arguments.baseline.clone().or_else(|| of_all.baseline());
    let source = source.map(|source| source.or_folder(Path::new(&folder)));
    let baseline = source.as_ref().map(|source| baseline(source, arguments, settings)).transpose()?;
    let rules = |subject: &Subject| {
        let allow = arguments.allow.iter().flat_map(|Conditions(conditions)| conditions).copied().collect();
        let set = Settings::of(settings, Some(&subject.label)).expect("the profile was found before");
        rules(&set, arguments.ceilings.ceilings(), &arguments.limits, arguments.confidence, allow)
    };
    let report = evaluate(&records, baseline.as_ref(), &rules);
    if arguments.update_baseline {
        let path = source.unwrap_or_else(|| BaselineSource::Path(PathBuf::from(folder)));
        return update(arguments, &path, &records, &report);
    }
    show(arguments, &report, &records)?;
    Ok(report.exit_code())
}

/// The rules of the gate: flags, or the settings if there are none. A list on the command line replaces the configured
/// list; ceilings are replaced one by one.
pub fn rules(
    set: &Resolved,
    flags: Ceilings,
    limits: &[Limit],
    confidence: Option<f64>,
    allow: Vec<Condition>,
) -> Rules {
    let mut ceilings = flags;
    for ceiling in set.ceilings().iter() {
        // Keep what a flag limits.
        let _ = ceilings.add(ceiling);
    }
    let limits = if limits.is_empty() { set.limits("gate") } else { limits.to_vec() };
    let default = Allowance::new(5.0, ByteSize::new(4 * MIB)).expect("it is a share");
    Rules {
        ceilings,
        limits: Limits::new(limits, default),
        confidence: confidence.or(set.confidence("gate")).unwrap_or(DEFAULT_CONFIDENCE),
        allow: if allow.is_empty() { set.allow() } else { allow },
    }
}

fn baseline(source: &BaselineSource, arguments: &Gate, settings: Option<&Settings>) -> Result<Baseline, Failed> {
    let words =
        arguments.records.iter().map(|path| super::quoted(&path.to_string_lossy())).collect::<Vec<_>>().join(" ");
    let remedy = match source {
        BaselineSource::History { .. } => format!("add to it with `plimsoll history add {words}`"),
        BaselineSource::Path(path) => format!("make one with `plimsoll gate {}`", updating(path, &arguments.records)),
        BaselineSource::Git { revision, path } => {
            let folder = path.as_deref().unwrap_or(Path::new(DEFAULT_FOLDER));
            format!(
                "make one with `plimsoll gate {}` and commit it to {revision}",
                updating(folder, &arguments.records)
            )
        }
    };
    let records = match source {
        BaselineSource::History { branch } => {
            let path = super::history::file(&arguments.history, settings)?;
            super::history::baseline(&path, branch.as_deref(), settings)?
        }
        source => source.read()?,
    };
    Ok(Baseline { name: source.to_string(), records, remedy })
}

/// The arguments that make the baseline at `path`.
fn updating(path: &Path, records: &[PathBuf]) -> String {
    let words = records.iter().map(|path| super::quoted(&path.to_string_lossy()));
    let path = super::quoted(&path.to_string_lossy());
    let words: Vec<String> = words.chain(["--baseline".to_owned(), path, "--update-baseline".to_owned()]).collect();
    words.join(" ")
}

/// Makes the records the baseline, unless one failed or broke a ceiling: such a run is not comparable.
fn update(arguments: &Gate, source: &BaselineSource, records: &[Record], report: &GateReport) -> Result<u8, Failed> {
    let path = match source {
        BaselineSource::Path(path) => path,
        BaselineSource::Git { .. } | BaselineSource::History { .. } => {
            let words =
                format!("{source} is history: update the folder with --baseline DIR --update-baseline, and commit it");
            return Err(words.into());
        }
    };
    let failed = |subject: &&SubjectVerdict| {
        subject.outcome == Outcome::Fail && subject.figures.iter().all(|figure| figure.outcome != Outcome::Fail)
            || subject.verdicts.iter().any(|verdict| verdict.status == VerdictStatus::Fail)
    };
    let refused = report.subjects.iter().find(failed);
    // The first baseline has nothing to be compared with, so there is no judgement to show.
    let is_first = refused.is_none() && report.subjects.iter().all(|subject| subject.baseline.is_none());
    if is_first && !arguments.json {
        arguments.documents.write_gate(report, records)?;
    } else {
        show(arguments, report, records)?;
    }
    if let Some(subject) = refused {
        super::report_message(&format!(
            "the baseline {} was not changed: {} failed or broke a ceiling",
            path.display(),
            subject.subject
        ));
        return Ok(1);
    }
    let what = if is_first { ", the first baseline" } else { "" };
    for file in write_baseline(path, records)? {
        output::note(&format_args!("wrote {}{what}", file.display()));
    }
    Ok(0)
}

fn show(arguments: &Gate, report: &GateReport, records: &[Record]) -> Result<(), Failed> {
    if arguments.json {
        output::json(report)?;
    } else {
        output::text(&terminal::gate(report, &super::screen()))?;
    }
    arguments.documents.write_gate(report, records)
}
