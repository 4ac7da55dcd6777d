//! Proof that a process's memory is back: the process gone, and the system's available memory as before it.

use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::meminfo::SystemMemory;
use super::process::{ProcessId, ProcessMemory};
use crate::bytes::ByteSize;

/// The pause between the first looks; each is twice as long as the one before, up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// How a process gave its memory back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseProof {
    /// Whether the process is gone, reaped included.
    pub gone: bool,
    /// Whether the available memory came back to what it was before the process, within the tolerance; absent where
    /// the system does not tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovered: Option<bool>,
    /// How far below what it was before the available memory may stay.
    pub tolerance: ByteSize,
    /// Nanoseconds waited for both.
    pub waited_ns: u64,
    /// The available memory before the process began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available_before: Option<ByteSize>,
    /// The available memory at the end of its work, while it still ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available_at_end: Option<ByteSize>,
    /// The available memory after it was gone, or when the wait was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available_after: Option<ByteSize>,
    /// The largest resident set of the process (`VmHWM`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_peak_rss: Option<ByteSize>,
    /// Its resident set at the end of its work: what it had to give back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_rss_at_end: Option<ByteSize>,
}

impl ReleaseProof {
    /// Whether the process is gone and its memory is known to be back.
    pub fn holds(&self) -> bool {
        self.gone && self.recovered == Some(true)
    }
}

/// A process that is about to be ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    process: ProcessId,
    available_before: Option<ByteSize>,
    available_at_end: Option<ByteSize>,
    memory_at_end: Option<ProcessMemory>,
}

impl Release {
    /// Notes the memory at the end of the work of `process`, which still runs. `available_before` is
    /// [`SystemMemory::available`] from before it began.
    pub fn begin(process: ProcessId, available_before: Option<ByteSize>) -> Self {
        Self {
            process,
            available_before,
            available_at_end: available(),
            memory_at_end: ProcessMemory::read(process.pid).ok(),
        }
    }

    /// Waits until the process is gone, which its parent must see to by reaping it, and the available memory is back
    /// within `tolerance` of what it was before; no longer than `timeout`.
    pub fn wait(self, tolerance: ByteSize, timeout: Duration) -> ReleaseProof {
        let began = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            let gone = self.process.is_gone();
            let available_after = available();
            let recovered = is_back(self.available_before, available_after, tolerance);
            let left = timeout.saturating_sub(began.elapsed());
            if (gone && recovered != Some(false)) || left.is_zero() {
                return ReleaseProof {
                    gone,
                    recovered,
                    tolerance,
                    waited_ns: u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX),
                    available_before: self.available_before,
                    available_at_end: self.available_at_end,
                    available_after,
                    worker_peak_rss: self.memory_at_end.and_then(|memory| memory.peak_rss),
                    worker_rss_at_end: self.memory_at_end.map(|memory| memory.rss),
                };
            }
            std::thread::sleep(pause.min(left));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

fn available() -> Option<ByteSize> {
    SystemMemory::read().ok()?.available
}

fn is_back(before: Option<ByteSize>, now: Option<ByteSize>, tolerance: ByteSize) -> Option<bool> {
    Some(now? >= before?.saturating_sub(tolerance))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_back_within_the_tolerance() {
        let mib = |n| Some(ByteSize::mib(n));
        assert_eq!(is_back(mib(100), mib(96), ByteSize::mib(4)), Some(true));
        assert_eq!(is_back(mib(100), mib(95), ByteSize::mib(4)), Some(false));
        assert_eq!(is_back(mib(100), mib(200), ByteSize::ZERO), Some(true));
        assert_eq!((is_back(None, mib(1), ByteSize::ZERO), is_back(mib(1), None, ByteSize::ZERO)), (None, None));
    }

    #[test]
    fn a_process_that_stays_or_is_not_reaped_is_told() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let process = ProcessId::of(child.id()).unwrap();
        let release = Release::begin(process, None);
        let timeout = Duration::from_millis(30);
        assert!(!release.wait(ByteSize::ZERO, timeout).gone);
        child.kill().unwrap();
        let proof = release.wait(ByteSize::ZERO, timeout);
        assert!(!proof.gone && proof.waited_ns >= 30_000_000 && !proof.holds());
        child.wait().unwrap();
        let proof = release.wait(ByteSize::ZERO, Duration::from_secs(10));
        assert!(proof.gone && proof.recovered.is_none() && proof.worker_peak_rss > Some(ByteSize::ZERO), "{proof:?}");
        // The kernel may say of a machine that it has gained or lost memory; not 2^40 bytes of it.
        let before = SystemMemory::read().unwrap().available;
        assert!(Release::begin(process, before).wait(ByteSize::gib(1024), timeout).holds());
        let more = before.and_then(|bytes| bytes.checked_add(ByteSize::gib(1024)));
        assert_eq!(Release::begin(process, more).wait(ByteSize::ZERO, timeout).recovered, Some(false));
    }
}
