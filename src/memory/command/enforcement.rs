//! [`Enforcement`]: what stops a process tree at its ceiling.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::bytes::{ByteSize, MIB};
use crate::ceiling::{Ceiling, Ceilings};
use crate::meter::{Cgroup, CgroupVersion, MeterError, Metric};
use crate::nanoseconds;

/// What stops a process tree at its ceiling.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(tag = "kind", rename_all = "snake_case"))]
pub enum Enforcement {
    /// The memory limit of a control group created for the run, in addition to the watchdog: the kernel stops what is
    /// too fast for samples.
    Cgroup {
        /// The cgroup version.
        version: CgroupVersion,
        /// The limit of the group: the ceiling on `peak_cgroup`, or for one on `peak_rss` a higher value that allows
        /// for what a group counts beside resident memory.
        limit: ByteSize,
        /// The path of the group in its hierarchy, which shows where it was created: below the group of this process,
        /// beside it, or in a scope of the user's systemd (`plimsoll-PID-START.scope`). Absent in records of earlier
        /// versions.
        #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "String::is_empty"))]
        group: String,
        /// Nanoseconds between two samples of the watchdog.
        interval_ns: u64,
    },
    /// Only the meter's samples: the whole tree is killed once a sample exceeds a ceiling. Growth faster than the
    /// samples gets further.
    Watchdog {
        /// Nanoseconds between two samples.
        interval_ns: u64,
        /// Why there is no control group.
        #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
        no_cgroup: Option<String>,
    },
}

impl Enforcement {
    /// Returns the watchdog part of this enforcement.
    pub(super) fn watchdog(&self) -> Self {
        match self {
            Self::Cgroup { interval_ns, .. } => Self::Watchdog { interval_ns: *interval_ns, no_cgroup: None },
            watchdog @ Self::Watchdog { .. } => watchdog.clone(),
        }
    }
}

impl fmt::Display for Enforcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cgroup { version, limit, .. } => {
                let version = match version {
                    CgroupVersion::V1 => "1",
                    CgroupVersion::V2 => "2",
                };
                write!(f, "the limit of {limit} of a control group (version {version}) made for it")
            }
            Self::Watchdog { interval_ns, no_cgroup } => {
                let interval = Duration::from_nanos(*interval_ns);
                write!(f, "the watchdog, which looks every {}", humantime::format_duration(interval))?;
                no_cgroup.iter().try_for_each(|why| write!(f, "; it has no control group: {why}"))
            }
        }
    }
}

/// What stops one run at its ceilings.
#[derive(Debug)]
pub(super) struct Guard {
    pub(super) enforcement: Enforcement,
    /// The group, and the ceiling that its limit enforces.
    pub(super) group: Option<(Cgroup, Ceiling)>,
}

impl Guard {
    /// Creates a control group if it can enforce a ceiling and the system allows it; otherwise only the watchdog.
    pub(super) fn new(ceilings: &Ceilings, interval: Duration, room: Room) -> Self {
        let interval_ns = nanoseconds(interval);
        let Some((ceiling, limit)) = group_limit(ceilings) else {
            let no_cgroup = Some("no ceiling on peak_rss or peak_cgroup, which its limit could enforce".to_owned());
            return Self { enforcement: Enforcement::Watchdog { interval_ns, no_cgroup }, group: None };
        };
        match make_limited_group(limit, room) {
            Ok(group) => {
                let enforcement =
                    Enforcement::Cgroup { version: group.version(), limit, group: group.name(), interval_ns };
                Self { enforcement, group: Some((group, ceiling)) }
            }
            Err(error) => {
                let no_cgroup = Some(error.to_string());
                Self { enforcement: Enforcement::Watchdog { interval_ns, no_cgroup }, group: None }
            }
        }
    }

    pub(super) fn cgroup(&self) -> Option<&Cgroup> {
        self.group.as_ref().map(|(group, _)| group)
    }
}

/// Whether this process may move to another control group to make room for a run's group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Room {
    /// The process stays in its control group.
    #[default]
    AsItIs,
    /// The process may move, and so may its parent, which runs the same program.
    Made,
}

/// Creates a group for one run, without limits.
pub(super) fn make_group(room: Room) -> Result<Cgroup, MeterError> {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let create = || Cgroup::create(&format!("run-{}", MADE.fetch_add(1, Ordering::Relaxed)));
    match create() {
        Err(_) if room == Room::Made => {
            Cgroup::make_room(&[std::os::unix::process::parent_id()])?;
            create()
        }
        made => made,
    }
}

fn make_limited_group(limit: ByteSize, room: Room) -> Result<Cgroup, MeterError> {
    let group = make_group(room)?;
    group.limit_memory(limit)?;
    // Swapped memory is not resident, but a limit that only moves memory to disk stops nothing. A kernel without swap
    // accounting has nothing to limit. Version 1 kills only one process; Plimsoll then kills the others.
    let _ = group.limit_swap(ByteSize::ZERO);
    let _ = group.kill_whole_group();
    Ok(group)
}

/// The ceiling that a control group's memory limit can enforce, and that limit.
///
/// A group counts page tables, kernel stacks and files in memory as well as resident memory. Its limit is therefore
/// above the ceiling by a sixteenth, and at least 16 MiB: it never stops a run within the ceiling, but stops any run
/// far beyond it, however fast it grows. Page cache is reclaimed before anything is killed.
///
/// A ceiling on `peak_cgroup` limits what a group counts, so the group's limit equals it.
fn group_limit(ceilings: &Ceilings) -> Option<(Ceiling, ByteSize)> {
    let ceiling = |metric| ceilings.get(metric).map(|limit| Ceiling { metric, limit });
    let room = |limit: ByteSize| ByteSize::new((limit.bytes() / 16).max(16 * MIB));
    let resident = ceiling(Metric::PeakRss).map(|ceiling| (ceiling, ceiling.limit + room(ceiling.limit)));
    let group = ceiling(Metric::PeakCgroup).map(|ceiling| (ceiling, ceiling.limit));
    resident.into_iter().chain(group).min_by_key(|(_, limit)| *limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_a_group_leaves_room_for_what_is_not_resident() {
        let limit = |ceilings: &str| group_limit(&ceilings.parse().unwrap()).map(|(_, limit)| limit);
        assert_eq!(limit("peak_rss = 64 MiB"), Some(ByteSize::mib(80)));
        assert_eq!(limit("peak_anon = 1 MiB, peak_rss = 16 GiB"), Some(ByteSize::gib(17)));
        // What a group counts can be limited directly.
        assert_eq!(limit("peak_cgroup = 100 MiB"), Some(ByteSize::mib(100)));
        assert_eq!(limit("peak_cgroup = 100 MiB, peak_rss = 64 MiB"), Some(ByteSize::mib(80)));
        assert_eq!(limit("peak_cgroup = 70 MiB, peak_rss = 64 MiB"), Some(ByteSize::mib(70)));
        // Files in memory count for a group but not for a ceiling on anonymous memory.
        assert_eq!(limit("peak_anon = 64 MiB"), None);
    }
}
