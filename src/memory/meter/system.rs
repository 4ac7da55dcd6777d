//! [`SystemInfo`]: the machine and its memory settings, for the environment of a record.

use std::io::Read as _;

use super::cgroup::CgroupLimits;
use super::error::MeterError;
use super::meminfo::SystemMemory;
use super::text::{number, read_file};
use crate::bytes::ByteSize;

/// The machine that something ran on. Facts that cannot be read are absent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct SystemInfo {
    /// The operating system and its version, such as `Linux 6.18.44`.
    pub kernel: String,
    /// The processor's architecture, such as `x86_64`.
    pub architecture: String,
    /// The processor's model.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub cpu: Option<String>,
    /// The processors that this process may run on, considering hardware threads and cgroup quotas.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub cpus: Option<u32>,
    /// The page size.
    pub page: ByteSize,
    /// The memory managed by the kernel (`MemTotal`).
    pub memory: ByteSize,
    /// The swap space (`SwapTotal`); zero if none is configured.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub swap: Option<ByteSize>,
    /// The swap areas.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub swap_areas: Vec<SwapArea>,
    /// When anonymous memory uses huge pages: `always`, `madvise` or `never`.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub transparent_huge_pages: Option<String>,
    /// How readily the kernel swaps, 0 to 200 (`vm.swappiness`).
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub swappiness: Option<u32>,
    /// The overcommit mode: 0 heuristic, 1 always, 2 never (`vm.overcommit_memory`).
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub overcommit: Option<u32>,
    /// The limits of the control group; absent if this process is in none for memory.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub cgroup: Option<CgroupLimits>,
}

/// A place that memory is swapped to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct SwapArea {
    /// `partition` or `file`.
    pub kind: String,
    /// Its size.
    pub size: ByteSize,
}

impl SystemInfo {
    /// Reads the present state of this machine.
    ///
    /// # Errors
    /// [`MeterError`] if /proc is not mounted, or its `meminfo` has no `MemTotal`.
    pub fn read() -> Result<Self, MeterError> {
        let memory = SystemMemory::read()?;
        let name = rustix::system::uname();
        let text = |path: &str| read_file(path).ok();
        let setting = |path: &str| u32::try_from(number(&text(path)?)?).ok();
        Ok(Self {
            kernel: format!("{} {}", name.sysname().to_string_lossy(), name.release().to_string_lossy()),
            architecture: name.machine().to_string_lossy().into_owned(),
            cpu: cpu(),
            cpus: std::thread::available_parallelism().ok().and_then(|count| u32::try_from(count.get()).ok()),
            page: ByteSize::new(rustix::param::page_size() as u64),
            memory: memory.total,
            swap: memory.swap_total,
            swap_areas: text("/proc/swaps").map(|text| swap_areas(&text)).unwrap_or_default(),
            transparent_huge_pages: text("/sys/kernel/mm/transparent_hugepage/enabled").and_then(|text| chosen(&text)),
            swappiness: setting("/proc/sys/vm/swappiness"),
            overcommit: setting("/proc/sys/vm/overcommit_memory"),
            cgroup: CgroupLimits::read(),
        })
    }
}

/// The processor model. The first block of `/proc/cpuinfo` suffices: reading all blocks of a large machine takes
/// milliseconds and interrupts every processor.
fn cpu() -> Option<String> {
    let mut first = Vec::new();
    let mut file = std::fs::File::open("/proc/cpuinfo").ok()?;
    file.by_ref().take(4096).read_to_end(&mut first).ok()?;
    let mut known = cpu_model(&first);
    if !first.starts_with(b"processor") || known.is_none() || !first.windows(2).any(|pair| pair == b"\n\n") {
        file.read_to_end(&mut first).ok()?;
        known = cpu_model(&first);
    }
    known
}

/// The first line that names a processor: `model name` on x86, `Processor`, `cpu model` or `Model` elsewhere.
fn cpu_model(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let value = |wanted: &str| {
        text.lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(key, _)| key.trim() == wanted)
            .map(|(_, value)| value)
    };
    let model = ["model name", "cpu model", "Model", "Processor", "cpu"].into_iter().find_map(value)?.trim();
    (!model.is_empty()).then(|| model.to_owned())
}

/// The lines below the heading: name, kind, size and use in KiB, priority.
fn swap_areas(text: &[u8]) -> Vec<SwapArea> {
    let text = String::from_utf8_lossy(text);
    let area = |line: &str| {
        // A name may contain blanks, which the kernel writes as `\040`.
        let mut fields = line.split_ascii_whitespace().skip(1);
        let kind = fields.next()?.to_owned();
        let kib: u64 = fields.next()?.parse().ok()?;
        Some(SwapArea { kind, size: ByteSize::new(kib.checked_mul(1024)?) })
    };
    text.lines().skip(1).filter_map(area).collect()
}

/// The word in brackets: `always [madvise] never`.
fn chosen(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[cfg(feature = "schema")]
    #[test]
    fn this_machine_is_described() {
        let info = SystemInfo::read().unwrap();
        assert!(info.kernel.starts_with("Linux ") && info.memory > info.page && info.cpus > Some(0), "{info:?}");
        let json = serde_json::to_string(&info).unwrap();
        assert_eq!(serde_json::from_str::<SystemInfo>(&json).unwrap(), info);
    }

    #[test]
    fn processors_are_named_on_every_architecture() {
        let x86 = b"processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel\t\t: 17\nmodel name\t: AMD EPYC\nstepping\t: 1\n";
        assert_eq!(cpu_model(x86).as_deref(), Some("AMD EPYC"));
        let power = b"processor\t: 0\ncpu\t\t: POWER9, altivec supported\n";
        assert_eq!(cpu_model(power).as_deref(), Some("POWER9, altivec supported"));
        let arm = b"processor\t: 0\nBogoMIPS\t: 2000.00\nCPU implementer\t: 0x41\n";
        assert_eq!(cpu_model(arm), None);
    }

    #[test]
    fn swap_areas_are_listed() {
        let text = b"Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/swap\\040file   file\t\t2097148\t\t0\t\t-2\n\
            /dev/zram0 partition\t1024\t12\t100\n";
        let areas = swap_areas(text);
        assert_eq!(areas[0], SwapArea { kind: "file".into(), size: ByteSize::new(2_097_148 << 10) });
        assert_eq!((areas.len(), areas[1].kind.as_str()), (2, "partition"));
        assert_eq!(swap_areas(b"Filename Type Size Used Priority\n"), []);
    }

    #[test]
    fn the_chosen_word_stands_in_brackets() {
        assert_eq!(chosen(b"always [madvise] never\n").as_deref(), Some("madvise"));
        assert_eq!((chosen(b"never"), chosen(b"][")), (None, None));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = (cpu_model(&text), swap_areas(&text), chosen(&text));
        }
    }
}
