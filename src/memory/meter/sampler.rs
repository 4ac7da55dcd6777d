//! [`Meter`]: samples the memory of a process tree and of the system, in phases.

use std::sync::{Arc, Barrier, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};

use super::error::MeterError;
use super::gather::Gatherer;
use super::glance::Viewer;
use super::options::MeterOptions;
use super::process::ProcessId;
use super::reading::{EndMark, PhaseReadings};
use super::shared::Shared;
use super::watch::{Breach, Watch};
use crate::alloc::uncounted;

/// Its buffers are on the heap except for one page; the rest is room for formatting an error.
const STACK: usize = 256 << 10;

/// The kernel's reports are read at least this often.
const DRAIN: Duration = Duration::from_millis(50);

/// Measures a process tree from its own thread, phase by phase.
///
/// A sample is taken when a phase begins, at every interval, and when it ends. The time before the first phase belongs
/// to no phase but is watched, except for swap growth, which counts from the start of a phase.
///
/// ```
/// use plimsoll_memory::meter::{Meter, Metric};
///
/// let meter = Meter::start()?;
/// meter.phase("load");
/// let data = vec![1u8; 8 << 20];
/// let phases = meter.finish();
/// assert!(phases[0].readings[&Metric::PeakAnon].bytes.bytes() >= data.len() as u64);
/// # Ok::<(), plimsoll_memory::meter::MeterError>(())
/// ```
#[derive(Debug)]
pub struct Meter {
    shared: Arc<Shared>,
    signal: OwnedFd,
    sample_interval: Duration,
    watches: Vec<Watch>,
    thread: Option<JoinHandle<()>>,
}

impl Meter {
    /// Starts sampling this process and its children ([`MeterOptions::default`]).
    ///
    /// # Errors
    /// [`MeterError`] if /proc cannot be read, or no thread can be started.
    pub fn start() -> Result<Self, MeterError> {
        Self::start_with(MeterOptions::default())
    }

    /// Starts sampling according to `options`.
    ///
    /// # Errors
    /// [`MeterError`] if there is no process `options.root`, /proc cannot be read, or no thread can be started.
    pub fn start_with(options: MeterOptions) -> Result<Self, MeterError> {
        let interval = options.sample_interval.max(Duration::from_micros(100));
        let gatherer = Gatherer::new(&options, interval)?;
        let refused = |what| move |source| MeterError::Start { what, source };
        let signal = gatherer.signal().try_clone_to_owned().map_err(refused("descriptor"))?;
        let shared = Arc::new(Shared { gatherer: Mutex::new(gatherer), wake: Condvar::new() });
        let sampled = Arc::clone(&shared);
        let begun = Arc::new(Barrier::new(2));
        let begins = Arc::clone(&begun);
        let thread = std::thread::Builder::new()
            .name("memory-meter".to_owned())
            .stack_size(STACK)
            .spawn(move || {
                uncounted(|| {
                    begins.wait();
                    sample(&sampled, interval);
                });
            })
            .map_err(refused("thread"))?;
        // The thread's initial allocations are not part of what is measured.
        begun.wait();
        Ok(Self { shared, signal, sample_interval: interval, watches: options.watches, thread: Some(thread) })
    }

    /// The time between two samples.
    pub fn sample_interval(&self) -> Duration {
        self.sample_interval
    }

    /// The limits that are checked in every sample.
    pub fn watches(&self) -> &[Watch] {
        &self.watches
    }

    /// Begins a phase and ends the previous one. If the meter's own process is in the tree, its high-water mark is
    /// reset, so that its peak is exact in every phase.
    pub fn phase(&self, name: &str) {
        self.shared.lock().begin_phase(name);
    }

    /// A view of the tree for another thread.
    pub fn viewer(&self) -> Viewer {
        Viewer::new(&self.shared)
    }

    /// Takes a sample now.
    pub(crate) fn sample(&self) {
        self.shared.lock().pass(false);
    }

    /// Names a process of the tree in the readings (`worker 1`), instead of its command.
    pub fn name_process(&self, pid: u32, name: &str) {
        self.shared.lock().name_process(pid, name);
    }

    /// Reads the high-water mark of a process a last time. Call it immediately before a process is ended, because an
    /// ended process has no mark. Without this call its peak is a lower bound, as its memory after the last sample is
    /// unknown.
    pub fn observe_exit(&self, pid: u32) {
        self.shared.lock().observe_exit(pid);
    }

    /// Call this once the root has ended and before it is reaped. `mark` is what the kernel keeps until then, if known:
    /// it makes the peak of a single root exact, or bounds it.
    pub fn observe_end(&self, mark: Option<EndMark>) {
        self.shared.lock().observe_end(mark);
    }

    /// The processes of the tree that have not ended.
    pub fn processes(&self) -> Vec<ProcessId> {
        self.shared.lock().processes()
    }

    /// The oldest breach of a watch that was not taken yet. A watch reports a breach once, and again only after a
    /// reading within the limit.
    pub fn breach(&self) -> Option<Breach> {
        self.shared.lock().take_breach()
    }

    /// A descriptor to poll: readable while a breach waits in [`Meter::breach`]. Do not read from it.
    pub fn breach_fd(&self) -> BorrowedFd<'_> {
        self.signal.as_fd()
    }

    /// The readings of every phase so far, including the current one, which continues.
    pub fn so_far(&self) -> Vec<PhaseReadings> {
        self.shared.lock().so_far()
    }

    /// Ends the current phase, and returns the readings of every phase in order.
    pub fn finish(&self) -> Vec<PhaseReadings> {
        let mut gatherer = self.shared.lock();
        gatherer.stop = true;
        self.shared.wake.notify_all();
        gatherer.finish()
    }

    /// Takes no more samples, and waits for the end of the thread that took them.
    pub(crate) fn stop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.wake.notify_all();
        if let Some(thread) = self.thread.take() {
            // The thread itself reported a panic.
            let _ = thread.join();
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.stop();
    }
}

fn sample(shared: &Shared, interval: Duration) {
    let mut next = Instant::now() + interval;
    let mut gatherer = shared.lock();
    while !gatherer.stop {
        let now = Instant::now();
        if let Some(left) = next.checked_duration_since(now).filter(|left| !left.is_zero()) {
            gatherer = shared.wake.wait_timeout(gatherer, left).unwrap_or_else(PoisonError::into_inner).0;
            continue;
        }
        if gatherer.is_due(now) {
            gatherer.pass(false);
        } else {
            gatherer.take_births();
        }
        // A late sample is not made up for.
        let now = Instant::now();
        next = (next + interval).max(now);
        if let Some(due) = gatherer.due() {
            next = next.max(due.min(now + DRAIN));
        }
    }
}
