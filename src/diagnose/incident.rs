//! [`Incident`]: one event as its sightings describe it, and the rules for when two sightings report one event.

use super::findings::Numbers;
use super::progress::Progress;
use super::sighting::{Sighting, Work};

/// How many lines of evidence are kept per incident.
const EVIDENCE: usize = 8;
/// Sightings at most this many lines apart may report one event.
const NEAR: u64 = 600;

/// The kind of source that an incident comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Device,
    Library,
    HostAlloc,
    /// The kernel's report: whether a control group's limit was the cause, and whether the kill was seen.
    Kernel {
        group: Option<bool>,
        closed: bool,
    },
    Limit,
    Machine,
    Ray,
    SharedMemory,
    LoaderKilled,
    Killed,
    /// Nothing failed: the device is nearly full.
    Pressure,
}

impl Class {
    /// Whether this class proves who sent a SIGKILL.
    pub(super) fn proves(self) -> bool {
        matches!(self, Self::Kernel { .. } | Self::Limit | Self::Machine | Self::Ray)
    }

    /// Whether later deaths are its consequence: launchers kill the remaining processes.
    pub(super) fn leads_to_kills(self) -> bool {
        self.proves() || matches!(self, Self::Device | Self::Library | Self::HostAlloc | Self::SharedMemory)
    }
}

/// One event as its sightings describe it.
#[derive(Clone, Debug)]
pub(super) struct Incident {
    /// Identifier, increasing with every new incident.
    pub(super) id: u64,
    pub(super) class: Class,
    pub(super) sighting: Sighting,
    pub(super) occurrences: u64,
    /// The line of the last sighting.
    pub(super) last: u64,
}

impl Incident {
    /// Counts one more line about this event.
    pub(super) fn repeat(&mut self, sighting: Sighting) {
        self.occurrences += 1;
        self.absorb(sighting, true);
    }

    /// Merges `other` into the incident; its numbers only if it concerns the same process.
    pub(super) fn absorb(&mut self, other: Sighting, numbers: bool) {
        let mine = &mut self.sighting;
        self.last = other.evidence[0].line.max(self.last);
        if numbers || mine.numbers == Numbers::default() {
            if other.numbers.capacity.is_some() && mine.numbers.capacity.is_none() {
                // The more complete message is the better evidence.
                mine.evidence.splice(0..0, other.evidence.iter().cloned());
                mine.evidence.truncate(EVIDENCE);
            }
            mine.numbers.fill(&other.numbers);
        }
        if mine.processes.is_empty() {
            mine.processes = other.processes;
        }
        mine.backend = mine.backend.take().or(other.backend);
        mine.rank = mine.rank.or(other.rank);
        mine.pid = mine.pid.or(other.pid);
        mine.job = mine.job.take().or(other.job);
        mine.device = mine.device.or(other.device);
        mine.host = mine.host.take().or(other.host);
        mine.victim = mine.victim.take().or(other.victim);
        mine.software = mine.software.or(other.software);
        mine.asks = mine.asks.take().or(other.asks);
        mine.meaning = mine.meaning.or(other.meaning);
        mine.huge |= other.huge;
        mine.capped |= other.capped;
        if mine.progress == Progress::default() {
            (mine.progress, mine.lengths) = (other.progress, other.lengths);
        }
        mine.optimizer = mine.optimizer.take().or(other.optimizer);
        if mine.work == Work::Unknown {
            mine.work = other.work;
        }
        for also in other.also {
            if !mine.also.contains(&also) {
                mine.also.push(also);
            }
        }
        for evidence in other.evidence {
            if mine.evidence.len() < EVIDENCE && !mine.evidence.contains(&evidence) {
                mine.evidence.push(evidence);
            }
        }
    }
}

pub(super) fn compatible<T: PartialEq>(a: Option<T>, b: Option<T>) -> bool {
    a.is_none() || b.is_none() || a == b
}

/// Whether both may come from the same process.
pub(super) fn who(a: &Sighting, b: &Sighting) -> bool {
    // A process named in two ways is still one, even if one name leaves out the rank.
    let host = compatible(a.host.as_ref(), b.host.as_ref());
    host && compatible(a.rank, b.rank) && compatible(a.pid, b.pid)
}

pub(super) fn near(incident: &Incident, sighting: &Sighting) -> bool {
    let (known, new) = (&incident.sighting.evidence[0], &sighting.evidence[0]);
    known.file == new.file && new.line.saturating_sub(incident.last) <= NEAR
}

/// Whether `sighting` is close enough to `incident` to report the same failure.
pub(super) fn beside(incident: &Incident, sighting: &Sighting) -> bool {
    const BESIDE: u64 = 30;
    near(incident, sighting) && sighting.evidence[0].line.saturating_sub(incident.last) <= BESIDE
}

/// Whether a device's message repeats `incident`: the numbers that both state are equal, or neither states any.
pub(super) fn tells_the_same(incident: &Incident, class: Class, new: &Sighting) -> bool {
    let known = &incident.sighting;
    let (a, b) = (&known.numbers, &new.numbers);
    let numbered = |numbers: &Numbers| numbers.tried.is_some();
    match (numbered(a), numbered(b)) {
        (true, true) if class == Class::Library && incident.class == Class::Library => near(incident, new),
        (true, true) => {
            let pairs = [
                (a.tried, b.tried),
                (a.capacity, b.capacity),
                (a.free, b.free),
                (a.allocated, b.allocated),
                (a.reserved, b.reserved),
                (a.this_process, b.this_process),
            ];
            pairs.into_iter().all(|(a, b)| compatible(a, b))
        }
        _ => near(incident, new),
    }
}
