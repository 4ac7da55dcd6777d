//! Memory on GPUs: of NVIDIA's by NVML, which is loaded at run time, else of AMD's and Intel's by what the kernel says of open
//! devices. A machine without either is told so.
//!
//! - NVML lists processes by their ids on the host. In a container, whose `/proc` shows other ids, they cannot be matched:
//!   then the growth of all memory in use on the devices is told instead, other programs included, and the counter says so.
//! - A GPU that shares the system's memory (GB10, Jetson) has no memory of its own: NVML answers N/A, or tells all of the
//!   system's. Host and device are one pool then, which `unified_peak` counts.
//!
//! What NVML answers was tried on recorded answers alone: this code has not run on a machine with a GPU.

#[cfg_attr(not(feature = "gpu"), allow(dead_code, reason = "nothing else makes them"))]
mod devices;
mod drm;
#[cfg(feature = "gpu")]
mod nvml;
mod reader;

pub(crate) use reader::{GpuPass, GpuReader, GpuUse};

/// The devices of this machine.
///
/// # Errors
/// The reason, in words, if there is no driver.
#[cfg(feature = "gpu")]
fn devices() -> Result<Box<dyn devices::Devices>, String> {
    Ok(Box::new(nvml::NvmlDevices::load()?))
}

/// Without NVML there are none.
#[cfg(not(feature = "gpu"))]
fn devices() -> Result<Box<dyn devices::Devices>, String> {
    Err("GPU memory is not read: enable the feature `gpu` of the crate `plimsoll`".to_owned())
}
