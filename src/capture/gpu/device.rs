//! [`DeviceFacts`]: what a GPU is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::schema::Document;

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

impl Document for Devices {
    const NAME: &'static str = "plimsoll.devices/1";
    const TITLE: &'static str = "The GPUs of a machine";
}

/// The JSON Schema (draft 2020-12) of what `plimsoll devices --json` prints.
pub fn schema() -> serde_json::Value {
    Devices::document_schema()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_memory::testing::faults;

    #[test]
    fn documents_follow_the_schema_and_others_do_not() {
        let device =
            DeviceFacts { name: "NVIDIA H200".to_owned(), memory: ByteSize::gib(141), ..DeviceFacts::default() };
        let mut document = serde_json::to_value(Devices { schema: SCHEMA.to_owned(), devices: vec![device] }).unwrap();
        assert_eq!(faults(&schema(), &document), [""; 0]);
        document["devices"][0].as_object_mut().unwrap().remove("name");
        assert_ne!(faults(&schema(), &document), [""; 0]);
    }
}
