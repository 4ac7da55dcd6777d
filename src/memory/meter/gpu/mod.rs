//! Memory on GPUs: NVIDIA's through NVML, which is loaded at run time, otherwise AMD's and Intel's through the kernel's
//! reports about open devices. Without either, the reason is reported.
//!
//! - NVML lists processes by their ids on the host. In a container, whose `/proc` shows other ids, they cannot be
//!   matched: the growth of all memory in use on the devices is then reported instead, including other programs, and
//!   the counter says so.
//! - A GPU that shares the system's memory (GB10, Jetson) has no memory of its own: NVML answers N/A or reports the
//!   whole system's. Host and device are then one pool, which `unified_peak` measures.

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
/// The reason in words, if there is no driver.
#[cfg(feature = "gpu")]
fn devices() -> Result<Box<dyn devices::Devices>, String> {
    Ok(Box::new(nvml::NvmlDevices::load()?))
}

/// Without NVML there are no devices.
#[cfg(not(feature = "gpu"))]
fn devices() -> Result<Box<dyn devices::Devices>, String> {
    Err("GPU memory is not read: enable the feature `gpu` of the crate `plimsoll`".to_owned())
}
