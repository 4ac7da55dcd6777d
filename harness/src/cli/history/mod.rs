//! `history`: records by commit, and how figures changed over them.

mod import;

use clap::{Args, Subcommand};
use std::path::{Path, PathBuf};

use plimsoll::gate::history::{
    Accepted, Added, Commit, DEFAULT_FILE, History, HistoryError, HistoryReport, commits_between, series, series_of,
};
use plimsoll::gate::{Limit, Subject, SubjectKind, is_default};
use plimsoll::record::Figure;
use plimsoll::report::{history_html, terminal};

pub use self::import::HistoryImport;
use super::args::{ConfigFlags, HistoryFlags};
use super::settings::Settings;
use super::{Failed, output, records, report};

/// The action on a history.
#[derive(Subcommand)]
pub enum HistoryCommand {
    /// Add records at the commit that is checked out
    Add(HistoryAdd),
    /// Add figures that asv, Bencher, github-action-benchmark or criterion have kept, or a CSV file
    Import(HistoryImport),
    /// Show figures over the commits, and where they changed their level
    Show(HistoryShow),
    /// Fail if a figure has a step for the worse that nobody has accepted
    Check(HistoryCheck),
    /// Accept a step, so that `check` no longer fails on it
    Accept(HistoryAccept),
    /// Remove the records of a commit
    Remove(HistoryRemove),
}

impl HistoryCommand {
    /// Which configuration is used.
    pub fn config(&self) -> &ConfigFlags {
        match self {
            Self::Add(arguments) => &arguments.history.config,
            Self::Import(arguments) => &arguments.history.config,
            Self::Show(arguments) => &arguments.history.config,
            Self::Check(arguments) => &arguments.history.config,
            Self::Accept(arguments) => &arguments.history.config,
            Self::Remove(arguments) => &arguments.history.config,
        }
    }
}

#[derive(Args)]
#[command(after_help = "Exit codes: 0 they are in it, now or before; 2 bad usage, or it cannot be written.")]
pub struct HistoryAdd {
    /// Records, or folders of them
    #[arg(required = true, value_name = "RECORD")]
    pub records: Vec<PathBuf>,

    /// The commit [default: the one that git has checked out]
    #[arg(long, value_name = "ID", env = "PLIMSOLL_COMMIT")]
    pub commit: Option<String>,

    /// The branch [default: the one that git has checked out]
    #[arg(long, value_name = "BRANCH", env = "PLIMSOLL_BRANCH")]
    pub branch: Option<String>,

    #[command(flatten)]
    pub history: HistoryFlags,
}

#[derive(Args)]
#[command(after_help = "Exit codes: 0 shown; 2 bad usage or unreadable; 3 there is nothing to show.")]
pub struct HistoryShow {
    /// What to show; without it, the only one, or what there is
    #[arg(value_name = "LABEL")]
    pub label: Option<String>,

    /// A figure, such as peak_rss or 'epoch*.peak_rss'; repeatable
    ///
    /// The default is the memory of what was run, and on a page its time too.
    #[arg(long = "figure", value_name = "NAME", env = "PLIMSOLL_FIGURES", value_delimiter = ',')]
    pub figures: Vec<String>,

    /// The branch [default: the one with most records]
    #[arg(long, value_name = "BRANCH", env = "PLIMSOLL_BRANCH")]
    pub branch: Option<String>,

    /// Most commits to show, up to 1000
    #[arg(long, value_name = "N", env = "PLIMSOLL_LAST", default_value = "50", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub last: u32,

    /// Write a page with a plot of each figure and its steps
    ///
    /// The page has all subjects unless one is named.
    #[arg(id = "history_html", long = "html", value_name = "FILE", env = "PLIMSOLL_HISTORY_HTML")]
    pub html: Option<PathBuf>,

    /// Print the figures as JSON
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,

    #[command(flatten)]
    pub history: HistoryFlags,
}

#[derive(Args)]
#[command(after_help = "Exit codes: 0 removed; 2 bad usage or unreadable; 3 there is no such commit.")]
pub struct HistoryRemove {
    /// The commit, in full
    #[arg(long, value_name = "ID", env = "PLIMSOLL_COMMIT")]
    pub commit: String,

