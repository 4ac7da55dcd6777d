//! [`Devices::find`]: the GPUs of this machine, by their driver.

use cudarc::driver::sys::CUdevice_attribute;
use plimsoll_memory::bytes::ByteSize;

use super::device::{DeviceFacts, Devices, SCHEMA};
use super::driver::Driver;
use super::error::GpuError;

impl DeviceFacts {
    /// The facts about the device `index`.
    ///
    /// # Errors
    /// [`GpuError`] if there is no such device.
    pub fn of(driver: Driver, index: u32) -> Result<Self, GpuError> {
        use CUdevice_attribute::*;
        let device = driver.device(index)?;
        let attribute_of = |attribute| driver.attribute(device, attribute);
        let is = |attribute| attribute_of(attribute).is_some_and(|value| value != 0);
        let major = attribute_of(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
        let minor = attribute_of(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
        let l2 = attribute_of(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE).and_then(|bytes| u64::try_from(bytes).ok());
        Ok(Self {
            index,
            name: driver.name(device)?,
            compute_capability: major.zip(minor).map(|(major, minor)| format!("{major}.{minor}")),
            memory: ByteSize::new(driver.total_memory(device)?),
            l2_cache: l2.filter(|&bytes| bytes > 0).map(ByteSize::new),
            // GB10 and Jetson are integrated. Grace has two memories of one address space: each is a pool of its own.
            unified: is(CU_DEVICE_ATTRIBUTE_INTEGRATED),
            host_page_tables: is(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES),
            pci: driver.pci(device),
            cuda: driver.cuda_version(),
        })
    }
}

impl Devices {
    /// Every device, or only the device with the number `only`.
    ///
    /// # Errors
    /// [`GpuError`] if there is no driver, no device, or none with that number.
    pub fn find(only: Option<u32>) -> Result<Self, GpuError> {
        let driver = Driver::load()?;
        let devices = match (only, driver.device_count()?) {
            (_, 0) => return Err(GpuError::NoDevice),
            (Some(index), _) => vec![DeviceFacts::of(driver, index)?],
            (None, count) => (0..count).map(|index| DeviceFacts::of(driver, index)).collect::<Result<_, _>>()?,
        };
        Ok(Self { schema: SCHEMA.to_owned(), devices })
    }
}
