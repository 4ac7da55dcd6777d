//! Where the history is.

use std::path::PathBuf;

use clap::Args;

use super::ConfigFlags;

// Where the history is.
#[derive(Args)]
pub struct HistoryFlags {
    /// SQLite file of the history [default: .plimsoll/history.sqlite]
    #[arg(long, value_name = "FILE", env = "PLIMSOLL_HISTORY")]
    pub history: Option<PathBuf>,

    #[command(flatten)]
    pub config: ConfigFlags,
}
