//! [`Throttle`]: limits expensive work to a share of the time.

use std::time::{Duration, Instant};

/// Allows work to run again only when its last cost is a small share of the time since.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Throttle {
    /// One part in this many of the time may be spent.
    parts: u32,
    /// The minimum time between two runs.
    at_least: Duration,
    next: Option<Instant>,
}

impl Throttle {
    pub(crate) fn new(parts: u32, at_least: Duration) -> Self {
        Self { parts, at_least, next: None }
    }

    /// When it may run again; absent if it may run now.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.next
    }

    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.next.is_none_or(|next| now >= next)
    }

    /// Notes that the work started at `began` and took `cost` of processor time.
    pub(crate) fn spent(&mut self, began: Instant, cost: Duration) {
        self.next = began.checked_add(cost.saturating_mul(self.parts).max(self.at_least));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_kept_to_its_share() {
        let began = Instant::now();
        let mut throttle = Throttle::new(50, Duration::from_millis(100));
        assert!(throttle.is_due(began));
        throttle.spent(began, Duration::from_millis(1));
        assert!(!throttle.is_due(began + Duration::from_millis(99)));
        assert!(throttle.is_due(began + Duration::from_millis(100)));
        throttle.spent(began, Duration::from_millis(10));
        assert!(!throttle.is_due(began + Duration::from_millis(499)));
        assert!(throttle.is_due(began + Duration::from_millis(500)));
    }
}