    #[command(flatten)]
    pub history: HistoryFlags,
}

#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 no new step for the worse; 1 there is one; 2 bad usage or unreadable; 3 there is nothing to check."
)]
pub struct HistoryCheck {
    /// What to check [default: all]
    #[arg(value_name = "LABEL")]
    pub label: Option<String>,

    /// A figure, such as peak_rss or 'epoch*.peak_rss'; repeatable
    ///
    /// The default is the memory of what was run.
    #[arg(long = "figure", value_name = "NAME", env = "PLIMSOLL_FIGURES", value_delimiter = ',')]
    pub figures: Vec<String>,

    /// The branch [default: the one with most records]
    #[arg(long, value_name = "BRANCH", env = "PLIMSOLL_BRANCH")]
    pub branch: Option<String>,

    /// The latest commits to check, up to 1000
    #[arg(long, value_name = "N", env = "PLIMSOLL_LAST", default_value = "200", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub last: u32,

    /// Print the figures and their steps as JSON
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,

    #[command(flatten)]
    pub history: HistoryFlags,
}

#[derive(Args)]
#[command(after_help = "Exit codes: 0 accepted; 2 bad usage or unreadable; 3 there is no such step.")]
pub struct HistoryAccept {
    /// The commit of the step, or its beginning, as `history check` prints it
    #[arg(value_name = "STEP")]
    pub step: String,

    /// Why the step is acceptable
    #[arg(long, value_name = "TEXT", env = "PLIMSOLL_WHY")]
    pub why: String,

    /// A figure, such as peak_rss or 'epoch*.peak_rss'; repeatable [default: all]
    #[arg(long = "figure", value_name = "NAME", env = "PLIMSOLL_FIGURES", value_delimiter = ',')]
    pub figures: Vec<String>,

    /// The branch [default: the one with most records]
    #[arg(long, value_name = "BRANCH", env = "PLIMSOLL_BRANCH")]
    pub branch: Option<String>,

    #[command(flatten)]
    pub history: HistoryFlags,
}

/// The most commits that are read.
const MOST_COMMITS: usize = 1000;

/// The exit code if there is nothing to show.
const NOTHING: u8 = 3;

/// Adds to a history, shows it, or removes from it.
pub fn run(command: &HistoryCommand, settings: Option<&Settings>) -> Result<u8, Failed> {
    match command {
        HistoryCommand::Add(arguments) => add(arguments, settings),
        HistoryCommand::Import(arguments) => import::run(arguments, settings),
        HistoryCommand::Show(arguments) => show(arguments, settings),
        HistoryCommand::Check(arguments) => check(arguments, settings),
        HistoryCommand::Accept(arguments) => accept(arguments, settings),
        HistoryCommand::Remove(arguments) => remove(arguments, settings),
    }
}

/// The file of the history, from the flag or the configuration.
pub fn file(flags: &HistoryFlags, settings: Option<&Settings>) -> Result<PathBuf, Failed> {
    let set = Settings::of(settings, None)?;
    let set = set.get("history.file").map(|set| PathBuf::from(set.value.text()));
    Ok(flags.history.clone().or(set).unwrap_or_else(|| PathBuf::from(DEFAULT_FILE)))
}

/// The branch: from the flag or the settings, else the one with most records.
pub fn branch(history: &History, named: Option<&str>, settings: Option<&Settings>) -> Result<Option<String>, Failed> {
    let set = Settings::of(settings, None)?;
    let set = set.get("history.branch").map(|set| set.value.text());
    match named.map(str::to_owned).or(set) {
        Some(branch) => Ok(Some(branch)),
        None => Ok(history.branches()?.into_iter().next()),
    }
}

