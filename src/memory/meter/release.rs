//! Proof that a process gave its memory back: the process is gone, and the system's available memory is as before.

use std::time::{Duration, Instant};

use super::meminfo::available;
use super::process::{ProcessId, ProcessMemory};
use crate::bytes::ByteSize;
use crate::nanoseconds;

/// The pause between the first checks; each pause is twice the previous one, up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Whether and how a process gave its memory back.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct ReleaseProof {
    /// Whether the process is gone and reaped.
    pub gone: bool,
    /// Whether the available memory recovered, within the tolerance: to its value before the process, or by what the
    /// process held. Absent if the system does not report it.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub recovered: Option<bool>,
    /// How far the available memory may stay below its previous value.
    pub tolerance: ByteSize,
    /// Nanoseconds waited for both.
    pub waited_ns: u64,
    /// The available memory before the process began: MemAvailable, and the free pages in the lists of processors.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub available_before: Option<ByteSize>,
    /// The available memory at the end of its work, while it still ran.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub available_at_end: Option<ByteSize>,
    /// The available memory after the process was gone, or when waiting was given up.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub available_after: Option<ByteSize>,
    /// The largest resident set of the process (`VmHWM`).
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub worker_peak_rss: Option<ByteSize>,
    /// Its resident set at the end of its work: what it had to give back.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub worker_rss_at_end: Option<ByteSize>,
}

impl ReleaseProof {
    /// Whether the process is gone and its memory is known to be released.
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
    /// Records the memory at the end of the work of `process`, which is still running. `available_before` is
    /// [`available`] from before it began.
    pub fn begin(process: ProcessId, available_before: Option<ByteSize>) -> Self {
        Self {
            process,
            available_before,
            available_at_end: available(),
            memory_at_end: ProcessMemory::read(process.pid).ok(),
        }
    }

    /// Waits until the process is gone, which its parent must ensure by reaping it, and until the available memory has
    /// recovered within `tolerance`; at most for `timeout`.
    pub fn wait(self, tolerance: ByteSize, timeout: Duration) -> ReleaseProof {
        let began = Instant::now();
        let mut pause = FIRST_PAUSE;
        // A process that had no memory left when it was read has already released everything.
        let held = self
            .memory_at_end
            .map_or(Some(ByteSize::ZERO), |memory| Some(memory.anon? + memory.shmem.unwrap_or_default()));
        loop {
            let gone = self.process.is_gone();
            let available_after = available();
            let recovered = is_back(self.available_before, self.available_at_end, held, available_after, tolerance);
            let left = timeout.saturating_sub(began.elapsed());
            if (gone && recovered != Some(false)) || left.is_zero() {
                return ReleaseProof {
                    gone,
                    recovered,
                    tolerance,
                    waited_ns: nanoseconds(began.elapsed()),
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

/// Whether the available memory is back at its value `before` the process. As other programs move it too, it also
/// suffices that it rose since the `end` by what the process `held` alone.
fn is_back(
    before: Option<ByteSize>,
    end: Option<ByteSize>,
    held: Option<ByteSize>,
    now: Option<ByteSize>,
    tolerance: ByteSize,
) -> Option<bool> {
    let now = now?;
    let reached = |level: ByteSize| now >= level.saturating_sub(tolerance);
    let as_before = before.map(reached);
    let risen = end.zip(held).map(|(end, held)| reached(end + held));
    match (as_before, risen) {
        (None, None) => None,
        _ => Some(as_before == Some(true) || risen == Some(true)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_back_within_the_tolerance() {
        let mib = |n| Some(ByteSize::mib(n));
        let tolerance = ByteSize::mib(4);
        let back = |before, end, held, now| is_back(before, end, held, now, tolerance);
        assert_eq!(back(mib(100), None, None, mib(96)), Some(true));
        assert_eq!(back(mib(100), None, None, mib(95)), Some(false));
        assert_eq!(back(mib(100), None, None, mib(200)), Some(true));
        // Another program took 50 MiB meanwhile, but what this process held came back.
        assert_eq!(back(mib(100), mib(30), mib(20), mib(50)), Some(true));
        assert_eq!(back(mib(100), mib(30), mib(20), mib(45)), Some(false));
        assert_eq!((back(None, None, mib(1), mib(1)), back(mib(1), mib(1), mib(1), None)), (None, None));
    }

    #[test]
    fn a_process_that_stays_or_is_not_reaped_is_reported() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let process = ProcessId::of(child.id()).unwrap();
        let release = Release::begin(process, None);
        let timeout = Duration::from_millis(30);
        assert!(!release.wait(ByteSize::ZERO, timeout).gone);
        child.kill().unwrap();
        let proof = release.wait(ByteSize::ZERO, timeout);
        assert!(!proof.gone && proof.waited_ns >= 30_000_000 && !proof.holds());
        child.wait().unwrap();
        let proof = release.wait(ByteSize::ZERO, timeout);
        assert!(proof.gone && proof.worker_peak_rss > Some(ByteSize::ZERO), "{proof:?}");
        // The kernel may report that a machine gained or lost memory, but not 2^40 bytes.
        let before = available();
        assert!(Release::begin(process, before).wait(ByteSize::gib(1024), timeout).holds());
        let more = before.and_then(|bytes| bytes.checked_add(ByteSize::gib(1024)));
        let gone = Release::begin(process, more).wait(ByteSize::mib(64), timeout);
        assert_eq!(gone.recovered, Some(true), "what is gone has nothing left to give back");
    }
}
