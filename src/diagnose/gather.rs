//! Turns sightings into incidents: each event counts once, no matter how often, by how many sources and in what order
//! it is reported.

use super::findings::Dismissal;
use super::incident::{Class, Incident, beside, compatible, near, tells_the_same, who};
use super::sighting::{Cause, Sighting};
use super::verdict::Verdict;

/// How many incidents are kept apart; later ones are only counted.
const INCIDENTS: usize = 2048;
/// How many dismissed texts are kept.
const DISMISSED: usize = 16;
/// How many recent incidents are compared with a new sighting.
const RECENT: usize = 256;

/// Incidents of one or several inputs.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) incidents: Vec<Incident>,
    pub(super) omitted: u64,
    pub(super) dismissed: Vec<Dismissal>,
    /// The incident that the last sighting belonged to.
    pub(super) touched: Option<u64>,
    /// The number of the next incident.
    next: u64,
    /// Ends of processes for reasons other than memory, with the input.
    ends: Vec<(&'static str, String)>,
}

impl Gathered {
    /// Counts a line that was skipped because its shape is known, for `incident` if all such lines belong to one.
    pub(super) fn count(&mut self, incident: Option<u64>) {
        let known = incident.and_then(|id| self.incidents.binary_search_by_key(&id, |incident| incident.id).ok());
        match known {
            Some(at) => self.incidents[at].occurrences += 1,
            None => self.omitted += 1,
        }
    }

    pub(super) fn add(&mut self, mut sighting: Sighting) {
        self.touched = None;
        if sighting.weak {
            // Ordinary words next to an event that is more specific.
            if let Some(incident) =
                self.recent(|incident| beside(incident, &sighting) && incident.class.leads_to_kills())
            {
                return incident.absorb(sighting, false);
            }
        } else if !matches!(sighting.cause, Cause::Dismissed(_) | Cause::OtherEnd(_) | Cause::Killed | Cause::Pressure)
        {
            let weak = self.incidents.last().is_some_and(|last| last.sighting.weak && beside(last, &sighting));
            if let Some(weak) = weak.then(|| self.incidents.pop()).flatten() {
                sighting.evidence.extend(weak.sighting.evidence);
                sighting.numbers.tried = sighting.numbers.tried.or(weak.sighting.numbers.tried);
            }
        }
        match sighting.cause {
            Cause::Dismissed(reason) => self.dismiss(reason, sighting),
            Cause::OtherEnd(reason) => self.ended(reason, sighting),
            Cause::Device => self.device(Class::Device, sighting),
            Cause::Library => self.device(Class::Library, sighting),
            Cause::HostAlloc => self.allocation(sighting),
            Cause::KernelBegan | Cause::KernelUsage | Cause::KernelChose { .. } | Cause::KernelKilled { .. } => {
                self.kernel(sighting)
            }
            Cause::Limit => self.told(Class::Limit, sighting),
            Cause::Machine => self.told(Class::Machine, sighting),
            Cause::Ray => self.ray(sighting),
            Cause::SharedMemory => self.shared(sighting),
            Cause::LoaderKilled => self.loader(sighting),
            Cause::Killed => self.killed(sighting),
            Cause::Pressure => self.pressure(sighting),
        }
    }

    fn dismiss(&mut self, reason: &str, mut sighting: Sighting) {
        if self.dismissed.len() < DISMISSED {
            let evidence = sighting.evidence.swap_remove(0);
            self.dismissed.push(Dismissal { reason: reason.to_owned(), evidence });
        }
    }

    fn open(&mut self, class: Class, sighting: Sighting) {
        if self.incidents.len() >= INCIDENTS {
            self.omitted += 1;
            return;
        }
        let last = sighting.evidence[0].line;
        let id = self.next;
        self.next += 1;
        self.touched = Some(id);
        self.incidents.push(Incident { id, class, sighting, occurrences: 1, last });
    }

    /// The latest of the recent incidents for which `is` holds.
    fn recent(&mut self, mut is: impl FnMut(&Incident) -> bool) -> Option<&mut Incident> {
        let found = self.incidents.iter_mut().rev().take(RECENT).find(|incident| is(incident));
        self.touched = found.as_ref().map(|incident| incident.id);
        found
    }

    fn device(&mut self, class: Class, sighting: Sighting) {
        let same = |incident: &Incident| {
            let known = &incident.sighting;
            let device = matches!(incident.class, Class::Device | Class::Library);
            device
                && who(known, &sighting)
                && compatible(known.device, sighting.device)
                && tells_the_same(incident, class, &sighting)
        };
        match self.recent(same) {
            Some(incident) => {
                if class == Class::Device {
                    incident.class = class;
                }
                incident.repeat(sighting);
            }
            None => self.open(class, sighting),
        }
    }

