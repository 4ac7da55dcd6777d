//! [`ProcessEnd`]: how a process ended, and what ended it.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use super::enforcement::{Enforcement, Guard};
use super::signal::Signal;
use super::slurm::SlurmStep;
use crate::bytes::ByteSize;
use crate::ceiling::Ceiling;
use crate::meter::{Breach, Metric};
use crate::nanoseconds;

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct ProcessEnd {
    /// Its exit code; absent if a signal ended it.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub signal: Option<Signal>,
    /// What ended it.
    pub cause: EndCause,
}

/// What ended a process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(tag = "kind", rename_all = "snake_case"))]
#[non_exhaustive]
pub enum EndCause {
    /// The command exited by itself.
    Exited,
    /// A signal of unknown origin: the program's own fault, or another program sent it.
    Signal,
    /// Plimsoll killed the command because it ran longer than its timeout.
    Timeout {
        /// Nanoseconds that it may take.
        limit_ns: u64,
    },
    /// The command was killed at an enforced ceiling, by Plimsoll or by the limit of a control group created for it.
    CeilingEnforced {
        /// The limited metric.
        metric: Metric,
        /// The ceiling.
        limit: ByteSize,
        /// What enforced it.
        by: Enforcement,
        /// The evidence.
        evidence: Vec<String>,
    },
    /// The kernel killed it at the memory limit of its Slurm job or step.
    SlurmOomKill {
        /// The job, and the step if known.
        step: SlurmStep,
        /// The evidence.
        evidence: Vec<String>,
    },
    /// The command failed after reporting that the memory of a device (a GPU) was exhausted.
    DeviceOutOfMemory {
        /// Its report.
        evidence: Vec<String>,
    },
    /// The kernel killed it at the memory limit of a control group that was not created for it.
    CgroupOomKill {
        /// The evidence.
        evidence: Vec<String>,
    },
    /// The kernel killed it because the system ran out of memory.
    KernelOomKill {
        /// The evidence.
        evidence: Vec<String>,
    },
    /// Plimsoll killed the command because the run was cancelled.
    Cancelled,
}

/// Why Plimsoll killed a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Killed {
    Timeout(Duration),
    /// A sample exceeded a ceiling.
    Ceiling(Box<Breach>),
    /// The kernel killed a process at the limit of the run's control group, and Plimsoll killed the others.
    GroupLimit,
    Cancelled,
}

/// The kernel's evidence of out-of-memory kills while a process lived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OomEvidence {
    /// From the control group created for it.
    pub(super) own_group: Vec<String>,
    /// Whether that group has a limit.
    pub(super) limited: bool,
    /// From the control group that it was in already.
    pub(super) group_around: Vec<String>,
    /// From the whole system.
    pub(super) system: Vec<String>,
    /// The Slurm step that the control group belongs to.
    pub(super) step: Option<SlurmStep>,
}

/// The exit code by which a shell or a script reports that one of its processes was killed by SIGKILL.
const KILLED_BELOW: i32 = 128 + libc::SIGKILL;

impl OomEvidence {
    /// The cause of an end that Plimsoll did not bring about.
    fn cause(self, status: ExitStatus) -> EndCause {
        let Self { own_group, limited, group_around, system, step } = self;
        let of_group = |evidence| match step {
            Some(step) => EndCause::SlurmOomKill { step, evidence },
            None => EndCause::CgroupOomKill { evidence },
        };
        // In its own group, every kill concerns its processes; in others, the count needs the process's own status as
        // confirmation.
        let killed = status.signal() == Some(libc::SIGKILL) || status.code() == Some(KILLED_BELOW);
        match (own_group.is_empty(), killed) {
            // A group without a limit also counts kills at the limits of its parents and of the system.
            (false, _) if limited => of_group(own_group),
            (_, true) if !group_around.is_empty() => of_group(group_around),
            (false, _) => EndCause::KernelOomKill { evidence: [own_group, system].concat() },
            (_, true) if !system.is_empty() => EndCause::KernelOomKill { evidence: system },
            _ if status.signal().is_some() => EndCause::Signal,
            _ => EndCause::Exited,
        }
    }
}

