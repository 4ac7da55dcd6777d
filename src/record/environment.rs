//! [`Environment`]: the machine and software of a run.

use std::collections::BTreeMap;
use std::ffi::OsString;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounded;
use plimsoll_capture::gpu::DeviceFacts;
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::meter::SystemInfo;

/// The machine and software of a run. Facts that could not be found out are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// The machine and its settings that affect memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<SystemInfo>,
    /// The GPUs that kernels could use.
    #[serde(default, deserialize_with = "bounded::list", skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<Gpu>,
    /// The versions that the worker reported, such as `torch` and `python`.
    #[serde(default, deserialize_with = "bounded::table", skip_serializing_if = "BTreeMap::is_empty")]
    pub versions: BTreeMap<String, String>,
    /// The variables that choose an allocator or tune it, such as `LD_PRELOAD` and `MALLOC_ARENA_MAX`.
    #[serde(default, deserialize_with = "bounded::table", skip_serializing_if = "BTreeMap::is_empty")]
    pub allocator: BTreeMap<String, String>,
    /// The name of the machine; only a record of a shard or a rank has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
}

impl Environment {
    /// The machine that `system` describes, with the versions that a worker reported.
    pub fn of(system: SystemInfo, versions: BTreeMap<String, String>) -> Self {
        Self { system: Some(system), versions, allocator: allocator_variables(std::env::vars_os()), ..Self::default() }
    }

    /// The present state of this machine. Anything that cannot be read is absent.
    pub fn here() -> Self {
        Self { system: SystemInfo::read().ok(), allocator: allocator_variables(std::env::vars_os()), ..Self::default() }
    }
}

/// The name of this machine.
pub fn hostname() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim_end().to_owned()).filter(|name| !name.is_empty())
}

/// The `variables` that choose an allocator or tune it: of the dynamic linker, glibc, jemalloc,
/// mimalloc, tcmalloc and scudo, Python and PyTorch.
fn allocator_variables(variables: impl Iterator<Item = (OsString, OsString)>) -> BTreeMap<String, String> {
    const NAMES: [&str; 9] = [
        "LD_PRELOAD",
        "GLIBC_TUNABLES",
        "MALLOC_CONF",
        "_RJEM_MALLOC_CONF",
        "SCUDO_OPTIONS",
        "PYTHONMALLOC",
        "PYTORCH_ALLOC_CONF",
        "PYTORCH_CUDA_ALLOC_CONF",
        "PYTORCH_NO_CUDA_MEMORY_CACHING",
    ];
    const PREFIXES: [&str; 3] = ["MALLOC_", "MIMALLOC_", "TCMALLOC_"];
    let text = |word: OsString| word.to_string_lossy().into_owned();
    let variables = variables.map(|(name, value)| (text(name), text(value)));
    let chooses = |name: &str| NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    variables.filter(|(name, value)| chooses(name) && !value.is_empty()).collect()
}

/// A GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gpu {
    /// The model.
    pub name: String,
    /// The memory; absent if it shares the host's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<ByteSize>,
    /// The version of the driver, or the newest CUDA version that the driver runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// The compute capability, as `9.0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute_capability: Option<String>,
    /// The cache between the processors and the memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub l2_cache: Option<ByteSize>,
}

impl From<&DeviceFacts> for Gpu {
    fn from(facts: &DeviceFacts) -> Self {
        Self {
            name: facts.name.clone(),
            memory: (!facts.unified).then_some(facts.memory),
            driver: facts.cuda.as_ref().map(|version| format!("CUDA {version}")),
            compute_capability: facts.compute_capability.clone(),
            l2_cache: facts.l2_cache,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_chooses_an_allocator_is_kept_and_nothing_else() {
        let variables = [
            ("LD_PRELOAD", "/usr/lib/libjemalloc.so.2"),
            ("MALLOC_ARENA_MAX", "2"),
            ("PYTHONMALLOC", "malloc"),
            ("MALLOC_PERTURB_", ""),
            ("PATH", "/bin"),
            ("TOKEN", "secret"),
        ];
        let found = allocator_variables(variables.into_iter().map(|(name, value)| (name.into(), value.into())));
        let names: Vec<&str> = found.keys().map(String::as_str).collect();
        assert_eq!(names, ["LD_PRELOAD", "MALLOC_ARENA_MAX", "PYTHONMALLOC"]);
        assert_eq!(found["MALLOC_ARENA_MAX"], "2");
    }
}
