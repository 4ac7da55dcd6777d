//! The arguments of `history`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::ConfigFlags;

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

// Where the history is.
#[derive(Args)]
pub struct HistoryFlags {
    /// The SQLite file [default: .plimsoll/history.sqlite]
    #[arg(long, value_name = "FILE", env = "PLIMSOLL_HISTORY")]
    pub history: Option<PathBuf>,

    #[command(flatten)]
    pub config: ConfigFlags,
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
