//! [`Environment`]: where a run took place.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bytes::ByteSize;
use crate::meter::{self, CgroupVersion, SystemInfo};

/// Where a run took place. What could not be found out is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// The processor.
    pub cpu: Cpu,
    /// The installed memory that the system manages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ram: Option<ByteSize>,
    /// The swap space, used or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swap: Option<ByteSize>,
    /// The name and release of the operating system's kernel, such as `Linux 6.8.0-45-generic`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os: Option<String>,
    /// The mode of transparent huge pages: `always`, `madvise` or `never`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transparent_huge_pages: Option<String>,
    /// The limits of the cgroup that the run was in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<CgroupLimits>,
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
        Self {
            cpu: Cpu { architecture: system.architecture, model: system.cpu, count: system.cpus },
            ram: Some(system.memory),
            swap: system.swap,
            os: Some(system.kernel),
            transparent_huge_pages: system.transparent_huge_pages,
            cgroup: system.cgroup.map(CgroupLimits::from),
            gpus: Vec::new(),
            versions,
            hostname: None,
        }
    }
}

impl From<meter::CgroupLimits> for CgroupLimits {
    fn from(limits: meter::CgroupLimits) -> Self {
        let version = match limits.version {
            CgroupVersion::V1 => 1,
            CgroupVersion::V2 => 2,
        };
        Self { version, memory: limits.memory, swap: limits.swap }
    }
}

/// The processor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    /// Its architecture, such as `x86_64`.
    pub architecture: String,
    /// Its model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The logical processors that the run could use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
}

/// The limits of a cgroup; a limit of `max` is absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CgroupLimits {
    /// Version 1 or 2.
    pub version: u8,
    /// The smallest memory limit on the way to the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<ByteSize>,
    /// The smallest swap limit (version 2: of swap alone; version 1: of memory and swap together).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swap: Option<ByteSize>,
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
