//! `mark`: begins a phase of the run that this process belongs to.

use clap::Args;

use super::Failed;

#[derive(Args)]
#[command(
    after_help = "The run is found by the environment variable PLIMSOLL_MARKS, which `plimsoll run` sets. Exit codes: 0 \
    the phase has begun; 2 there is no run, the name is not valid, or the run does not answer."
)]
pub struct Mark {
    /// The name of the phase that begins
    #[arg(value_name = "NAME")]
    pub name: String,
}

/// Begins the phase.
pub fn run(arguments: &Mark) -> Result<u8, Failed> {
    plimsoll::command::mark(&arguments.name)?;
    Ok(0)
}
