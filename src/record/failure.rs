//! [`Failure`]: why an entry has no result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why an entry has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The launch took longer than the timeout, and the worker was killed.
    Timeout,
    /// A signal ended the worker.
    Signal,
    /// The worker ended by itself before it answered.
    Exit,
    /// The kernel raised an exception.
    Exception,
    /// The kernel could not get host memory.
    HostOom,
    /// The kernel could not get device memory.
    DeviceOom,
    /// The kernel failed on the device, and its process can no longer use the device.
    DeviceFault,
    /// The operating system killed the worker for memory; `evidence` shows it.
    OomKill,
    /// The worker was killed because it exceeded a ceiling.
    Ceiling,
    /// The kernel wrote to an argument that it was not declared to change.
    MutatedInput,
    /// The kernel's output was not made from its arguments: an earlier result, or none on buffers that it had seen.
    StaleOutput,
    /// The output changed after the launch had returned.
    LateWrite,
    /// The kernel returned something that computes when it is read, instead of a plain tensor.
    NotATensor,
    /// The kernel left the memory of its output unwritten in a timed launch.
    UnwrittenOutput,
    /// The reported times contradict the supervisor's clock, or were reached by computing only what had changed.
    TimeMismatch,
    /// The kernel tried to reach the supervisor, the capture, or the record.
    Tampered,
    /// The kernel does not support the call.
    Unsupported,
    /// The entry could not be read, or changed during the run.
    Input,
    /// The worker closed its channel, or broke the protocol.
    ChannelClosed,
    /// The run was interrupted during the launch.
    Cancelled,
}

impl FailureKind {
    /// Every kind.
    pub const ALL: [Self; 20] = [
        Self::Timeout,
        Self::Signal,
        Self::Exit,
        Self::Exception,
        Self::HostOom,
        Self::DeviceOom,
        Self::DeviceFault,
        Self::OomKill,
        Self::Ceiling,
        Self::MutatedInput,
        Self::StaleOutput,
        Self::LateWrite,
        Self::NotATensor,
        Self::UnwrittenOutput,
        Self::TimeMismatch,
        Self::Tampered,
        Self::Unsupported,
        Self::Input,
        Self::ChannelClosed,
        Self::Cancelled,
    ];

    /// The name in the record, such as `host-oom`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Signal => "signal",
            Self::Exit => "exit",
            Self::Exception => "exception",
            Self::HostOom => "host-oom",
            Self::DeviceOom => "device-oom",
            Self::DeviceFault => "device-fault",
            Self::OomKill => "oom-kill",
            Self::Ceiling => "ceiling",
            Self::MutatedInput => "mutated-input",
            Self::StaleOutput => "stale-output",
            Self::LateWrite => "late-write",
            Self::NotATensor => "not-a-tensor",
            Self::UnwrittenOutput => "unwritten-output",
            Self::TimeMismatch => "time-mismatch",
            Self::Tampered => "tampered",
            Self::Unsupported => "unsupported",
            Self::Input => "input",
            Self::ChannelClosed => "channel-closed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A failure of one entry, with what is known of its cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// What happened.
    pub kind: FailureKind,
    /// What happened, in a sentence.
    pub message: String,
    /// Details, such as a traceback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The signal that ended the worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// The exit status of the worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Evidence of the cause, such as a counter of the cgroup.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// The end of the worker's standard error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
}

impl Failure {
    /// A failure without further details.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            detail: None,
            signal: None,
            exit_code: None,
            evidence: Vec::new(),
            stderr: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_record() {
        for kind in FailureKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }
}