impl ProcessEnd {
    /// The end of a process with this status; `killed` is the reason if Plimsoll killed it.
    pub(super) fn of(status: ExitStatus, killed: Option<&Killed>, oom: OomEvidence, guard: Option<&Guard>) -> Self {
        let signal = status.signal().map(Signal::new);
        let was_killed = status.signal() == Some(libc::SIGKILL);
        let group = guard.and_then(|guard| Some((guard, guard.group.as_ref()?.1)));
        let cause = match (killed, guard, group) {
            // The kernel may have killed another process than the root, which then exited by itself.
            (None | Some(Killed::GroupLimit), _, Some((guard, Ceiling { metric, limit })))
                if !oom.own_group.is_empty() =>
            {
                EndCause::CeilingEnforced { metric, limit, by: guard.enforcement.clone(), evidence: oom.own_group }
            }
            _ if status.success() || (killed.is_some() && signal.is_none()) => EndCause::Exited,
            (Some(Killed::Timeout(limit)), ..) if was_killed => EndCause::Timeout { limit_ns: nanoseconds(*limit) },
            (Some(Killed::Ceiling(breach)), Some(guard), _) if was_killed => EndCause::CeilingEnforced {
                metric: breach.metric,
                limit: breach.limit,
                by: guard.enforcement.watchdog(),
                evidence: vec![breach.to_string()],
            },
            (Some(Killed::Cancelled), ..) if was_killed => EndCause::Cancelled,
            _ => oom.cause(status),
        };
        Self { exit_code: status.code(), signal, cause }
    }

    /// Whether it exited with code 0.
    pub fn success(&self) -> bool {
        self.exit_code == Some(0)
    }

    /// The code by which a shell reports this end: its own exit code, or 128 plus the signal.
    pub fn shell_exit_code(&self) -> u8 {
        let code = match (&self.signal, self.exit_code) {
            (Some(signal), _) => 128 + signal.number,
            (None, code) => code.unwrap_or(1),
        };
        // Linux passes on the lowest eight bits of a code; 128 plus a signal always fits.
        (code & 0xff) as u8
    }
}

impl fmt::Display for ProcessEnd {
    /// Formats the end as a sentence without a subject: `exited with code 3`, `was killed by SIGSEGV (signal 11)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            EndCause::Exited => write!(f, "exited with code {}", self.exit_code.unwrap_or_default()),
            EndCause::Signal => match &self.signal {
                Some(signal) if signal.number == libc::SIGKILL => {
                    write!(
                        f,
                        "was killed by {signal}: by another program or itself, as the kernel counted no out-of-memory kill"
                    )
                }
                Some(signal) => write!(f, "was killed by {signal}"),
                None => f.write_str("was killed by a signal"),
            },
            EndCause::Timeout { limit_ns } => {
                let limit = Duration::from_nanos(*limit_ns);
                write!(f, "ran longer than its timeout of {} and was killed", humantime::format_duration(limit))
            }
            EndCause::CeilingEnforced { metric, limit, by, evidence } => {
                let ceiling = Ceiling { metric: *metric, limit: *limit };
                write!(f, "was killed at its ceiling {ceiling} by {by}{}", Evidence(evidence))
            }
            EndCause::CgroupOomKill { evidence } => {
                self.killed_by_kernel(f)?;
                write!(f, " at the memory limit of its control group{}", Evidence(evidence))
            }
            EndCause::SlurmOomKill { step, evidence } => {
                self.killed_by_kernel(f)?;
                write!(f, " at the memory limit of {step}{}", Evidence(evidence))
            }
            EndCause::KernelOomKill { evidence } => {
                self.killed_by_kernel(f)?;
                write!(f, "'s out-of-memory killer{}", Evidence(evidence))
            }
            EndCause::DeviceOutOfMemory { evidence } => {
                let code = self.exit_code.unwrap_or_default();
                write!(f, "exited with code {code}, because the memory of a device was exhausted{}", Evidence(evidence))
            }
            EndCause::Cancelled => f.write_str("was killed because the run was cancelled"),
        }
    }
}

impl ProcessEnd {
    /// The killed process may be a descendant of the root, which then exited by itself.
    fn killed_by_kernel(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.exit_code {
            Some(code) => write!(f, "exited with code {code} after a process of it was killed by the kernel"),
            None => f.write_str("was killed by the kernel"),
        }
    }
}

struct Evidence<'a>(&'a [String]);

impl fmt::Display for Evidence<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, " ({})", self.0.join("; ")) }
    }
}
