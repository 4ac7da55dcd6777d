//! [`Pace`]: the values of launches, handed out one launch at a time, and how long that takes.
//!
//! A worker asks for the values of its next launch by one byte over a socket of its own, and has them when one comes
//! back. A kernel that finds them in its worker therefore finds those of the running launch alone: what it has computed
//! before is of no use.

use std::time::{Duration, Instant};

use plimsoll::run::{Patch, Span};

use super::early::WORD;

/// The launches of an audited region.
pub struct Round<'v> {
    /// The values of each.
    pub launches: &'v [Vec<Patch>],
    /// Whose outputs are kept, if not all are; the worker learns of each after the launch.
    pub keep: Option<&'v [usize]>,
    /// Where to look at the output of each before the next values are handed out.
    pub looks: &'v [Vec<usize>],
}

/// The values of a request's launches.
#[derive(Clone, Copy)]
pub enum Given<'v> {
    /// There are no launches.
    Nothing,
    /// Launches that do nothing, on whatever is there.
    Idle,
    /// The launches of an audited region.
    Values(&'v Round<'v>),
}

/// What the worker is given when it asks.
#[derive(Debug, PartialEq, Eq)]
pub enum Turn {
    /// The values of its next launch.
    Values(Vec<u8>),
    /// Whether the output of its last launch is kept.
    Keep(bool),
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

/// One launch, in nanoseconds of the system's monotonic clock.
#[derive(Clone, Copy, Debug)]
struct Launch {
    /// When its values were handed out.
    given_ns: u64,
    /// When the worker next said something.
    heard_ns: Option<u64>,
    /// When the worker last said something before the next values were handed out.
    over_ns: u64,
    /// For how long neither side can have run, though one of them was to.
    queued: Duration,
    /// For how long the worker waited to learn whether its output is kept.
    handled: Duration,
    /// For how long this thread slept on after the worker had said something.
    late: Duration,
}

/// The course of a request that has launches.
pub struct Pace<'v> {
    given: Given<'v>,
    /// How often the worker was given something.
    pub turns: usize,
    /// Whether the worker has closed its socket.
    pub closed: bool,
    launches: Vec<Launch>,
    /// What was found where to look at outputs.
    pub found: Vec<Vec<[u8; WORD]>>,
    /// When values were last handed out.
    since: Option<Moment>,
    /// How much of the first thread's time came to light later than that of the process, in nanoseconds: at most 0.
    lag: i64,
}

