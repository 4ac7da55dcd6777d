//! [`Shared`]: what the thread that samples works with, and who looks at a run from other threads.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::gather::Gatherer;

/// The state of a meter, under its lock.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) gatherer: Mutex<Gatherer>,
    /// Told when the sampler is to stop.
    pub(super) wake: Condvar,
}

impl Shared {
    /// A panic of the other thread leaves figures that are no worse than a missed sample.
    pub(super) fn lock(&self) -> MutexGuard<'_, Gatherer> {
        self.gatherer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
