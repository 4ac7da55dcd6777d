//! `devices`: the GPUs of this machine. `check` uses it to find out whether there is one.

use clap::Args;
use plimsoll::gpu::{Devices, Place};
use plimsoll::report::terminal;

use super::{Failed, NOT_MEASURABLE, output};

#[derive(Args)]
pub struct DevicesArguments {
    /// Only this one
    #[arg(long, value_name = "DEVICE", env = "PLIMSOLL_DEVICE")]
    pub device: Option<Place>,
    /// Print the list as JSON
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,
}

/// Lists the GPUs; 3 if there is none.
pub fn run(arguments: &DevicesArguments) -> Result<u8, Failed> {
    let only = match arguments.device {
        Some(Place::Cuda(index)) => Some(index),
        Some(Place::Cpu) => return Err("--device cpu names no GPU: write cuda or cuda:N".into()),
        None => None,
    };
    match Devices::find(only) {
        Ok(found) if arguments.json => output::json(&found)?,
        Ok(found) => output::text(&terminal::devices(&found, &super::screen()))?,
        Err(error) if error.is_absence() => {
            super::report(&error);
            return Ok(NOT_MEASURABLE);
        }
        Err(error) => return Err(error.into()),
    }
    Ok(0)
}
