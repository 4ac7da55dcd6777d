//! `estimate`: what training a model should cost.

use clap::Args;
use plimsoll::ByteSize;
use plimsoll::estimate::{Limits, Report};
use plimsoll::report::terminal;

use super::model::ModelFlags;
use super::{Failed, output};

#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 it fits, or no limit was given; 1 it does not fit; 2 bad usage or unreadable input."
)]
pub struct Estimate {
    #[command(flatten)]
    pub model: ModelFlags,

    /// The memory of each GPU: 80GiB
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_VRAM", help_heading = "Limits")]
    pub vram: Option<ByteSize>,
    /// The memory of each node: 512GiB
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_RAM", help_heading = "Limits")]
    pub ram: Option<ByteSize>,

    /// Show the formula and the source of every number, and how each rung is done
    #[arg(long, env = "PLIMSOLL_EXPLAIN", help_heading = "Output")]
    pub explain: bool,
    /// Print the estimate as JSON
    #[arg(long, env = "PLIMSOLL_JSON", help_heading = "Output")]
    pub json: bool,
}

/// Estimates; 1 if it does not fit.
pub fn run(estimate: &Estimate) -> Result<u8, Failed> {
    let mut settings = estimate.model.settings()?;
    let unread = std::mem::take(&mut settings.unread);
    let (model, setup) = settings.finish()?;
    let limits = Limits { vram: estimate.vram, ram: estimate.ram };
    let mut report = Report::of(&model, &setup, &limits)?;
    report.estimate.not_counted.extend(unread);
    if estimate.json {
        output::json(&report)?;
    } else {
        output::text(&terminal::estimate(&report, estimate.explain, &super::screen()))?;
    }
    Ok(u8::from(report.fit.is_some_and(|fit| !fit.verdict.holds())))
}
