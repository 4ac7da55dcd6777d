//! `doctor`: which figures are exact on this machine, and how to improve the others.

use clap::Args;
use plimsoll::meter::Doctor;
use plimsoll::report::terminal;

use super::{Failed, output};

#[derive(Args)]
pub struct DoctorArguments {
    /// Print what was found as JSON
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,
}

/// Examines this machine.
pub fn run(arguments: &DoctorArguments) -> Result<u8, Failed> {
    let doctor = Doctor::examine()?;
    if arguments.json {
        output::json(&doctor)?;
    } else {
        output::text(&terminal::doctor(&doctor, &super::screen()))?;
    }
    Ok(0)
}
