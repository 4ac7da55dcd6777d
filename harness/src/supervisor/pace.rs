//! [`Pace`]: the values of launches, handed out one launch at a time, and how long that takes.
//!
//! A worker asks for the values of its next launch by one byte over a socket of its own, and has them when one comes
//! back. A kernel that finds them in its worker therefore finds those of the running launch alone: what it has computed
//! before is of no use.

use std::time::{Duration, Instant};

use plimsoll::run::Patch;

/// The values of a request's launches.
#[derive(Clone, Copy)]
pub enum Given<'v> {
    /// There are no launches.
    Nothing,
    /// Launches that do nothing, on whatever is there.
    Idle,
    /// The values of each launch.
    Values(&'v [Vec<Patch>]),
}

/// What the system knows of both sides at a moment.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// When.
    pub at: Instant,
    /// For how long this thread has waited for a processor.
    pub queued: Duration,
    /// The processor time of all of the worker's threads.
    pub ran: Duration,
    /// The processor time of its first thread, which launches, and for how long that has waited for a processor.
    pub first: (Duration, Duration),
}

/// The course of a request that has launches.
pub struct Pace<'v> {
    given: Given<'v>,
    /// How many launches were handed their values.
    pub turns: usize,
    /// For how long neither side can have run, though one of them was to.
    pub queued: Duration,
    /// For how long the worker waited for values.
    pub handled: Duration,
    /// Whether the worker has closed its socket.
    pub closed: bool,
    /// When values were last handed out.
    since: Option<Moment>,
}

impl<'v> Pace<'v> {
    /// Nothing is handed out yet.
    pub fn of(given: Given<'v>) -> Self {
        Self { given, turns: 0, queued: Duration::ZERO, handled: Duration::ZERO, closed: false, since: None }
    }

    /// Whether values are handed out.
    pub fn has_launches(&self) -> bool {
        !matches!(self.given, Given::Nothing)
    }

    /// The request is sent now, or values are handed out.
    pub fn handed_out(&mut self, now: Moment) {
        self.since = Some(now);
    }

    /// The worker asks for values, or has answered. This thread had waited for a processor for `asleep` when it began to
    /// sleep.
    ///
    /// What this thread waited after that kept the worker waiting. Before, the worker may have been launching, but no
    /// longer than it ran. Both may have waited at once, and neither has while the worker's first thread ran.
    pub fn woken(&mut self, now: Moment, asleep: Duration) {
        let Some(since) = self.since.take() else { return };
        let certain = now.queued.saturating_sub(asleep);
        let possible = now.queued.saturating_sub(since.queued).saturating_sub(now.ran.saturating_sub(since.ran));
        let (ran, waited) = (now.first.0.saturating_sub(since.first.0), now.first.1.saturating_sub(since.first.1));
        let idle = now.at.saturating_duration_since(since.at).saturating_sub(ran);
        // This thread may have waited before it read the time.
        self.queued += (waited + possible).min(idle).max(certain);
    }

    /// The bytes for the next launch; `None` if there is none.
    pub fn next(&mut self) -> Option<Vec<u8>> {
        let bytes = match self.given {
            Given::Nothing => return None,
            Given::Idle => Vec::new(),
            Given::Values(launches) => {
                let patches: Vec<&[u8]> = launches.get(self.turns)?.iter().map(|patch| &patch.bytes[..]).collect();
                patches.concat()
            }
        };
        self.turns += 1;
        Some(bytes)
    }

    /// Whether the worker has taken the values of all launches.
    pub fn is_complete(&self) -> bool {
        match self.given {
            Given::Values(launches) => self.turns == launches.len(),
            Given::Nothing | Given::Idle => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_count_unless_the_worker_launched_meanwhile() {
        let (ms, start) = (Duration::from_millis, Instant::now());
        let moment = |at, queued, ran, waited| Moment {
            at: start + ms(at),
            queued: ms(queued),
            ran: ms(ran),
            first: (ms(ran), ms(waited)),
        };
        let queued = |from, to, asleep| {
            let mut pace = Pace::of(Given::Idle);
            pace.handed_out(from);
            pace.woken(to, ms(asleep));
            pace.queued
        };
        // For 4 ms of the 10 the worker ran on this thread's processor.
        assert_eq!(queued(moment(0, 0, 0, 0), moment(10, 5, 4, 0), 5), ms(1));
        assert_eq!(queued(moment(0, 0, 0, 0), moment(10, 0, 4, 3), 0), ms(3), "the worker waited alone");
        assert_eq!(queued(moment(0, 0, 0, 0), moment(10, 6, 0, 6), 6), ms(10), "both waited, some of it at once");
        assert_eq!(queued(moment(0, 0, 0, 0), moment(10, 9, 9, 0), 9), ms(0), "it launched");
    }

    #[test]
    fn values_are_handed_out_once_and_in_order() {
        let patch = |byte| Patch { storage: 0, at: 0, bytes: vec![byte], captured: false };
        let launches = [vec![patch(1), patch(2)], vec![], vec![patch(3)]];
        let mut pace = Pace::of(Given::Values(&launches));
        assert!(!pace.is_complete());
        assert_eq!([pace.next(), pace.next(), pace.next()], [Some(vec![1, 2]), Some(vec![]), Some(vec![3])]);
        assert!(pace.is_complete() && pace.next().is_none());
        assert!(Pace::of(Given::Nothing).next().is_none() && Pace::of(Given::Idle).next().is_some());
    }
}
