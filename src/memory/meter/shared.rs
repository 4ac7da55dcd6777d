//! [`Shared`]: the state that the sampling thread shares with viewers on other threads.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::gather::Gatherer;

/// The state of a meter, under its lock.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) gatherer: Mutex<Gatherer>,
    /// Notified when the sampler should stop.
    pub(super) wake: Condvar,
}

impl Shared {
    /// A panic of the other thread is no worse for the figures than a missed sample.
    pub(super) fn lock(&self) -> MutexGuard<'_, Gatherer> {
        self.gatherer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
