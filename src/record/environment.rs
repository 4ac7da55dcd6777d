//! [`Environment`]: where a run took place.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bytes::ByteSize;
use crate::meter::SystemInfo;

/// Where a run took place. What could not be found out is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// The machine and those of its settings that matter to memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<SystemInfo>,
    /// The GPUs that kernels could use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<Gpu>,
    /// The versions that the worker reported, such as `torch` and `python`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub versions: BTreeMap<String, String>,
    /// The name of the machine, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
}

impl Environment {
    /// The machine that `system` describes, with the versions that a worker reported.
    pub fn of(system: SystemInfo, versions: BTreeMap<String, String>) -> Self {
        Self { system: Some(system), versions, ..Self::default() }
    }
}

/// A GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gpu {
    /// Its model.
    pub name: String,
    /// Its memory; absent where it shares the host's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<ByteSize>,
    /// The version of its driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
}
