//! The arguments of `diagnose`.

use std::path::PathBuf;

use clap::Args;
use plimsoll::ByteSize;

use super::super::model::ModelFlags;
use super::super::snapshot::SnapshotFlags;

#[derive(Args)]
#[command(after_help = "Exit codes: 0 nothing found; 1 a memory event was found; 2 an input could not be read.")]
pub struct Diagnose {
    /// Logs of any kind, plain or gzipped, kernel logs, Plimsoll records, memory snapshots; `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Watch the log as it grows, until interrupted; one file
    #[arg(long)]
    pub follow: bool,

    #[command(flatten)]
    pub snapshot: SnapshotFlags,

    #[command(flatten)]
    pub model: ModelFlags,
    /// The memory of each GPU that the estimate has to fit into [default: what the text tells]
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_VRAM", help_heading = "Model")]
    pub vram: Option<ByteSize>,

    /// Print the findings as JSON; with --follow a line an event
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,
}
