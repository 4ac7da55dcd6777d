//! `doctor`: which figures are exact on this machine, how to improve the others, and how a kernel can be isolated.

use clap::Args;
use plimsoll::meter::Doctor;
use plimsoll::record::{Isolation, Machine};
use plimsoll::report::terminal;

use super::{Failed, output};
use crate::confine::layers;

#[derive(Args)]
pub struct DoctorArguments {
    /// Print what was found as JSON
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,
}

/// Examines this machine.
pub fn run(arguments: &DoctorArguments) -> Result<u8, Failed> {
    let machine = Machine { doctor: Doctor::examine()?, isolation: Isolation::of(layers(&std::env::current_exe()?)) };
    if arguments.json {
        output::json(&machine)?;
    } else {
        output::text(&terminal::doctor(&machine, &super::screen()))?;
    }
    Ok(0)
}
