//! [`Activity`]: what memory cost during a phase, as the difference of monotonic counters between its beginning and its
//! end.

use crate::nanoseconds;
use std::collections::BTreeMap;
use std::ops::Add;
use std::time::Duration;

use super::oom::OomKills;
use super::pressure::MemoryPressure;
use super::process::{ProcessId, Stat};
use super::tree::Tree;
use super::usage::Usage;

/// The scope of a count that does not exist per process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "snake_case"))]
pub enum ActivityScope {
    /// The whole system, including every other program.
    #[default]
    System,
    /// The measured control group.
    Cgroup,
}

/// The source of processor time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "snake_case"))]
pub enum CpuSource {
    /// `/proc/PID/stat` of every process, in ticks of 10 ms.
    #[default]
    Tick,
    /// The kernel's report when the tree was reaped (`struct rusage` of waitid(2) and wait4(2)): to the microsecond,
    /// from the fork of the root to the end of its last process.
    Reaped,
}

#[cfg(feature = "schema")]
impl CpuSource {
    fn is_tick(&self) -> bool {
        *self == Self::Tick
    }
}

/// The processor time of reaped processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuTime {
    pub(crate) user: Duration,
    pub(crate) system: Duration,
}

impl Add for CpuTime {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { user: self.user.saturating_add(other.user), system: self.system.saturating_add(other.system) }
    }
}

/// What memory cost during a phase. Counts that the kernel does not keep are absent.
///
/// Faults and processor time cover the tree's processes and those they have reaped. They are absent if the root ended
/// unobserved, and miss processes that were reaped outside the tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(default))]
pub struct Activity {
    /// Page faults without disk access.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub minor_faults: Option<u64>,
    /// Page faults that waited for a disk: file pages or swap.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub major_faults: Option<u64>,
    /// Nanoseconds of processor time in user code.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub cpu_user_ns: Option<u64>,
    /// Nanoseconds of processor time in the kernel.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub cpu_system_ns: Option<u64>,
    /// The source of both; ticks if absent.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "CpuSource::is_tick"))]
    pub cpu_source: CpuSource,
    /// Microseconds in which at least one task waited for memory (pressure stall information).
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub some_stall_us: Option<u64>,
    /// Microseconds in which every task waited for memory.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub full_stall_us: Option<u64>,
    /// The scope of the stalls.
    pub stalls_of: ActivityScope,
    /// Processes killed by the kernel's out-of-memory killer.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub oom_kills: Option<u64>,
    /// The scope of the kills.
    pub oom_kills_of: ActivityScope,
}

impl Activity {
    /// Uses the kernel's report from reaping the tree as the processor time of a phase that covers the whole run.
    pub(crate) fn set_reaped(&mut self, cpu: CpuTime) {
        self.cpu_user_ns = Some(nanoseconds(cpu.user));
        self.cpu_system_ns = Some(nanoseconds(cpu.system));
        self.cpu_source = CpuSource::Reaped;
    }
}

/// The counters at one instant.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) usage: Option<Usage>,
    pub(crate) pressure: Option<MemoryPressure>,
    pub(crate) stalls_of: ActivityScope,
    pub(crate) oom_kills: Option<OomKills>,
    pub(crate) oom_kills_of: ActivityScope,
}

impl Counters {
    /// The increase since `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Activity {
        let usage = self.usage.zip(earlier.usage).map(|(now, before)| now - before);
        let pressure = self.pressure.zip(earlier.pressure);
        Activity {
            minor_faults: usage.map(|usage| usage.minor_faults),
            major_faults: usage.map(|usage| usage.major_faults),
            cpu_user_ns: usage.map(|usage| ticks_ns(usage.user_ticks)),
            cpu_system_ns: usage.map(|usage| ticks_ns(usage.system_ticks)),
            cpu_source: CpuSource::Tick,
            some_stall_us: pressure.map(|(now, before)| now.some_us.saturating_sub(before.some_us)),
            full_stall_us: pressure
                .and_then(|(now, before)| now.full_us.zip(before.full_us))
                .map(|(now, before)| now.saturating_sub(before)),
            stalls_of: self.stalls_of,
            oom_kills: self.oom_kills.zip(earlier.oom_kills).map(|(now, before)| now.since(before)),
            oom_kills_of: self.oom_kills_of,
        }
    }
}