impl<'v> Pace<'v> {
    /// Nothing is handed out yet.
    pub fn of(given: Given<'v>) -> Self {
        Self { given, turns: 0, closed: false, launches: Vec::new(), found: Vec::new(), since: None, lag: 0 }
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
    /// sleep, and it slept on for `late` after the worker had asked.
    ///
    /// What this thread waited after that kept the worker waiting, and so did its sleep. Before, the worker may have been
    /// launching, but no longer than it ran. Both may have waited at once, and neither has while the worker's first thread
    /// ran. What other threads of the worker ran may be what it waited for.
    pub fn woken(&mut self, now: Moment, asleep: Duration, late: Duration) {
        let Some(since) = self.since.take() else { return };
        let late = late.min(now.at.saturating_duration_since(since.at));
        let certain = now.queued.saturating_sub(asleep).max(late);
        let possible = now.queued.saturating_sub(since.queued).saturating_sub(now.ran.saturating_sub(since.ran));
        let (ran, waited) = (now.first.0.saturating_sub(since.first.0), now.first.1.saturating_sub(since.first.1));
        let idle = now.at.saturating_duration_since(since.at).saturating_sub(ran);
        let total = now.ran.saturating_sub(since.ran);
        let beside = total.as_nanos() as i64 - ran.as_nanos() as i64 + self.lag;
        self.lag = beside.min(0);
        // This thread may have waited before it read the time.
        let queued = (waited + possible).min(idle).max(certain);
        if let Some(launch) = self.launches.last_mut() {
            launch.queued += queued.saturating_sub(Duration::from_nanos(beside.max(0) as u64));
            launch.late += late;
        }
    }

    /// The worker has said something.
    pub fn heard(&mut self, now_ns: u64) {
        if let Some(launch) = self.launches.last_mut() {
            launch.heard_ns.get_or_insert(now_ns);
            launch.over_ns = now_ns;
        }
    }

    /// The values of a launch are handed out now.
    pub fn launches(&mut self, now_ns: u64) {
        let [queued, handled, late] = [Duration::ZERO; 3];
        self.launches.push(Launch { given_ns: now_ns, heard_ns: None, over_ns: now_ns, queued, handled, late });
    }

    /// The worker learns now whether an output is kept, `handled` after it asked.
    pub fn kept(&mut self, handled: Duration) {
        if let Some(launch) = self.launches.last_mut() {
            launch.handled += handled;
        }
    }

    /// Each launch until its output was copied. `beside` is how long processes of the kernel have run: these may be what the
    /// worker waited for.
    pub fn spans(&self, beside: impl FnOnce() -> Duration) -> Vec<Span> {
        let queued: Duration = self.launches.iter().map(|launch| launch.queued).sum();
        let certain = match queued {
            Duration::ZERO => 0.0,
            queued => queued.saturating_sub(beside()).div_duration_f64(queued),
        };
        let span = |launch: &Launch| Span {
            seen: Duration::from_nanos(launch.over_ns.saturating_sub(launch.given_ns)),
            waited: launch.queued.mul_f64(certain) + launch.handled,
            late: launch.late,
        };
        self.launches.iter().map(span).collect()
    }

    /// Whether each launch began after its values were handed out, and ended before the worker spoke again, by times that the
    /// worker reports. Both sides read one clock, so that nothing needs to be allowed for.
    pub fn holds(&self, starts_ns: &[u64], durations_ns: &[u64]) -> bool {
        let launches = starts_ns.iter().zip(durations_ns).zip(&self.launches);
        starts_ns.len() == self.launches.len()
            && durations_ns.len() == self.launches.len()
            && launches.into_iter().all(|((&start, &duration), launch)| {
                let ends_by = |heard| start.checked_add(duration).is_some_and(|end| end <= heard);
                start >= launch.given_ns && launch.heard_ns.is_none_or(ends_by)
            })
    }

    /// What the worker is given next; `None` if nothing.
    pub fn next(&mut self) -> Option<Turn> {
        let turn = match self.given {
            Given::Nothing => return None,
            Given::Idle => Turn::Values(Vec::new()),
            Given::Values(Round { launches, keep, .. }) => {
                let (launch, returned) = match keep {
                    Some(_) => (self.turns / 2, self.turns % 2 == 1),
                    None => (self.turns, false),
                };
                let patches = launches.get(launch)?;
                match keep.filter(|_| returned) {
                    Some(keep) => Turn::Keep(keep.binary_search(&launch).is_ok()),
                    None => Turn::Values(patches.iter().map(|patch| &patch.bytes[..]).collect::<Vec<_>>().concat()),
                }
            }
        };
        self.turns += 1;
        Some(turn)
    }

    /// Where to look at the output of the last launch, which must be there now.
    pub fn looks(&self) -> &'v [usize] {
        match (self.given, self.launches.len()) {
            (Given::Values(round), launches @ 1..) => round.looks.get(launches - 1).map_or(&[], Vec::as_slice),
            _ => &[],
        }
    }

