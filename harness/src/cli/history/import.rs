//! `history import`: figures kept by other tools.

use std::path::PathBuf;

use clap::Args;
use plimsoll::gate::history::import::{self, Column};
use plimsoll::gate::history::{Commit, History};
use plimsoll::report::terminal;

use super::super::args::HistoryFlags;
use super::super::settings::Settings;
use super::super::{Failed, output};

#[derive(Args)]
#[command(after_help = "Exit codes: 0 they are in it; 2 bad usage, or one cannot be read or written.")]
pub struct HistoryImport {
    /// A file or folder of another tool, known by its contents
    ///
    /// A folder of asv's results, Bencher's JSON, data.js or JSON of github-action-benchmark, target/criterion, or CSV.
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,

    /// The commit of files that name none [default: the one that git has checked out]
    #[arg(long, value_name = "ID", env = "PLIMSOLL_COMMIT")]
    pub commit: Option<String>,

    /// The branch [default: the one that git has checked out]
    #[arg(long, value_name = "BRANCH", env = "PLIMSOLL_BRANCH")]
    pub branch: Option<String>,

    /// What a column of a CSV file is, as commit=sha; may be repeated
    ///
    /// commit, date, name, figure, unit or value. Titles such as `commit` and `benchmark` are known. Without a column
    /// `value`, every other column of numbers is a figure, with its unit in brackets: `peak (MiB)`.
    #[arg(long = "column", value_name = "WHAT=TITLE", value_delimiter = ',')]
    pub columns: Vec<Column>,

    #[command(flatten)]
    pub history: HistoryFlags,
}

/// Adds figures of other tools.
pub fn run(arguments: &HistoryImport, settings: Option<&Settings>) -> Result<u8, Failed> {
    let read = arguments.paths.iter().map(|path| Ok((path, import::read(path, &arguments.columns)?)));
    let read = read.collect::<Result<Vec<_>, Failed>>()?;
    let named = arguments.branch.as_deref();
    let commit = || match (&arguments.commit, named) {
        (Some(name), branch) => Commit::named(name, branch),
        (None, Some(branch)) => Ok(Commit { branch: branch.to_owned(), ..Commit::current()? }),
        (None, None) => Commit::current(),
    };
    let branch = named.map_or_else(|| commit().map(|commit| commit.branch), |branch| Ok(branch.to_owned()))?;
    let path = super::file(&arguments.history, settings)?;
    let mut history = History::create(&path)?;
    for (from, read) in read {
        let count = history.import(&read.figures, &branch, &commit)?;
        let count = terminal::counted(count, "figure", "figures");
        let left_out = match read.left_out {
            0 => String::new(),
            number => format!("; {} left out as they are not amounts", terminal::counted(number, "value", "values")),
        };
        let from = from.display();
        output::note(&format_args!("{}: {count} of {} from {from} on {branch}{left_out}", path.display(), read.tool));
    }
    Ok(0)
}
