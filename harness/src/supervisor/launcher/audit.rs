//! [`AuditedWorker`]: regions of launches in a worker, by the supervisor's own clock.

use plimsoll::record::{Failure, FailureKind, ReleaseReason};
use plimsoll::run::{Audited, Job, Launcher as _, Overhead, Patch, Region, Wanted};

use super::{WorkerLauncher, is_spent};
use crate::protocol::{Outcome, Place, Reply, Request, check_names};
use crate::supervisor::call::CallBuilder;
use crate::supervisor::death;
use crate::supervisor::overhead::{Clocked, clocked};
use crate::supervisor::pace::Given;
use crate::supervisor::process::{Cause, WorkerProcess};

/// A call that is resident in a worker.
pub struct AuditedWorker<'s, 'a> {
    launcher: &'s mut WorkerLauncher<'a>,
    call: CallBuilder,
}

impl<'s, 'a> AuditedWorker<'s, 'a> {
    /// Makes a job resident in the launcher's worker.
    ///
    /// # Errors
    /// The worker's error, or how it ended.
    pub fn of(launcher: &'s mut WorkerLauncher<'a>, job: Job<'_>) -> Result<Self, Failure> {
        launcher.measure();
        let mut audited = Self { call: launcher.call(job)?, launcher };
        let call = audited.call.message();
        match audited.ask(|id| Request::Audit { id, call }, Given::Nothing)?.reply {
            Reply::Ready { .. } => Ok(audited),
            other => Err(audited.unexpected(&other)),
        }
    }

    fn ask(&mut self, request: impl FnOnce(u64) -> Request, given: Given<'_>) -> Result<Clocked, Failure> {
        let id = self.launcher.next_id();
        let mut watch = self.launcher.profile_watch();
        let running = self.launcher.running()?;
        watch.beyond = running.may_build();
        if let Given::Values(launches, _) = given {
            make_room(&running.process, launches).map_err(|error| {
                Failure::new(FailureKind::HostOom, format!("cannot allocate values for the arguments: {error}"))
            })?;
        }
        match clocked(&mut running.process, &request(id), &watch, given) {
            Ok(Clocked { reply: Reply::Error { id: Some(of), kind, message, detail, .. }, .. }) if of == id => {
                let failure = death::reported(kind, message, detail);
                if is_spent(failure.kind) {
                    self.launcher.end_worker(ReleaseReason::Failure);
                }
                Err(failure)
            }
            Ok(done) if id_of(&done.reply) == Some(id) => self.launcher.check_left().map(|()| done),
            Ok(other) => Err(self.unexpected(&other.reply)),
            Err(cause) => Err(self.call.explain(self.launcher.lost(cause))),
        }
    }

    fn unexpected(&mut self, reply: &Reply) -> Failure {
        self.launcher.lost(Cause::Protocol(format!("{reply:?} in an audit")))
    }
}

fn id_of(reply: &Reply) -> Option<u64> {
    match reply {
        Reply::Ready { id } | Reply::Region { id, .. } | Reply::Settled { id, .. } => Some(*id),
        _ => None,
    }
}

/// Makes the shared memory large enough for the values of any one launch.
fn make_room(process: &WorkerProcess, launches: &[Vec<Patch>]) -> std::io::Result<()> {
    let of = |patches: &Vec<Patch>| patches.iter().map(|patch| patch.bytes.len()).sum::<usize>();
    let most = launches.iter().map(of).max().unwrap_or(0);
    let file = process.values();
    if file.metadata()?.len() < most as u64 {
        file.set_len(most.next_power_of_two().max(1 << 20) as u64)?;
    }
    Ok(())
}

impl Audited for AuditedWorker<'_, '_> {
    fn overhead(&self) -> Overhead {
        self.launcher.overhead()
    }

    fn region(&mut self, launches: &[Vec<Patch>], wanted: &Wanted<'_>) -> Result<Region, Failure> {
        let place = |patch: &Patch| -> Place { (patch.storage, patch.at, patch.bytes.len() as u64) };
        let places = launches.iter().map(|patches| patches.iter().map(place).collect()).collect();
        let contents = wanted.contents.iter().map(|held| (held.storage, held.at, held.bytes)).collect();
        let (fill, asks) = (wanted.fill, wanted.keep.is_some());
        let Clocked { reply, seen, waited, stopped, placed } = self.ask(
            |id| Request::Region { id, launches: places, asks, contents, fill },
            Given::Values(launches, wanted.keep),
        )?;
        let Reply::Region { durations_ns, outputs: kept, .. } = reply else { return Err(self.unexpected(&reply)) };
        let count: Vec<usize> = kept.iter().map(Vec::len).collect();
        let outcome = Outcome { outputs: kept.into_iter().flatten().collect(), ..Outcome::default() };
        let launched = match self.launcher.running()?.process.collect(outcome, &[]) {
            Ok(launched) => launched,
            Err(what) => return Err(self.launcher.lost(Cause::Protocol(what))),
        };
        let mut all = launched.outputs.into_iter();
        let outputs = count.into_iter().map(|count| all.by_ref().take(count).collect()).collect();
        let durations_ns = durations_ns.into_iter().map(|ns| ns as f64).collect();
        // The clock of a device is another.
        let placed = placed || self.launcher.device().is_some();
        Ok(Region { seen, waited, stopped, placed, durations_ns, outputs, memory: launched.memory })
    }

    fn settle(&mut self) -> Result<Vec<String>, Failure> {
        match self.ask(|id| Request::Settle { id }, Given::Nothing)?.reply {
            Reply::Settled { mutated, .. } => match check_names(&mutated, self.call.params()) {
                Ok(()) => Ok(mutated),
                Err(what) => Err(self.launcher.lost(Cause::Protocol(what))),
            },
            other => Err(self.unexpected(&other)),
        }
    }
}
