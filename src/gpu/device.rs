//! [`DeviceFacts`]: what a GPU is.

use cudarc::driver::sys::CUdevice_attribute;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::driver::Driver;
use super::error::GpuError;
use crate::bytes::ByteSize;

/// The value of `schema` in the documents that this version writes.
pub const SCHEMA: &str = "plimsoll.devices/1";

/// The GPUs of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Devices {
    /// `plimsoll.devices/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// Each of them, by its number.
    pub devices: Vec<DeviceFacts>,
}

/// What a GPU is. What the driver does not tell is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceFacts {
    /// Its number, in the order of `CUDA_VISIBLE_DEVICES`.
    pub index: u32,
    /// Its model.
    pub name: String,
    /// What it can compute, as `9.0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute_capability: Option<String>,
    /// Its memory; that of the system where it is unified.
    pub memory: ByteSize,
    /// Its cache between the processors and the memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub l2_cache: Option<ByteSize>,
    /// Whether it and the CPU have one memory, of which either may take what the other wants.
    #[serde(default)]
    pub unified: bool,
    /// Whether kernels can read the host's memory by the host's own page tables.
    #[serde(default)]
    pub host_page_tables: bool,
    /// Its place on the PCI bus, by which NVML knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pci: Option<String>,
    /// The newest version of CUDA that the driver runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuda: Option<String>,
}

impl DeviceFacts {
    /// Those of the device `index`.
    ///
    /// # Errors
    /// [`GpuError`] where there is no such device.
    pub fn of(driver: Driver, index: u32) -> Result<Self, GpuError> {
        use CUdevice_attribute::*;
        let device = driver.device(index)?;
        let told = |attribute| driver.attribute(device, attribute);
        let is = |attribute| told(attribute).is_some_and(|value| value != 0);
        let major = told(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
        let minor = told(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
        let l2 = told(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE).and_then(|bytes| u64::try_from(bytes).ok());
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
    /// Every device, or the one of the number `only`.
    ///
    /// # Errors
    /// [`GpuError`] where there is no driver, no device, or none of that number.
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

/// The JSON Schema (draft 2020-12) of what `plimsoll devices --json` prints.
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Devices);
    schema.insert("title".to_owned(), "The GPUs of a machine".into());
    schema.to_value()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::schema::tests::{assert_committed, faults};

    #[test]
    fn the_committed_schema_is_up_to_date_and_documents_follow_it() {
        assert_committed("plimsoll.devices-1.json", &schema());
        let device =
            DeviceFacts { name: "NVIDIA H200".to_owned(), memory: ByteSize::gib(141), ..DeviceFacts::default() };
        let mut document = serde_json::to_value(Devices { schema: SCHEMA.to_owned(), devices: vec![device] }).unwrap();
        assert_eq!(faults(&schema(), &document), [""; 0]);
        document["devices"][0].as_object_mut().unwrap().remove("name");
        assert_ne!(faults(&schema(), &document), [""; 0]);
    }
}
