//! The questions to devices, independent of who answers.

use std::fmt::Debug;

use crate::bytes::ByteSize;

/// Answers for all devices.
pub(super) trait Devices: Debug + Send {
    /// # Errors
    /// The reason in words, if they cannot be read.
    fn read(&self) -> Result<Vec<Device>, String>;
}

/// The memory of one device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Device {
    /// Its product name, such as `NVIDIA H200`.
    pub(super) name: String,
    /// Its memory in use by anyone; absent if it answers N/A.
    pub(super) used: Option<ByteSize>,
    /// The processes that use it; absent if it does not report them.
    pub(super) processes: Option<Vec<DeviceProcess>>,
}

/// A process that uses a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DeviceProcess {
    /// Its id on the host.
    pub(super) pid: u32,
    /// Its memory on the device; absent if the device answers N/A.
    pub(super) used: Option<ByteSize>,
}

/// Products without memory of their own, for which NVML may report the system's.
const WITHOUT_MEMORY: [&str; 5] = ["GB10", "Orin", "Thor", "Xavier", "Tegra"];

impl Device {
    /// Whether its memory is the system's.
    pub(super) fn is_unified(&self) -> bool {
        self.used.is_none() || WITHOUT_MEMORY.iter().any(|name| self.name.contains(name))
    }
}