    /// Whether the worker has taken the values of all launches.
    pub fn is_complete(&self) -> bool {
        match self.given {
            Given::Values(Round { launches, keep, .. }) => {
                self.turns == launches.len() * if keep.is_some() { 2 } else { 1 }
            }
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
        let beside = |at, queued, ran, first, waited| Moment {
            at: start + ms(at),
            queued: ms(queued),
            ran: ms(ran),
            first: (ms(first), ms(waited)),
        };
        let moment = |at, queued, ran, waited| beside(at, queued, ran, ran, waited);
        let queued = |from, to, asleep| {
            let mut pace = Pace::of(Given::Idle);
            pace.launches(0);
            pace.handed_out(from);
            pace.woken(to, ms(asleep), ms(0));
            pace.spans(|| Duration::ZERO)[0].waited
        };
        // For 4 ms of the 10 the worker ran on this thread's processor.
        assert_eq!(queued(moment(0, 0, 0, 0), moment(10, 5, 4, 0), 5), ms(1));
        assert_eq!(queued(moment(0, 0, 0, 0), moment(10, 0, 4, 3), 0), ms(3), "the worker waited alone");
        assert_eq!(queued(moment(0, 0, 0, 0), moment(10, 6, 0, 6), 6), ms(10), "both waited, some of it at once");
        assert_eq!(queued(moment(0, 0, 0, 0), moment(10, 9, 9, 0), 9), ms(0), "it launched");
        assert_eq!(queued(moment(0, 0, 0, 0), beside(10, 0, 9, 1, 8), 0), ms(0), "it waited for its own thread");
        assert_eq!(queued(moment(0, 0, 0, 0), beside(10, 0, 4, 1, 8), 0), ms(5), "for others as well");
    }

    #[test]
    fn late_awakening_is_no_time_of_the_worker_and_may_hide_some() {
        let (ms, start) = (Duration::from_millis, Instant::now());
        let after = |took, ran, first, late| {
            let moment = |at, ran, first| Moment { at: start + at, queued: ms(0), ran, first: (first, ms(0)) };
            let mut pace = Pace::of(Given::Idle);
            pace.launches(0);
            pace.handed_out(moment(ms(0), ms(0), ms(0)));
            pace.heard(took * 1_000_000);
            pace.woken(moment(ms(took), ran, first), ms(0), late);
            pace.spans(|| Duration::ZERO)[0]
        };
        let span = after(10, ms(4), ms(4), ms(6));
        assert_eq!((span.seen, span.waited, span.late), (ms(10), ms(6), ms(6)));
        assert_eq!((span.beside_ns(4e6), span.hidden_ns(4e6)), (0.0, 6e6), "it may have worked on meanwhile");
        assert_eq!(after(10, ms(6), ms(4), ms(6)).waited, ms(4), "other threads of the worker ran");
        assert_eq!(after(10, ms(4), ms(4), ms(60)).late, ms(10), "no longer than since the values were handed out");
    }

    #[test]
    fn a_launch_lies_between_its_values_and_the_next_word_of_its_worker() {
        let mut pace = Pace::of(Given::Idle);
        pace.heard(50);
        for (given, heard) in [(100, 180), (200, 300)] {
            pace.launches(given);
            pace.heard(heard);
            pace.heard(heard + 20);
        }
        assert!(pace.holds(&[100, 210], &[80, 90]));
        assert!(!pace.holds(&[99, 210], &[1, 1]), "it began too early");
        assert!(!pace.holds(&[110, 210], &[71, 1]), "it ended too late");
        assert!(!pace.holds(&[110, 210], &[1, u64::MAX]));
        assert!(!pace.holds(&[110], &[1, 1]) && !pace.holds(&[], &[]), "not all are there");
    }

    #[test]
    fn a_launch_is_over_when_the_next_values_are_asked_for() {
        let (ms, start) = (Duration::from_millis, Instant::now());
        let moment = |at, queued| Moment { at: start + ms(at), queued: ms(queued), ran: ms(0), first: (ms(0), ms(0)) };
        let mut pace = Pace::of(Given::Idle);
        for (given, waited) in [(10, 2), (20, 4)] {
            pace.launches(given * 1_000_000);
            pace.handed_out(moment(given, 0));
            pace.heard((given + 5) * 1_000_000);
            pace.woken(moment(given + 5, waited), ms(0), ms(0));
            pace.kept(ms(1));
            pace.heard((given + 8) * 1_000_000);
        }
        let spans = |beside| pace.spans(|| beside).into_iter().map(|span| (span.seen, span.waited)).collect::<Vec<_>>();
        assert_eq!(spans(ms(0)), [(ms(8), ms(3)), (ms(8), ms(5))]);
        assert_eq!(
            spans(ms(3)),
            [(ms(8), ms(2)), (ms(8), ms(3))],
            "half of it may have been for the kernel's processes"
        );
        assert_eq!(spans(ms(9)), [(ms(8), ms(1)), (ms(8), ms(1))]);
    }

    #[test]
    fn values_are_handed_out_once_and_in_order() {
        let patch = |byte| Patch { storage: 0, at: 0, bytes: vec![byte].into(), whole: true, restores: false };
        let launches = [vec![patch(1), patch(2)], vec![], vec![patch(3)]];
        let looks = [vec![8], vec![16, 24]];
        let all = Round { launches: &launches, keep: None, looks: &looks };
        let mut pace = Pace::of(Given::Values(&all));
        assert!(!pace.is_complete());
        let values = |bytes: &[u8]| Some(Turn::Values(bytes.to_vec()));
        assert_eq!([pace.next(), pace.next(), pace.next()], [values(&[1, 2]), values(&[]), values(&[3])]);
        assert!(pace.is_complete() && pace.next().is_none() && pace.looks().is_empty());
        let mut looks = || {
            pace.launches(0);
            pace.looks().to_vec()
        };
        assert_eq!([looks(), looks(), looks()], [vec![8], vec![16, 24], vec![]]);
        let some = Round { launches: &launches[..2], keep: Some(&[1]), looks: &[] };
        let mut pace = Pace::of(Given::Values(&some));
        assert_eq!([pace.next(), pace.next()], [values(&[1, 2]), Some(Turn::Keep(false))]);
        assert!(!pace.is_complete());
        assert_eq!([pace.next(), pace.next(), pace.next()], [values(&[]), Some(Turn::Keep(true)), None]);
        assert!(pace.is_complete());
        assert!(Pace::of(Given::Nothing).next().is_none() && Pace::of(Given::Idle).next().is_some());
    }
}
