//! [`Throttle`]: limits expensive work to a share of the time.

use std::time::{Duration, Instant};

/// With a head start, a pause is at most one part in this many of the time since the first run, and at least as many
/// times the cost.
const HEAD_START: u32 = 8;

/// Allows work to run again only when its last cost is a small share of the time since.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Throttle {
    /// One part in this many of the time may be spent.
    parts: u32,
    /// The minimum time between two runs.
    at_least: Duration,
    next: Option<Instant>,
    has_head_start: bool,
    first: Option<Instant>,
}

impl Throttle {
    pub(crate) fn new(parts: u32, at_least: Duration) -> Self {
        Self { parts, at_least, next: None, has_head_start: false, first: None }
    }

    /// Pauses less at the beginning, which decides what is known of something short. Some twenty runs more than the share
    /// allows come of it, however long it lasts.
    pub(crate) fn with_head_start(self) -> Self {
        Self { has_head_start: true, ..self }
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
        let lasted = began.saturating_duration_since(*self.first.get_or_insert(began));
        let mut pause = cost.saturating_mul(self.parts);
        if self.has_head_start {
            pause = pause.min((lasted / HEAD_START).max(cost.saturating_mul(HEAD_START)));
        }
        self.next = began.checked_add(pause.max(self.at_least));
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

    #[test]
    fn a_head_start_costs_a_bounded_number_of_runs() {
        let (began, cost) = (Instant::now(), Duration::from_millis(1));
        let runs = |head_start: bool, until: Duration| {
            let throttle = Throttle::new(62, Duration::ZERO);
            let mut throttle = if head_start { throttle.with_head_start() } else { throttle };
            let (mut now, mut runs) = (began, 0);
            while now < began + until {
                throttle.spent(now, cost);
                (now, runs) = (throttle.due().unwrap(), runs + 1);
            }
            runs
        };
        let early = Duration::from_millis(100);
        assert!(runs(true, early) >= 5 * runs(false, early), "{}", runs(true, early));
        let late = Duration::from_secs(60);
        assert!((1..30).contains(&(runs(true, late) - runs(false, late))), "{}", runs(true, late));
    }
}