fn add(arguments: &HistoryAdd, settings: Option<&Settings>) -> Result<u8, Failed> {
    let records = records::some(&arguments.records)?;
    let commit = match (&arguments.commit, &arguments.branch) {
        (Some(name), branch) => Commit::named(name, branch.as_deref())?,
        (None, None) => Commit::current()?,
        // A CI job has no branch checked out, but an environment variable names one.
        (None, Some(branch)) => Commit { branch: branch.clone(), ..Commit::current()? },
    };
    let path = file(&arguments.history, settings)?;
    let added = History::create(&path)?.add(&commit, &records)?;
    let new = added.iter().filter(|added| **added == Added::New).count();
    let known = added.len() - new;
    let also = if known > 0 { format!(", {known} were there before") } else { String::new() };
    output::note(&format_args!("{}: {new} added at {} of {}{also}", path.display(), commit.short(), commit.branch));
    Ok(0)
}

fn show(arguments: &HistoryShow, settings: Option<&Settings>) -> Result<u8, Failed> {
    let path = file(&arguments.history, settings)?;
    let history = History::open(&path)?;
    let branch = branch(&history, arguments.branch.as_deref(), settings)?;
    let subjects = history.subjects(branch.as_deref())?;
    let Some(branch) = branch.filter(|_| !subjects.is_empty()) else {
        let which = arguments.branch.as_ref().map_or_else(String::new, |branch| format!(" of the branch {branch}"));
        super::report_message(&format!("the history {} has no record{which}", path.display()));
        return Ok(NOTHING);
    };
    let all = subjects.iter().map(|(subject, _)| subject);
    let wanted: Vec<&Subject> = match &arguments.label {
        Some(label) => all.filter(|subject| subject.label == *label).collect(),
        // A page has room for all figures.
        None if subjects.len() == 1 || arguments.html.is_some() => all.collect(),
        None => {
            output::text(&terminal::history_subjects(&subjects, &super::screen()))?;
            output::note(&"name one of them to see its figures: plimsoll history show LABEL");
            return Ok(0);
        }
    };
    if wanted.is_empty() {
        let label = arguments.label.as_deref().unwrap_or_default();
        super::report_message(&format!("the history {} has no record of {label} on {branch}", path.display()));
        return Ok(NOTHING);
    }
    // A page has room for the time beside the memory.
    let timed = arguments.figures.is_empty() && arguments.html.is_some();
    let taken = taken(&arguments.figures)?;
    let taken = |subject: &Subject, figure: &Figure| taken(subject, figure) || timed && figure.name == "wall";
    let mut reports = Vec::with_capacity(wanted.len());
    for subject in wanted {
        let report = read(&history, subject, &branch, arguments.last as usize, &|figure| taken(subject, figure))?;
        if report.series.is_empty() {
            super::report_message(&format!("no record of {subject} has such a figure"));
            continue;
        }
        reports.push(report);
    }
    if reports.is_empty() {
        return Ok(NOTHING);
    }
    if let Some(page) = &arguments.html {
        report::put(page, &history_html(&reports))?;
    }
    // A page on standard output must be the only output there.
    if arguments.html.as_deref() != Some(Path::new("-")) {
        for report in &reports {
            match arguments.json {
                true => output::json(report)?,
                false => output::text(&terminal::history(report, &super::screen()))?,
            }
        }
    }
    Ok(0)
}

/// The wanted figures of `subject` over the latest commits, and which of their steps are accepted.
fn read(
    history: &History,
    subject: &Subject,
    branch: &str,
    last: usize,
    wanted: &dyn Fn(&Figure) -> bool,
) -> Result<HistoryReport, Failed> {
    let series = match subject.kind {
        SubjectKind::Benchmark => series_of(history.imported(subject, branch, last)?, wanted),
        _ => series(&history.entries(subject, branch, last)?, wanted),
    };
    let mut report = HistoryReport::new(subject.clone(), branch, series);
    report.accept(&history.accepted(subject, branch)?);
    Ok(report)
}

/// Whether a figure has one of the names or, without names, is judged by default; every figure of another tool's
/// benchmark is.
fn taken(names: &[String]) -> Result<impl Fn(&Subject, &Figure) -> bool + use<>, Failed> {
    let limits = figures(names)?;
    Ok(move |subject: &Subject, figure: &Figure| match &limits[..] {
        [] => subject.kind == SubjectKind::Benchmark || is_default(figure),
        limits => limits.iter().any(|limit| limit.matches(&figure.name)),
    })
}

