//! [`Condition`]: something that two runs must share before their figures can be compared.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Figure, Record, Semantics, Unit};
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::meter::{Metric, SystemInfo};

/// Something that two runs must share before their figures can be compared.
///
/// Causes that a gate should find, such as a new version of a library, are not conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// What was measured: the digest of the semantics.
    Semantics,
    /// The processor's architecture.
    Architecture,
    /// The kernel series, such as `Linux 6.8`, as the kernel does the memory accounting.
    Kernel,
    /// The page size.
    Page,
    /// When anonymous memory uses huge pages.
    TransparentHugePages,
    /// The kernel's overcommit mode.
    Overcommit,
    /// Whether there is swap.
    Swap,
    /// The machine's memory, to a sixteenth.
    Memory,
    /// The memory limit of the control group.
    Cgroup,
    /// The number of processors, which determines the number of threads and of allocator arenas.
    Cpus,
    /// The processor model; affects only times.
    Cpu,
    /// The GPUs; affect only times and GPU memory.
    Gpus,
    /// The environment variables that choose or tune an allocator.
    Allocator,
}

impl Condition {
    /// Every condition, in the order of reports.
    pub const ALL: [Self; 13] = [
        Self::Semantics,
        Self::Architecture,
        Self::Kernel,
        Self::Page,
        Self::TransparentHugePages,
        Self::Overcommit,
        Self::Swap,
        Self::Memory,
        Self::Cgroup,
        Self::Cpus,
        Self::Cpu,
        Self::Gpus,
        Self::Allocator,
    ];

    /// The name in reports, in `plimsoll.toml` and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Semantics => "semantics",
            Self::Architecture => "architecture",
            Self::Kernel => "kernel",
            Self::Page => "page",
            Self::TransparentHugePages => "transparent_huge_pages",
            Self::Overcommit => "overcommit",
            Self::Swap => "swap",
            Self::Memory => "memory",
            Self::Cgroup => "cgroup",
            Self::Cpus => "cpus",
            Self::Cpu => "cpu",
            Self::Gpus => "gpus",
            Self::Allocator => "allocator",
        }
    }

    /// Whether `figure` depends on this condition.
    pub fn bears_on(self, figure: &Figure) -> bool {
        let is_time = figure.unit == Unit::Nanoseconds;
        match self {
            Self::Cpu => is_time,
            Self::Gpus => {
                let of_gpu = [Metric::GpuPeak, Metric::UnifiedPeak].map(Metric::name);
                is_time || of_gpu.iter().any(|name| figure.name.ends_with(name))
            }
            _ => true,
        }
    }

    /// The value in `record`; `None` if unknown.
    fn of(self, record: &Record) -> Option<String> {
        let system = record.environment.system.as_ref();
        let of_system = |text: fn(&SystemInfo) -> Option<String>| system.and_then(text);
        let or_none = |text: String| if text.is_empty() { "none".to_owned() } else { text };
        match self {
            Self::Semantics => Some(record.semantics_digest.clone()),
            Self::Architecture => of_system(|system| Some(system.architecture.clone())),
            Self::Kernel => of_system(|system| Some(series(&system.kernel))),
            Self::Page => of_system(|system| Some(system.page.to_string())),
            Self::TransparentHugePages => of_system(|system| system.transparent_huge_pages.clone()),
            Self::Overcommit => of_system(|system| Some(system.overcommit?.to_string())),
            Self::Swap => {
                of_system(|system| Some(if system.swap? == ByteSize::ZERO { "none" } else { "configured" }.to_owned()))
            }
            Self::Memory => of_system(|system| Some(system.memory.to_string())),
            Self::Cgroup => of_system(|system| {
                let limit = |limit: Option<ByteSize>| limit.map_or("none".to_owned(), |limit| limit.to_string());
                let limits = system.cgroup.as_ref();
                let [memory, swap] = [limits.and_then(|l| l.memory), limits.and_then(|l| l.swap)].map(limit);
                Some(format!("memory {memory}, swap {swap}"))
            }),
            Self::Cpus => of_system(|system| Some(system.cpus?.to_string())),
            Self::Cpu => of_system(|system| system.cpu.clone()),
            Self::Gpus => {
                let names: Vec<&str> = record.environment.gpus.iter().map(|gpu| &*gpu.name).collect();
                system.map(|_| or_none(names.join(", ")))
            }
            Self::Allocator => {
                let variables = &record.environment.allocator;
                let words: Vec<String> = variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
                system.map(|_| or_none(words.join(" ")))
            }
        }
    }
}

/// `Linux 6.8` of `Linux 6.8.0-45-generic`.
fn series(kernel: &str) -> String {
    let mut parts = kernel.split('.');
    match (parts.next(), parts.next()) {
        (Some(name), Some(minor)) => {
            let minor: String = minor.chars().take_while(char::is_ascii_digit).collect();
            format!("{name}.{minor}")
        }
        _ => kernel.to_owned(),
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The error for a word that names no condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is not a condition of a comparison: write {}, or machine for memory, cpus and cpu", Condition::ALL.map(Condition::name).join(", "))]
pub struct ParseConditionError {
    word: String,
}

/// Conditions named by one word: usually a condition's own name, or `machine` for all that describe the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conditions(pub Vec<Condition>);

impl FromStr for Conditions {
    type Err = ParseConditionError;

    /// Accepts names with `_` or `-` between words.
    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let plain = word.trim().replace('-', "_");
        if plain == "machine" {
            return Ok(Self(vec![Condition::Memory, Condition::Cpus, Condition::Cpu]));
        }
        let named = Condition::ALL.into_iter().find(|condition| condition.name() == plain);
        named.map(|condition| Self(vec![condition])).ok_or(ParseConditionError { word: word.to_owned() })
    }
}

/// A condition that differs between two runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConditionChange {
    /// The condition.
    pub condition: Condition,
    /// Its value in the baseline.
    pub before: String,
    /// Its value now.
    pub after: String,
    /// Whether the figures are compared anyway, because the user allowed it.
    pub allowed: bool,
}

