//! [`DeviceFacts`]: the facts about a GPU.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::schema::Document;

/// The value of `schema` in the documents that this version writes.
pub const SCHEMA: &str = "plimsoll.devices/1";

/// The GPUs of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Devices {
    /// The schema of the document: `plimsoll.devices/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The GPUs, in order of their numbers.
    pub devices: Vec<DeviceFacts>,
}

/// The facts about a GPU; facts that the driver does not report are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceFacts {
    /// The GPU's number, in the order of `CUDA_VISIBLE_DEVICES`.
    pub index: u32,
    /// The GPU's model.
    pub name: String,
    /// The GPU's compute capability, such as `9.0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute_capability: Option<String>,
    /// The GPU's memory, or the system's if it is unified.
    pub memory: ByteSize,
    /// The L2 cache, between the processors and the memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub l2_cache: Option<ByteSize>,
    /// Whether the GPU and the CPU share one memory, so that each takes memory from the other.
    #[serde(default)]
    pub unified: bool,
    /// Whether kernels can read the host's memory through the host's own page tables.
    #[serde(default)]
    pub host_page_tables: bool,
    /// The GPU's place on the PCI bus, by which NVML identifies it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pci: Option<String>,
    /// The newest version of CUDA that the driver supports.
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