/// The processor time of a process and of the children it has reaped; `None` if it is gone.
pub(super) fn cpu_of(pid: u32) -> Option<Duration> {
    let usage = Stat::read(pid).ok()?.usage;
    let ticks = usage.user_ticks.saturating_add(usage.system_ticks);
    Some(Duration::from_nanos(ticks_ns(ticks)))
}

fn ticks_ns(ticks: u64) -> u64 {
    ticks.saturating_mul(1_000_000_000 / ticks_per_second())
}

fn ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second().max(1)
}

/// The usage of a tree. It never falls: the usage of a reaped process goes to the process that reaped it.
#[derive(Debug)]
pub(crate) struct TreeUsage {
    root: u32,
    /// The usage of ending processes whose parents are outside the tree, so that no process of the tree inherits it.
    leaving: BTreeMap<ProcessId, Usage>,
}

impl TreeUsage {
    pub(crate) fn new(root: u32) -> Self {
        Self { root, leaving: BTreeMap::new() }
    }

    /// Notes the usage of a process that is about to end.
    pub(crate) fn observe_exit(&mut self, tree: &Tree, pid: u32) {
        let Ok(stat) = Stat::read(pid) else { return };
        let reaped_inside = tree.nodes().iter().any(|node| node.id.pid == stat.parent);
        if pid == self.root || !reaped_inside {
            self.leaving.insert(ProcessId { pid, start_ticks: stat.start_ticks }, stat.usage);
        }
    }

    /// `None` if the root ended unobserved.
    pub(crate) fn read(&self, tree: &Tree) -> Option<Usage> {
        let mut sum = Usage::default();
        let mut has_root = false;
        for node in tree.nodes() {
            // If a process disappeared after the tree was read, the process that reaped it has its usage.
            if let Ok(stat) = Stat::read(node.id.pid)
                && stat.start_ticks == node.id.start_ticks
            {
                sum = sum + stat.usage;
                has_root |= node.id.pid == self.root;
            }
        }
        for (id, &usage) in &self.leaving {
            if id.is_gone() {
                sum = sum + usage;
                has_root |= id.pid == self.root;
            }
        }
        has_root.then_some(sum)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn usage(faults: u64, ticks: u64) -> Option<Usage> {
        Some(Usage { minor_faults: faults, major_faults: 1, user_ticks: ticks, system_ticks: 0 })
    }

    #[test]
    fn activity_is_what_counters_have_risen_by() {
        let pressure = |some_us, full_us| Some(MemoryPressure { some_us, full_us });
        let before = Counters { usage: usage(10, 5), pressure: pressure(7, Some(3)), ..Counters::default() };
        let after = Counters { usage: usage(30, 7), pressure: pressure(9, None), ..Counters::default() };
        let activity = after.since(before);
        assert_eq!((activity.minor_faults, activity.major_faults), (Some(20), Some(0)));
        assert_eq!(activity.cpu_user_ns, Some(2 * 1_000_000_000 / ticks_per_second()));
        assert_eq!((activity.some_stall_us, activity.full_stall_us), (Some(2), None));
        assert_eq!(activity.oom_kills, None, "what was not read is absent");
        assert_eq!(Counters::default().since(before).minor_faults, None);
    }

    #[test]
    fn a_reaped_child_counts_and_a_root_that_is_gone_does_only_where_it_was_observed() {
        let mut tree = Tree::new(std::process::id()).unwrap();
        tree.discover(Instant::now());
        let own = TreeUsage::new(std::process::id());
        let before = own.read(&tree).unwrap();
        assert!(std::process::Command::new("true").status().unwrap().success());
        assert!((own.read(&tree).unwrap() - before).minor_faults > 20);

        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let mut tree = Tree::new(child.id()).unwrap();
        let (mut observed, unobserved) = (TreeUsage::new(child.id()), TreeUsage::new(child.id()));
        observed.observe_exit(&tree, child.id());
        let noted = observed.read(&tree).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        tree.read(Instant::now());
        assert!(observed.read(&tree).unwrap().minor_faults <= noted.minor_faults && noted.minor_faults > 0);
        assert_eq!(unobserved.read(&tree), None);
    }
}