/// The conditions that differ between `before` and `after`. A condition unknown in either record does not count.
pub fn condition_changes(before: &Record, after: &Record, allowed: &[Condition]) -> Vec<ConditionChange> {
    let changed = |condition: Condition| {
        let (old, new) = (condition.of(before)?, condition.of(after)?);
        let same = match condition {
            Condition::Memory => similar(before, after),
            _ => old == new,
        };
        let allowed = allowed.contains(&condition);
        // If the commands differ, showing them says more than their digests.
        let (old, new) = commands(before, after).filter(|_| condition == Condition::Semantics).unwrap_or((old, new));
        (!same).then_some(ConditionChange { condition, before: old, after: new, allowed })
    };
    Condition::ALL.into_iter().filter_map(changed).collect()
}

/// The commands of two records, if they differ.
fn commands(before: &Record, after: &Record) -> Option<(String, String)> {
    let (Semantics::Command(before), Semantics::Command(after)) = (&before.semantics, &after.semantics) else {
        return None;
    };
    (before.command != after.command).then(|| (before.command.join(" "), after.command.join(" ")))
}

/// Whether two machines have the same memory, apart from what firmware and kernel reserve.
fn similar(before: &Record, after: &Record) -> bool {
    let memory = |record: &Record| record.environment.system.as_ref().map_or(0, |system| system.memory.bytes());
    let (before, after) = (memory(before), memory(after));
    before.abs_diff(after) <= before.max(after) / 16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{figures, sample};

    fn changed(change: impl FnOnce(&mut Record)) -> Vec<(Condition, String, String)> {
        let mut after = sample::command();
        change(&mut after);
        let changes = condition_changes(&sample::command(), &after, &[]);
        changes.into_iter().map(|change| (change.condition, change.before, change.after)).collect()
    }

    fn system(change: impl FnOnce(&mut SystemInfo)) -> Vec<(Condition, String, String)> {
        changed(|record| change(record.environment.system.as_mut().unwrap()))
    }

    #[test]
    fn what_two_runs_do_not_share_is_named() {
        let one = |condition, before: &str, after: &str| vec![(condition, before.to_owned(), after.to_owned())];
        assert_eq!(changed(|_| ()), []);
        assert_eq!(system(|s| s.kernel = "Linux 6.8.12-45-generic".to_owned()), []);
        assert_eq!(system(|s| s.kernel = "Linux 6.9.0".to_owned()), one(Condition::Kernel, "Linux 6.8", "Linux 6.9"));
        assert_eq!(system(|s| s.memory = ByteSize::mib(63 * 1024)), []);
        assert_eq!(system(|s| s.memory = ByteSize::gib(32)), one(Condition::Memory, "64.00 GiB", "32.00 GiB"));
        assert_eq!(system(|s| s.page = ByteSize::new(65536)), one(Condition::Page, "4.00 KiB", "64.00 KiB"));
        assert_eq!(
            system(|s| s.transparent_huge_pages = Some("always".to_owned())),
            one(Condition::TransparentHugePages, "madvise", "always")
        );
        assert_eq!(system(|s| s.transparent_huge_pages = None), [], "what is not known is no difference");
        assert_eq!(
            system(|s| s.cgroup.as_mut().unwrap().memory = None),
            one(Condition::Cgroup, "memory 32.00 GiB, swap 0 B", "memory none, swap 0 B")
        );
        let preload = "/usr/lib/libjemalloc.so.2".to_owned();
        assert_eq!(
            changed(|record| drop(record.environment.allocator.insert("LD_PRELOAD".to_owned(), preload))),
            one(Condition::Allocator, "none", "LD_PRELOAD=/usr/lib/libjemalloc.so.2")
        );
        assert_eq!(changed(|record| record.semantics_digest = "blake3:0".to_owned())[0].0, Condition::Semantics);
        assert_eq!(changed(|record| record.environment.system = None), []);
        // A gate is meant to find the effect of a new library version.
        assert_eq!(changed(|record| drop(record.environment.versions.insert("torch".to_owned(), "9".to_owned()))), []);
    }

    #[test]
    fn a_processor_bears_on_times_alone() {
        let figures = figures(&sample::command());
        let named = |name: &str| figures.iter().find(|figure| figure.name == name).unwrap();
        assert!(Condition::Cpu.bears_on(named("wall")) && !Condition::Cpu.bears_on(named("peak_rss")));
        assert!(!Condition::Gpus.bears_on(named("peak_rss")) && Condition::Kernel.bears_on(named("peak_rss")));
    }

    #[test]
    fn conditions_are_named_as_in_json() {
        for condition in Condition::ALL {
            assert_eq!(serde_json::to_value(condition).unwrap(), condition.name());
            assert_eq!(condition.name().replace('_', "-").parse(), Ok(Conditions(vec![condition])));
        }
        assert_eq!("machine".parse::<Conditions>().unwrap().0.len(), 3);
        let error = "mashine".parse::<Conditions>().unwrap_err().to_string();
        assert!(
            error.starts_with("`mashine` is not a condition of a comparison: write semantics, architecture"),
            "{error}"
        );
    }
}
