//! The documents of every command that makes or judges a record.

use std::path::PathBuf;

use clap::Args;

// Documents of records. `-` is standard output.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Reports (FILE may be -, standard output)")]
pub struct ReportFlags {
    /// Write an HTML page: memory over time, ceilings, verdicts, processes
    ///
    /// One file that needs nothing else.
    #[arg(long, value_name = "FILE", env = "PLIMSOLL_HTML")]
    pub html: Option<PathBuf>,

    /// Write Markdown, added to the file that GITHUB_STEP_SUMMARY names
    #[arg(long, value_name = "FILE", env = "PLIMSOLL_MARKDOWN")]
    pub markdown: Option<PathBuf>,

    /// Write JUnit's XML: a case per verdict
    #[arg(long, value_name = "FILE", env = "PLIMSOLL_JUNIT")]
    pub junit: Option<PathBuf>,

    /// Write GitHub's annotations: ::error lines, which the runner reads from the log
    #[arg(long, value_name = "FILE", env = "PLIMSOLL_ANNOTATIONS")]
    pub annotations: Option<PathBuf>,

    /// Write GitLab's code quality report; its metrics report is --openmetrics
    #[arg(long, value_name = "FILE", env = "PLIMSOLL_GITLAB")]
    pub gitlab: Option<PathBuf>,

    /// Write figures in the Bencher Metric Format
    #[arg(long, value_name = "FILE", env = "PLIMSOLL_BENCHER")]
    pub bencher: Option<PathBuf>,

    /// Write figures for github-action-benchmark (customSmallerIsBetter)
    #[arg(long, value_name = "FILE", env = "PLIMSOLL_GITHUB_BENCHMARK")]
    pub github_benchmark: Option<PathBuf>,

    /// Write figures as CSV, a row per value
    #[arg(long, value_name = "FILE", env = "PLIMSOLL_CSV")]
    pub csv: Option<PathBuf>,

    /// Write figures, ceilings and verdicts as OpenMetrics text
    #[arg(long, value_name = "FILE", env = "PLIMSOLL_OPENMETRICS")]
    pub openmetrics: Option<PathBuf>,
}
