//! `devices`: the GPUs of this machine, and how `check` finds that there is one.

use std::process::{Command, Stdio};

use plimsoll::gpu::{DeviceFacts, Devices, GpuError, Place};
use plimsoll::report::terminal;

use super::args::Devices as Arguments;
use super::{Failed, NOT_MEASURABLE, output};

/// Lists the GPUs; 3 where there is none.
pub fn run(arguments: &Arguments) -> Result<u8, Failed> {
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

/// The GPU `index`, looked for by a process of its own: the driver's library would stay in this one, and count in its memory.
///
/// # Errors
/// What there is to say where there is none.
pub fn find(index: u32) -> Result<DeviceFacts, String> {
    let mut command = Command::new(std::env::current_exe().map_err(|error| error.to_string())?);
    command.args(["devices", "--json", "--device", &Place::Cuda(index).to_string()]);
    command.stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("the GPU cannot be looked for: {error}"))?;
    let found =
        serde_json::from_slice::<Devices>(&output.stdout).ok().and_then(|found| found.devices.into_iter().next());
    found.ok_or_else(|| {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim();
        match said.strip_prefix("error: ") {
            Some(error) => error.to_owned(),
            None => GpuError::Start { name: output.status.to_string(), reason: said.to_owned() }.to_string(),
        }
    })
}
