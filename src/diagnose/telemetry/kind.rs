//! [`kind`]: what kind of memory the words for a figure mean.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::marks::Words;
use super::sample::Metric;

/// Whether a line names a GPU.
pub(super) fn is_of_a_gpu(text: &str) -> bool {
    ["NVIDIA", "GeForce", "RTX", "Tesla", "Quadro", "GPU", "gpu", "cuda:", "VRAM", "vram"]
        .iter()
        .any(|name| text.contains(name))
}

/// What the words for a figure mean.
#[derive(Default)]
struct Said {
    /// Memory in general: `mem`, `gpu_memory`, `vram`.
    memory: bool,
    vram: bool,
    host: bool,
    /// `ram`, which is that of the host unless a GPU is named.
    ram: bool,
    allocated: bool,
    reserved: bool,
    active: bool,
    total: bool,
    /// `res`, which may be resident or reserved.
    ambiguous: bool,
    /// What may be used, or lies between what is used.
    setting: bool,
}

impl Said {
    /// Reads the whole words of `clause`.
    fn of(clause: &str) -> Self {
        let mut said = Self::default();
        for word in clause.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() > 2) {
            said.memory |= word.ends_with("mem") || word.ends_with("memory") || word == "vram";
            said.allocated |= word.ends_with("allocated") || word == "alloc";
            match word {
                "vram" => said.vram = true,
                "hbm" => (said.memory, said.vram) = (true, true),
                "rss" | "uss" | "heapalloc" | "vmrss" | "vmhwm" | "resident" | "svmem" => said.host = true,
                "ram" => said.ram = true,
                "active" => said.active = true,
                "resv" | "rsvd" | "rsrv" | "resvd" | "rsv" | "reserv" => said.reserved = true,
                "res" => said.ambiguous = true,
                "total" => said.total = true,
                "config" | "maxmemory" | "quota" | "fragmentation" => said.setting = true,
                _ => {}
            }
        }
        said
    }
}

/// Parts of the words for a figure.
static PARTS: LazyLock<Words> = LazyLock::new(|| {
    Words::list(&[
        "max",
        "peak",
        "high",
        "gpu",
        "cuda",
        "device",
        "maxrss",
        "cpu",
        "host",
        "process",
        "limit",
        "allocator",
        "reserved",
        "cached",
        "free",
        "avail",
        "total",
        "capacity",
        "used",
        "usage",
        "nvidia",
    ])
});

/// The kind of memory that the last clause of `words` names.
pub(super) fn kind(words: &str) -> Option<Metric> {
    let clause = words.rsplit([',', ';', '|']).find(|part| part.chars().any(char::is_alphabetic))?;
    // A sentence is not a key.
    if clause.len() > 80 {
        return None;
    }
    let clause = apart(clause).to_ascii_lowercase();
    let parts = PARTS.set(&clause);
    let has = |part: usize| parts >> part & 1 == 1;
    let [max, peak, high, gpu, cuda, device, maxrss, cpu, host, process] = std::array::from_fn(has);
    let [limit, allocator, reserved, cached, free, avail, total, capacity, used, usage, nvidia] =
        std::array::from_fn(|part| has(10 + part));
    let said = Said::of(&clause);
    let is_peak = max || peak || high || clause.contains("vmhwm");
    let on_device = gpu || cuda || device || nvidia || said.vram;
    let memory = said.memory || said.ram || clause.contains("gb_");
    let on_host = said.host || maxrss || (said.ram && !on_device) || ((cpu || host || process) && memory);
    let used = used || usage || clause.contains("in use");
    // The allocator of XLA, in `memory_stats()`.
    if clause.contains("bytes_in_use") {
        return Some(if is_peak { Metric::MaxAllocated } else { Metric::Allocated });
    }
    // An allowance is not a reading.
    if limit || said.setting || said.ambiguous {
        return None;
    }
    // A counter counts what was ever allocated, and so does memray.
    let counter =
        ["total_alloc", "total memory allocated", "cumulative", "_total{"].iter().any(|name| clause.contains(name));
    let name = clause.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
    if said.allocated && (counter || name.ends_with("_total")) {
        return None;
    }
    // To allocate, an allocation and `malloc` are actions; `allocated` is a state.
    Some(if said.allocated && !allocator {
        if is_peak { Metric::MaxAllocated } else { Metric::Allocated }
    } else if reserved || cached || said.reserved {
        if is_peak { Metric::MaxReserved } else { Metric::Reserved }
    } else if on_host {
        if said.total || free || avail {
            return None;
        }
        if is_peak { Metric::HostPeak } else { Metric::HostUsed }
    } else if said.active && memory {
        Metric::Active
    } else if memory || on_device {
        match (total || capacity, free || avail, used, is_peak) {
            // `Total memory used` is what is used.
            (true, _, false, _) => Metric::DeviceTotal,
            (_, true, ..) => Metric::DeviceFree,
            (_, _, _, true) if memory => Metric::MaxAllocated,
            (_, _, true, _) => Metric::DeviceUsed,
            // A bare `mem=` next to a step is the memory held by its tensors.
            _ if memory => Metric::Allocated,
            _ => return None,
        }
    } else if clause.trim_start_matches(|c: char| !c.is_alphanumeric()).starts_with("peak") {
        Metric::MaxAllocated
    } else {
        return None;
    })
}

/// `text` with the words of names such as `memoryAllocatedBytes` apart, if they name an amount that is held: `MemoryMax`
/// and `maxMemoryMB` are settings.
fn apart(text: &str) -> Cow<'_, str> {
    let held = ["AllocatedBytes", "rssMB", "UsedBytes", "UsedMB"].iter().any(|name| text.contains(name));
    if !held {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if c.is_ascii_uppercase() && out.ends_with(|last: char| last.is_ascii_lowercase()) {
            out.push(' ');
        }
        out.push(c);
    }
    out.into()
}
