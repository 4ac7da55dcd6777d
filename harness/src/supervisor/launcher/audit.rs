//! [`AuditedWorker`]: regions of launches in a worker, by the supervisor's own clock.

use plimsoll::record::{Failure, FailureKind, ReleaseReason};
use plimsoll::run::{Audited, Job, Launcher as _, Output, Overhead, Patch, Region, Wanted};

use super::{WorkerLauncher, is_spent};
use crate::protocol::{ByteRange, Outcome, Reply, Request, check_names};
use crate::supervisor::call::CallBuilder;
use crate::supervisor::death;
use crate::supervisor::early::{Layout, WORD};
use crate::supervisor::overhead::{Clocked, clocked};
use crate::supervisor::pace::{Given, Round};
use crate::supervisor::process::{Cause, WorkerProcess};

/// A call that is resident in a worker.
pub struct AuditedWorker<'s, 'a> {
    launcher: &'s mut WorkerLauncher<'a>,
    call: CallBuilder,
    /// Where outputs of the last region were.
    layout: Option<Layout>,
}

impl<'s, 'a> AuditedWorker<'s, 'a> {
    /// Makes a job resident in the launcher's worker.
    ///
    /// # Errors
    /// The worker's error, or how it ended.
    pub fn of(launcher: &'s mut WorkerLauncher<'a>, job: Job<'_>) -> Result<Self, Failure> {
        launcher.measure();
        let mut audited = Self { call: launcher.call(job)?, launcher, layout: None };
        let call = audited.call.message();
        match audited.ask(|id| Request::Audit { id, call }, Given::Nothing)?.reply {
            Reply::Ready { .. } => {
                audited.launcher.running()?.process.outputs_stay(true);
                Ok(audited)
            }
            other => Err(audited.unexpected(&other)),
        }
    }

    fn ask(&mut self, request: impl FnOnce(u64) -> Request, given: Given<'_>) -> Result<Clocked, Failure> {
        let id = self.launcher.next_id();
        let mut watch = self.launcher.profile_watch();
        let timeout = self.launcher.timeout;
        let running = self.launcher.running()?;
        watch.beyond = running.may_build();
        if let Given::Values(round) = given {
            // A worker that asks for nothing more is not waited for as long as a whole region may take.
            watch.launch = Some(timeout);
            make_room(&running.process, round.launches).map_err(|error| {
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

    /// Where to look at the output of each of `launches` launches, of which some are kept: nowhere if the layout is not known
    /// yet.
    fn looks(&self, launches: usize, keep: Option<&[usize]>) -> Vec<Vec<usize>> {
        let Some(layout) = &self.layout else { return Vec::new() };
        let kept = |launch: usize| keep.map_or(Some(launch), |keep| keep.binary_search(&launch).ok());
        (0..launches).map(|launch| kept(launch).map(|at| layout.words(at)).unwrap_or_default()).collect()
    }

    /// Whether outputs are where those of the last region were, and were there when the next values were handed out.
    ///
    /// # Errors
    /// Where the worker does not keep to its order.
    fn check_early(
        &mut self,
        outputs: &[Vec<Output>],
        memory: &[u8],
        looks: &[Vec<usize>],
        found: &[Vec<[u8; WORD]>],
    ) -> Result<(), String> {
        let layout = Layout::of(outputs)?;
        let before = std::mem::replace(&mut self.layout, layout.clone());
        let (Some(before), Some(layout)) = (before, layout) else { return Ok(()) };
        if !before.is_for(&layout) {
            return Ok(());
        }
        if before != layout {
            return Err("outputs of the same sizes that lie elsewhere than in an earlier region".into());
        }
        let looked = looks.iter().filter(|looks| !looks.is_empty()).zip(found);
        let holds = |(looks, found): (&Vec<usize>, &Vec<[u8; WORD]>)| {
            looks.iter().zip(found).all(|(at, word)| memory.get(*at..at + WORD) == Some(&word[..]))
        };
        match looked.into_iter().all(holds) {
            true => Ok(()),
            false => Err("the output of a launch after it had asked for the values of the next one".into()),
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

impl Drop for AuditedWorker<'_, '_> {
    fn drop(&mut self) {
        if let Some(running) = &mut self.launcher.worker {
            running.process.outputs_stay(false);
        }
    }
}

impl Audited for AuditedWorker<'_, '_> {
    fn overhead(&self) -> Overhead {
        self.launcher.overhead()
    }

    fn region(&mut self, launches: &[Vec<Patch>], wanted: &Wanted<'_>) -> Result<Region, Failure> {
        let place = |patch: &Patch| -> ByteRange { (patch.storage, patch.at, patch.bytes.len() as u64) };
        let places = launches.iter().map(|patches| patches.iter().map(place).collect()).collect();
        let contents = wanted.contents.iter().map(|held| (held.storage, held.at, held.bytes)).collect();
        let (fill, asks) = (wanted.fill, wanted.keep.is_some());
        let looks = self.looks(launches.len(), wanted.keep);
        let Clocked { reply, spans, found, stopped, placed } = self.ask(
            |id| Request::Region { id, launches: places, asks, contents, fill },
            Given::Values(&Round { launches, keep: wanted.keep, looks: &looks }),
        )?;
        let Reply::Region { durations_ns, outputs: kept, .. } = reply else { return Err(self.unexpected(&reply)) };
        let count: Vec<usize> = kept.iter().map(Vec::len).collect();
        let outcome = Outcome { outputs: kept.into_iter().flatten().collect(), ..Outcome::default() };
        let launched = match self.launcher.running()?.process.collect(outcome, &[]) {
            Ok(launched) => launched,
            Err(what) => return Err(self.launcher.lost(Cause::Protocol(what))),
        };
        let mut all = launched.outputs.into_iter();
        let outputs: Vec<Vec<_>> = count.into_iter().map(|count| all.by_ref().take(count).collect()).collect();
        if let Err(what) = self.check_early(&outputs, (*launched.memory).as_ref(), &looks, &found) {
            return Err(self.launcher.lost(Cause::Late(what)));
        }
        let durations_ns = durations_ns.into_iter().map(|ns| ns as f64).collect();
        // The clock of a device is another.
        let placed = placed || self.launcher.device().is_some();
        Ok(Region { spans, stopped, placed, durations_ns, outputs, memory: launched.memory })
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
