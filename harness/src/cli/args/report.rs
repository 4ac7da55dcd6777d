//! The arguments of `report`, and the documents that every command writes that makes or judges a record.

use std::path::PathBuf;

use clap::Args;

#[derive(Args)]
pub struct Report {
    /// The records: of two a page says what changed between them
    #[arg(required = true, value_name = "RECORD")]
    pub records: Vec<PathBuf>,

    #[command(flatten)]
    pub documents: ReportFlags,
}

/// Documents of records. `-` is standard output.
#[derive(Args, Default)]
#[command(next_help_heading = "Reports")]
pub struct ReportFlags {
    /// Write a page: memory over time with its ceilings, verdicts, processes, entries; one file that needs nothing else
    #[arg(long, value_name = "FILE", env = "PLIMSOLL_HTML")]
    pub html: Option<PathBuf>,
}
