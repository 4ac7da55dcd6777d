//! [`Enforcement`]: what stops a process tree at its ceiling.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bytes::{ByteSize, MIB};
use crate::ceiling::Ceilings;
use crate::meter::{CgroupVersion, Metric};

/// What stops a process tree at its ceiling.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Enforcement {
    /// The memory limit of a control group that was made for the run, beside the watchdog: the kernel stops what is too
    /// fast for samples.
    Cgroup {
        /// Which interface.
        version: CgroupVersion,
        /// The limit of the group: above the ceiling by what a group counts beside resident memory.
        limit: ByteSize,
        /// Nanoseconds between two samples of the watchdog.
        interval_ns: u64,
    },
    /// The meter's samples alone: the whole tree is killed once one of them is past a ceiling. What grows faster than
    /// they come gets further.
    Watchdog {
        /// Nanoseconds between two samples.
        interval_ns: u64,
        /// Why there is no control group.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        no_cgroup: Option<String>,
    },
}

impl Enforcement {
    /// This, as far as it is the watchdog.
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
            Self::Watchdog { interval_ns, .. } => {
                let interval = Duration::from_nanos(*interval_ns);
                write!(f, "the watchdog, which looks every {}", humantime::format_duration(interval))
            }
        }
    }
}

/// The ceiling that the memory limit of a control group can stand for, and that limit.
///
/// A group counts page tables, stacks of the kernel and page cache beside resident memory, so that its limit lies above
/// the ceiling, by a sixteenth and at least 16 MiB: it never stops what is within the ceiling, and stops for certain
/// what is far past it.
pub(super) fn group_limit(ceilings: &Ceilings) -> Option<(Metric, ByteSize, ByteSize)> {
    let limits =
        [Metric::PeakRss, Metric::PeakAnon].into_iter().filter_map(|metric| Some((metric, ceilings.get(metric)?)));
    // Memory beyond resident, such as page cache, is taken back by the kernel before it kills.
    let (metric, ceiling) = limits.max_by_key(|(_, limit)| *limit)?;
    let room = (ceiling.bytes() / 16).max(16 * MIB);
    Some((metric, ceiling, ceiling + ByteSize::new(room)))
}
