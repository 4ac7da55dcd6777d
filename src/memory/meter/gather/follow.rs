//! Follows the processes of a tree: by the kernel's reports or, if it does not report all of them, by searching.

use std::time::{Duration, Instant};

use super::Gatherer;
use crate::meter::births::{Births, Event};
use crate::meter::lives::Gap;

/// Searching new processes, which is expensive with many threads, may take one part in this many of the time.
pub(super) const DISCOVERY_PARTS: u32 = 100;
/// A search this long ago found everything if no process was created since.
const JUST_NOW: Duration = Duration::from_millis(1);
/// The search runs this often even if the kernel reports no new ones.
const DISCOVERY_ANYWAY: Duration = Duration::from_millis(200);

impl Gatherer {
    /// Empties the socket with the kernel's process events before it overflows.
    pub(crate) fn take_births(&mut self) {
        self.births.iter_mut().for_each(Births::take);
    }

    /// Takes in the processes that the kernel has reported since the previous call; searches them if it does not report
    /// all of them. Returns the events.
    pub(super) fn follow_forks(&mut self, now: Instant, edge: bool) -> Option<Vec<Event>> {
        self.take_births();
        let events = self.births.as_mut().and_then(Births::events);
        for event in events.iter().flatten() {
            if let Event::Forked { child, .. } = event {
                self.tree.take_in(*child, now);
            }
        }
        if events.is_none() {
            self.discover(now, edge);
        }
        events
    }

    /// The time up to the latest reading of the tree, which came after `events`; `None` if something was missed.
    pub(super) fn gap(&mut self, events: Option<Vec<Event>>) -> Option<Gap> {
        let gap = self.lives.as_mut().zip(events).and_then(|(lives, events)| lives.gap(&events, &self.tree));
        if gap.is_none() {
            self.lives = None;
        }
        gap
    }

    /// Finds new processes: at an edge unless the previous search was just now, otherwise if one was created since and
    /// the time budget allows.
    fn discover(&mut self, now: Instant, edge: bool) {
        let newest = self.newest.read(&mut self.text);
        let none_came = newest.is_some() && newest == self.found_up_to && now < self.found_at + DISCOVERY_ANYWAY;
        let just_now = none_came && now < self.found_at + JUST_NOW;
        if (edge && !just_now) || (!none_came && self.discovery.is_due(now)) {
            let before = crate::thread::processor_time();
            self.tree.discover(now);
            self.discovery.spent(now, crate::thread::processor_time().saturating_sub(before));
            (self.found_up_to, self.found_at) = (newest, now);
        }
    }
}
