//! Limits that the meter checks in every sample, so that a runaway process can be stopped at once.

use std::collections::VecDeque;
use std::fmt;

use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};

use super::error::MeterError;
use super::metric::{Metric, Part};
use super::pass::counter;
use super::process::ProcessMemory;
use super::reading::{Reading, Source};
use super::swap::SwapScope;
use crate::bytes::ByteSize;

/// Maximum number of breaches that wait to be taken.
const WAITING: usize = 64;

/// A limit to check in every sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    /// The limited metric.
    pub metric: Metric,
    /// The maximum; for a floor the minimum.
    pub limit: ByteSize,
}

/// The process that held the most when a limit was exceeded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct Holder {
    /// The process id.
    pub pid: u32,
    /// Its role (`supervisor`, `worker 2`), or the name of its command.
    pub name: String,
    /// Its resident set.
    pub rss: ByteSize,
}

/// A limit that a sample exceeded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct Breach {
    /// The limited metric.
    pub metric: Metric,
    /// The limit.
    pub limit: ByteSize,
    /// The reading of that sample.
    pub reading: Reading,
    /// The current phase; empty before the first.
    pub phase: String,
    /// Nanoseconds since the phase began.
    pub at_ns: u64,
    /// The process that held the most of what is limited.
    pub process: Option<Holder>,
}

impl fmt::Display for Breach {
    /// `peak_rss <= 1.00 GiB broke in phase validate: 1.20 GiB, of which worker 1 (pid 7) held 1.10 GiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} broke", self.metric, self.metric.relation(), self.limit)?;
        if !self.phase.is_empty() {
            write!(f, " in phase {}", self.phase)?;
        }
        write!(f, ": {}", self.reading.bytes)?;
        match &self.process {
            Some(Holder { pid, name, rss }) => write!(f, ", {name} (pid {pid}) had {rss} resident"),
            None => Ok(()),
        }
    }
}

/// The measure for finding the process to blame.
pub(crate) type Measure = fn(&ProcessMemory) -> Option<ByteSize>;

/// What a watch needs of one pass.
pub(crate) struct Moment<'a> {
    pub(crate) phase: &'a str,
    pub(crate) at_ns: u64,
    /// The reading of a metric, if this pass has it.
    pub(crate) reading: &'a dyn Fn(Metric) -> Option<ByteSize>,
    /// Finds the process that holds the most by a measure.
    pub(crate) holder: &'a dyn Fn(Measure) -> Option<Holder>,
}

/// The watches, which of them are exceeded, and the breaches that wait to be taken.
#[derive(Debug)]
pub(crate) struct Watches {
    watches: Vec<(Watch, bool)>,
    swap: SwapScope,
    breaches: VecDeque<Breach>,
    signal: OwnedFd,
}

impl Watches {
    pub(crate) fn new(watches: &[Watch], swap: SwapScope) -> Result<Self, MeterError> {
        let signal = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|source| MeterError::Start { what: "eventfd", source: source.into() })?;
        let watches = watches.iter().map(|&watch| (watch, false)).collect();
        Ok(Self { watches, swap, breaches: VecDeque::new(), signal })
    }

    pub(crate) fn signal(&self) -> BorrowedFd<'_> {
        self.signal.as_fd()
    }

    /// Checks every watch. An exceeded one is reported once, and again only after it was within its limit.
    pub(crate) fn check(&mut self, now: &Moment<'_>) {
        for (watch, past) in &mut self.watches {
            let Some(reading) = (now.reading)(watch.metric) else { continue };
            let was_past = std::mem::replace(past, watch.metric.is_past(reading, watch.limit));
            if *past && !was_past && self.breaches.len() < WAITING {
                self.breaches.push_back(Breach {
                    metric: watch.metric,
                    limit: watch.limit,
                    reading: Reading::new(reading, Source::LowerBound, counter(watch.metric, self.swap)),
                    phase: now.phase.to_owned(),
                    at_ns: now.at_ns,
                    process: (now.holder)(measure(watch.metric)),
                });
                // The counter cannot overflow, and a late reader still finds it raised.
                let _ = rustix::io::write(&self.signal, &1u64.to_ne_bytes());
            }
        }
    }

    /// The oldest breach that was not taken yet; the descriptor stays readable while there are more.
    pub(crate) fn take(&mut self) -> Option<Breach> {
        let breach = self.breaches.pop_front();
        if self.breaches.is_empty() {
            // The descriptor is non-blocking: reading it when it is not raised is harmless.
            let _ = rustix::io::read(&self.signal, &mut [0u8; 8]);
        }
        breach
    }
}

fn measure(metric: Metric) -> Measure {
    match metric.facts().part {
        Part::Anon => |memory| memory.anon,
        Part::File => |memory| memory.file,
        Part::Shmem => |memory| memory.shmem,
        Part::Hugetlb => |memory| memory.hugetlb,
        Part::Swap => |memory| memory.swap,
        Part::Rss | Part::Pss | Part::Whole => |memory| Some(memory.rss),
    }
}