fn check(arguments: &HistoryCheck, settings: Option<&Settings>) -> Result<u8, Failed> {
    let path = file(&arguments.history, settings)?;
    let history = History::open(&path)?;
    let branch = branch(&history, arguments.branch.as_deref(), settings)?.unwrap_or_default();
    let taken = taken(&arguments.figures)?;
    let mut reports = Vec::new();
    for (subject, _) in history.subjects(Some(&branch))? {
        if arguments.label.as_ref().is_none_or(|label| subject.label == *label) {
            let taken = |figure: &Figure| taken(&subject, figure);
            reports.push(read(&history, &subject, &branch, arguments.last as usize, &taken)?);
        }
    }
    let figures: usize = reports.iter().map(|report| report.series.len()).sum();
    if figures == 0 {
        let what = arguments.label.as_ref().map_or_else(String::new, |label| format!(" of {label}"));
        super::report_message(&format!("the history {} has no such figure{what} on {branch:?}", path.display()));
        return Ok(NOTHING);
    }
    let new = reports.iter().map(|report| report.regressions().count()).sum::<usize>();
    if arguments.json {
        output::json(&reports)?;
    } else {
        output::text(&terminal::history_check(&reports, &commits_between, &super::screen()))?;
    }
    let figures = terminal::counted(figures, "figure", "figures");
    output::note(&match new {
        0 => format!("no new step for the worse in {figures} on {branch}"),
        _ => format!(
            "{} for the worse in {figures} on {branch} (exit 1)",
            terminal::counted(new, "new step", "new steps")
        ),
    });
    Ok(u8::from(new > 0))
}

fn accept(arguments: &HistoryAccept, settings: Option<&Settings>) -> Result<u8, Failed> {
    let path = file(&arguments.history, settings)?;
    let mut history = History::open(&path)?;
    let branch = branch(&history, arguments.branch.as_deref(), settings)?.unwrap_or_default();
    let limits = figures(&arguments.figures)?;
    let wanted = |figure: &Figure| limits.is_empty() || limits.iter().any(|limit| limit.matches(&figure.name));
    let mut accepted = 0;
    for (subject, _) in history.subjects(Some(&branch))? {
        let report = read(&history, &subject, &branch, MOST_COMMITS, &wanted)?;
        for (series, step) in report.regressions() {
            let commit = &series.points[step.at].commit;
            if commit.starts_with(&arguments.step) {
                let why = arguments.why.clone();
                let step = Accepted { commit: commit.clone(), figure: series.figure.clone(), why };
                history.accept(&subject, &branch, &step)?;
                output::note(&format_args!("accepted: {} of {subject} at {commit}", series.figure));
                accepted += 1;
            }
        }
    }
    if accepted == 0 {
        let step = &arguments.step;
        super::report_message(&format!(
            "no step for the worse at {step} on {branch}; `plimsoll history check` lists them"
        ));
        return Ok(NOTHING);
    }
    Ok(0)
}

/// Figure names with wildcards, matched like those of limits.
fn figures(names: &[String]) -> Result<Vec<Limit>, Failed> {
    names.iter().map(|name| format!("{name}=0%").parse().map_err(Failed::from)).collect()
}

fn remove(arguments: &HistoryRemove, settings: Option<&Settings>) -> Result<u8, Failed> {
    let path = file(&arguments.history, settings)?;
    let count = History::open(&path)?.remove(&arguments.commit)?;
    output::note(&format_args!("{}: {count} removed", path.display()));
    Ok(if count == 0 { NOTHING } else { 0 })
}

/// The records of a baseline in the history, and the name of their branch.
pub fn baseline(
    path: &Path,
    named: Option<&str>,
    settings: Option<&Settings>,
) -> Result<Vec<(String, plimsoll::record::Record)>, Failed> {
    let history = match History::open(path) {
        Err(HistoryError::Missing { .. }) => return Ok(Vec::new()),
        history => history?,
    };
    match branch(&history, named, settings)? {
        Some(branch) => Ok(history.baseline(&branch)?),
        None => Ok(Vec::new()),
    }
}
