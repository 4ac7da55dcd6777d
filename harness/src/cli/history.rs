//! `history`: records by commit, and what figures were over them.

use clap::{Args, Subcommand};
use std::path::{Path, PathBuf};

use plimsoll::gate::history::{Added, Commit, DEFAULT_FILE, History, HistoryReport, series};
use plimsoll::gate::{Limit, Subject, is_default};
use plimsoll::report::{history_html, terminal};

use super::args::{ConfigFlags, HistoryFlags};
use super::settings::Settings;
use super::{Failed, output, records, report};

/// What to do with a history.
#[derive(Subcommand)]
pub enum HistoryCommand {
    /// Add records at the commit that is checked out
    Add(HistoryAdd),
    /// Show figures over the commits, and where they changed their level
    Show(HistoryShow),
    /// Remove the records of a commit
    Remove(HistoryRemove),
}

impl HistoryCommand {
    /// Which configuration it uses.
    pub fn config(&self) -> &ConfigFlags {
        match self {
            Self::Add(arguments) => &arguments.history.config,
            Self::Show(arguments) => &arguments.history.config,
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

    /// The commit [default: that which git has checked out]
    #[arg(long, value_name = "ID", env = "PLIMSOLL_COMMIT")]
    pub commit: Option<String>,

    /// The branch [default: that which git has checked out]
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

    /// A figure, such as peak_rss or 'epoch*.peak_rss'; may be given several times [default: the memory of what was run]
    #[arg(long = "figure", value_name = "NAME", env = "PLIMSOLL_FIGURES", value_delimiter = ',')]
    pub figures: Vec<String>,

    /// The branch [default: that with most records]
    #[arg(long, value_name = "BRANCH", env = "PLIMSOLL_BRANCH")]
    pub branch: Option<String>,

    /// So many commits at most, up to 1000
    #[arg(long, value_name = "N", env = "PLIMSOLL_LAST", default_value = "50", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub last: u32,

    /// Write a page with a plot of each figure, its steps marked; of all subjects where none is named
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

/// The exit code where there is nothing to show.
const NOTHING: u8 = 3;

/// Adds to a history, shows it, or removes from it.
pub fn run(command: &HistoryCommand, settings: Option<&Settings>) -> Result<u8, Failed> {
    match command {
        HistoryCommand::Add(arguments) => add(arguments, settings),
        HistoryCommand::Show(arguments) => show(arguments, settings),
        HistoryCommand::Remove(arguments) => remove(arguments, settings),
    }
}

/// The file: that of the flag, else of the configuration.
pub fn file(flags: &HistoryFlags, settings: Option<&Settings>) -> Result<PathBuf, Failed> {
    let set = Settings::of(settings, None)?;
    let set = set.get("history.file").map(|set| PathBuf::from(set.value.text()));
    Ok(flags.history.clone().or(set).unwrap_or_else(|| PathBuf::from(DEFAULT_FILE)))
}

/// The branch: the one that is named, else set, else that with most records.
pub fn branch(history: &History, named: Option<&str>, settings: Option<&Settings>) -> Result<Option<String>, Failed> {
    let set = Settings::of(settings, None)?;
    let set = set.get("history.branch").map(|set| set.value.text());
    match named.map(str::to_owned).or(set) {
        Some(branch) => Ok(Some(branch)),
        None => Ok(history.branches()?.into_iter().next()),
    }
}

fn add(arguments: &HistoryAdd, settings: Option<&Settings>) -> Result<u8, Failed> {
    let records = records::read(&arguments.records)?;
    let commit = match (&arguments.commit, &arguments.branch) {
        (Some(name), branch) => Commit::named(name, branch.as_deref())?,
        (None, None) => Commit::current()?,
        // A job of CI has no branch checked out, but its name at hand.
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
        // A page has room for all of them.
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
    let limits = figures(&arguments.figures)?;
    let mut reports = Vec::with_capacity(wanted.len());
    for subject in wanted {
        let entries = history.entries(subject, &branch, arguments.last as usize)?;
        let taken = |figure: &plimsoll::record::Figure| {
            if limits.is_empty() { is_default(figure) } else { limits.iter().any(|limit| limit.matches(&figure.name)) }
        };
        let report = HistoryReport::new(subject.clone(), &branch, series(&entries, &taken));
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
    // A page on standard output stands there alone.
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

/// Names of figures with wildcards, matched as those of limits are.
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
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let history = History::open(path)?;
    match branch(&history, named, settings)? {
        Some(branch) => Ok(history.baseline(&branch)?),
        None => Ok(Vec::new()),
    }
}