    fn allocation(&mut self, sighting: Sighting) {
        let same = |incident: &Incident| {
            let known = &incident.sighting;
            incident.class == Class::HostAlloc
                && who(known, &sighting)
                && compatible(known.numbers.tried, sighting.numbers.tried)
                && (near(incident, &sighting) || known.numbers.tried.is_some())
        };
        match self.recent(same) {
            Some(incident) => incident.repeat(sighting),
            None => self.open(Class::HostAlloc, sighting),
        }
    }

    fn kernel(&mut self, sighting: Sighting) {
        let group = match sighting.cause {
            Cause::KernelChose { group } => Some(group),
            Cause::KernelKilled { group } => group,
            Cause::KernelUsage => sighting.numbers.allowed.map(|_| true),
            _ => None,
        };
        let kills = matches!(sighting.cause, Cause::KernelKilled { .. });
        let began = sighting.cause == Cause::KernelBegan;
        let same = |incident: &Incident| {
            let known = &incident.sighting;
            let Class::Kernel { closed, .. } = incident.class else { return false };
            let here = compatible(known.host.as_ref(), sighting.host.as_ref());
            // A report with its kill only accepts that same kill again. A kill that names nothing but its process
            // belongs to the open report, whichever process that report chose.
            let fits = if closed {
                sighting.pid.is_some() && known.pid == sighting.pid
            } else {
                !began && (compatible(known.pid, sighting.pid) || (kills && group.is_none()))
            };
            here && fits
        };
        let told = |incident: &Incident| {
            matches!(incident.class, Class::Limit | Class::Machine)
                && near(incident, &sighting)
                && incident.sighting.pid.is_none()
        };
        if let Some(incident) = self.recent(same) {
            if let Class::Kernel { group: known, closed } = &mut incident.class {
                *known = known.filter(|_| !kills).or(group).or(*known);
                *closed |= kills;
            }
            if kills {
                // The kill line itself is the proof.
                incident.sighting.evidence.splice(0..0, sighting.evidence.iter().cloned());
                incident.sighting.pid = sighting.pid.or(incident.sighting.pid);
                incident.sighting.victim = sighting.victim.clone().or(incident.sighting.victim.take());
            }
            incident.absorb(sighting, true);
            return;
        }
        if let Some(incident) = self.recent(told) {
            // A manager reported this kill earlier; the kernel's report has more detail.
            incident.class = Class::Kernel { group: group.or(Some(incident.class == Class::Limit)), closed: kills };
            incident.absorb(sighting, true);
            return;
        }
        self.open(Class::Kernel { group, closed: kills }, sighting);
    }

    fn told(&mut self, class: Class, sighting: Sighting) {
        let same = |incident: &Incident| {
            let known = &incident.sighting;
            let fits = match incident.class {
                Class::Kernel { group, .. } => class != Class::Limit || group != Some(false),
                Class::Limit | Class::Machine => same_service(known, &sighting) || class != incident.class,
                _ => false,
            };
            fits && compatible(known.job.as_ref(), sighting.job.as_ref()) && compatible(known.pid, sighting.pid)
        };
        match self.recent(same) {
            Some(incident) => {
                if class == Class::Limit && incident.class == Class::Machine {
                    incident.class = class;
                }
                incident.absorb(sighting, false);
            }
            None => self.open(class, sighting),
        }
    }

    fn ray(&mut self, sighting: Sighting) {
        let same = |incident: &Incident| {
            let known = &incident.sighting;
            incident.class == Class::Ray
                && compatible(known.host.as_ref(), sighting.host.as_ref())
                && compatible(known.numbers.allocated, sighting.numbers.allocated)
        };
        match self.recent(same) {
            Some(incident) => incident.repeat(sighting),
            None => self.open(Class::Ray, sighting),
        }
    }

    fn shared(&mut self, sighting: Sighting) {
        match self.recent(|incident| incident.class == Class::SharedMemory) {
            Some(incident) => incident.repeat(sighting),
            None => self.open(Class::SharedMemory, sighting),
        }
    }

    /// Every report of one kind in an input is one event, whoever prints it.
    fn pressure(&mut self, sighting: Sighting) {
        let same = |incident: &Incident| {
            let known = &incident.sighting;
            incident.class == Class::Pressure
                && known.meaning == sighting.meaning
                && known.evidence[0].file == sighting.evidence[0].file
        };
        match self.recent(same) {
            Some(incident) => incident.repeat(sighting),
            None => self.open(Class::Pressure, sighting),
        }
    }

