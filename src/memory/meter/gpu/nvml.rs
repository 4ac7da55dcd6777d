//! [`Devices`] through NVML.

use nvml_wrapper::Nvml;
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::ProcessInfo;

use super::devices::{Device, DeviceProcess, Devices};
use crate::bytes::ByteSize;

/// The name that a driver installs; only development packages have the one without a number.
const LIBRARY: &str = "libnvidia-ml.so.1";

/// The driver's library, initialised.
#[derive(Debug)]
pub(super) struct NvmlDevices(Nvml);

impl NvmlDevices {
    /// # Errors
    /// The reason in words, if there is no driver.
    pub(super) fn load() -> Result<Self, String> {
        let loaded = Nvml::builder().lib_path(LIBRARY.as_ref()).init();
        loaded.map(Self).map_err(|error| format!("no NVIDIA driver found: {error}"))
    }
}

impl Devices for NvmlDevices {
    fn read(&self) -> Result<Vec<Device>, String> {
        let failed = |error: NvmlError| format!("NVML: {error}");
        let device = |index| -> Result<Device, NvmlError> {
            let device = self.0.device_by_index(index)?;
            let used = supported(device.memory_info())?.map(|memory| ByteSize::new(memory.used));
            let lists = (listed(device.running_compute_processes())?, listed(device.running_graphics_processes())?);
            let processes = match lists {
                (None, None) => None,
                (compute, graphics) => Some(merged(compute.unwrap_or_default(), graphics.unwrap_or_default())),
            };
            Ok(Device { name: device.name().unwrap_or_default(), used, processes })
        };
        (0..self.0.device_count().map_err(failed)?).map(|index| device(index).map_err(failed)).collect()
    }
}

/// `None` if the device, or a driver before R510, does not report it.
fn supported<T>(answer: Result<T, NvmlError>) -> Result<Option<T>, NvmlError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(NvmlError::NotSupported | NvmlError::FailedToLoadSymbol(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Also `None` if this process is not allowed to see others.
fn listed(answer: Result<Vec<ProcessInfo>, NvmlError>) -> Result<Option<Vec<ProcessInfo>>, NvmlError> {
    match answer {
        Err(NvmlError::NoPermission) => Ok(None),
        other => supported(other),
    }
}

/// A process that computes and draws is in both lists, each with all of its memory.
fn merged(compute: Vec<ProcessInfo>, graphics: Vec<ProcessInfo>) -> Vec<DeviceProcess> {
    let mut processes: Vec<DeviceProcess> = Vec::new();
    for ProcessInfo { pid, used_gpu_memory, .. } in compute.into_iter().chain(graphics) {
        let used = match used_gpu_memory {
            UsedGpuMemory::Used(bytes) => Some(ByteSize::new(bytes)),
            UsedGpuMemory::Unavailable => None,
        };
        match processes.iter_mut().find(|process| process.pid == pid) {
            Some(process) => process.used = process.used.max(used),
            None => processes.push(DeviceProcess { pid, used }),
        }
    }
    processes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_computes_and_draws_counts_once() {
        let info = |pid, used_gpu_memory| ProcessInfo {
            pid,
            used_gpu_memory,
            gpu_instance_id: None,
            compute_instance_id: None,
        };
        let compute = vec![info(7, UsedGpuMemory::Used(500)), info(8, UsedGpuMemory::Unavailable)];
        let processes = merged(compute, vec![info(7, UsedGpuMemory::Used(600))]);
        let used = |bytes| Some(ByteSize::new(bytes));
        assert_eq!(processes, [DeviceProcess { pid: 7, used: used(600) }, DeviceProcess { pid: 8, used: None }]);
    }

    #[test]
    fn a_machine_without_a_driver_is_reported() {
        match NvmlDevices::load() {
            Ok(devices) => {
                assert!(devices.read().is_ok_and(|devices| devices.iter().all(|device| !device.name.is_empty())))
            }
            Err(reason) => assert!(reason.starts_with("no NVIDIA driver found: "), "{reason}"),
        }
    }
}
