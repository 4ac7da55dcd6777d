//! `mark`: a phase of the run that this process is in.

use super::Failed;
use super::args::Mark;

/// Begins the phase.
pub fn run(arguments: &Mark) -> Result<u8, Failed> {
    plimsoll::command::mark(&arguments.name)?;
    Ok(0)
}