    fn loader(&mut self, mut sighting: Sighting) {
        if let Some(reason) = self.ended_otherwise(&sighting) {
            return self.dismiss(reason, sighting);
        }
        let proven = |incident: &Incident| incident.class.proves() && compatible(incident.sighting.pid, sighting.pid);
        if let Some(incident) = self.recent(proven) {
            sighting.also.push(Verdict::DataloaderWorkerKill);
            incident.absorb(sighting, false);
        } else if let Some(incident) = self.recent(|incident| incident.class == Class::LoaderKilled) {
            incident.repeat(sighting);
        } else if let Some(incident) =
            self.recent(|incident| incident.class == Class::Killed && compatible(incident.sighting.pid, sighting.pid))
        {
            incident.class = Class::LoaderKilled;
            incident.absorb(sighting, true);
        } else if let Some(incident) = self.recent(|incident| incident.class.leads_to_kills()) {
            incident.absorb(sighting, false);
        } else {
            self.open(Class::LoaderKilled, sighting);
        }
    }

    fn killed(&mut self, sighting: Sighting) {
        if let Some(reason) = self.ended_otherwise(&sighting) {
            return self.dismiss(reason, sighting);
        }
        let by_pid = |incident: &Incident| {
            incident.class.proves() && sighting.pid.is_some() && incident.sighting.pid == sighting.pid
        };
        if let Some(incident) = self.recent(by_pid) {
            return incident.absorb(sighting, false);
        }
        if let Some(incident) = self.recent(|incident| incident.class.leads_to_kills()) {
            return incident.absorb(sighting, false);
        }
        let same = |incident: &Incident| {
            let known = &incident.sighting;
            let one = (known.pid.is_some() && known.pid == sighting.pid)
                || (compatible(known.pid, sighting.pid)
                    && compatible(known.rank, sighting.rank)
                    && near(incident, &sighting));
            matches!(incident.class, Class::Killed | Class::LoaderKilled) && one
        };
        match self.recent(same) {
            Some(incident) => incident.repeat(sighting),
            None => self.open(Class::Killed, sighting),
        }
    }

    /// The reason, other than memory, that ended the processes of the input, if there is one.
    fn ended_otherwise(&self, sighting: &Sighting) -> Option<&'static str> {
        let file = &sighting.evidence[0].file;
        self.ends.iter().find(|(_, at)| at == file).map(|(reason, _)| *reason)
    }

    /// Records that something other than memory ended the processes of this input.
    fn ended(&mut self, reason: &'static str, sighting: Sighting) {
        let evidence = &sighting.evidence[0];
        let file = evidence.file.clone();
        if self
            .incidents
            .iter()
            .any(|incident| incident.class.leads_to_kills() && incident.sighting.evidence[0].file == file)
        {
            return;
        }
        // A time limit may be reported before or after its kills; a cancellation may be the reaction to a kill.
        let either_way = !reason.contains("cancelled");
        if either_way {
            let (ours, rest) = std::mem::take(&mut self.incidents).into_iter().partition(|incident: &Incident| {
                matches!(incident.class, Class::Killed) && incident.sighting.evidence[0].file == file
            });
            self.incidents = rest;
            for incident in ours as Vec<Incident> {
                self.dismiss(reason, incident.sighting);
            }
        }
        let event =
            |incident: &Incident| incident.class != Class::Pressure && incident.sighting.evidence[0].file == file;
        if either_way || !self.incidents.iter().any(event) {
            self.dismiss(reason, sighting);
            self.ends.push((reason, file));
        }
    }

    /// The incidents at the end of the text: a kill whose sender became known later is not a separate incident.
    pub(super) fn finished(&self) -> Vec<Incident> {
        let mut incidents = self.incidents.clone();
        if incidents.iter().any(|incident| incident.class.proves()) {
            let unproven = |incident: &Incident| matches!(incident.class, Class::Killed | Class::LoaderKilled);
            let (kills, rest): (Vec<_>, Vec<_>) = incidents.into_iter().partition(unproven);
            incidents = rest;
            let sender = incidents.iter_mut().find(|incident| incident.class.proves());
            if let Some(sender) = sender {
                for mut kill in kills {
                    if kill.class == Class::LoaderKilled {
                        kill.sighting.also.push(Verdict::DataloaderWorkerKill);
                    }
                    sender.absorb(kill.sighting, false);
                }
            }
        }
        incidents
    }
}

/// Whether one service reports both: systemd and systemd-oomd report the same kill.
fn same_service(a: &Sighting, b: &Sighting) -> bool {
    let systemd = |sighting: &Sighting| sighting.backend.as_deref().is_some_and(|name| name.starts_with("systemd"));
    a.backend == b.backend || (systemd(a) && systemd(b))
}
