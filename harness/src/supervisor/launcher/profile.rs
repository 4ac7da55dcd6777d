//! The part of a batch that one worker profiles.

use std::path::PathBuf;

use plimsoll::gpu::StateSampler;
use plimsoll::record::{Failure, FailureKind, ReleaseReason};
use plimsoll::run::{Launcher, Timed};
use plimsoll::timing::Protocol;

use super::{PROFILE_FACTOR, WorkerLauncher};
use crate::protocol::{Reply, Request, check_samples};
use crate::supervisor::call::CallBuilder;
use crate::supervisor::death;
use crate::supervisor::patience::Beyond;
use crate::supervisor::process::Cause;

impl WorkerLauncher<'_> {
    /// Profiles `calls` in one worker. Returns how many were answered, and what ended the worker before all were.
    pub(super) fn profile_some(
        &mut self,
        calls: &[(usize, CallBuilder)],
        protocol: Protocol,
        sampler: Option<&StateSampler>,
        each: &mut dyn FnMut(usize, Result<Timed, Failure>),
    ) -> (usize, Option<Failure>) {
        let mut sources = Vec::new();
        let ended = self.profile_with(calls, protocol, sampler, each, &mut sources);
        self.made.add(sources);
        ended
    }

    /// Adds files of the kernel that were found during the run to `sources`.
    fn profile_with(
        &mut self,
        calls: &[(usize, CallBuilder)],
        protocol: Protocol,
        sampler: Option<&StateSampler>,
        each: &mut dyn FnMut(usize, Result<Timed, Failure>),
        sources: &mut Vec<PathBuf>,
    ) -> (usize, Option<Failure>) {
        let id = self.next_id();
        let mut watch = self.watch(self.timeout.saturating_mul(PROFILE_FACTOR));
        let messages = calls.iter().map(|(_, call)| call.message()).collect();
        let graph = self.replays();
        let request = Request::Profile { id, calls: messages, protocol, graph };
        let running = match self.running() {
            Ok(running) => running,
            Err(failure) => return (0, Some(failure)),
        };
        watch.beyond = running.may_build();
        let mut reply = running.process.ask(&request, &watch);
        watch.beyond = Beyond::Nothing;
        for (done, (index, call)) in calls.iter().enumerate() {
            match reply {
                Ok(Reply::Timed { id: of, index: at, samples, mut again }) if (of, at) == (id, done) => {
                    sources.append(&mut again.sources);
                    let checked = check_samples(&samples).and_then(|()| running.process.collect(again, call.params()));
                    match checked {
                        Ok(again) => {
                            let state = sampler.map(StateSampler::take);
                            each(*index, Ok(Timed { samples, again, state, audit: None }));
                        }
                        Err(what) => return (done, Some(self.lost(Cause::Protocol(what)))),
                    }
                    if let Err(cause) = running.process.send(&Request::Next, &watch) {
                        // The next call is the one that is not answered.
                        reply = Err(cause);
                        continue;
                    }
                }
                Ok(Reply::Error { id: Some(of), index: Some(at), kind, message, detail }) if (of, at) == (id, done) => {
                    let failure = death::reported(kind, message, detail);
                    let faulted = failure.kind == FailureKind::DeviceFault;
                    each(*index, Err(failure));
                    if faulted {
                        self.end_worker(ReleaseReason::Failure);
                        return (done + 1, None);
                    }
                }
                Ok(other) => {
                    return (done, Some(self.lost(Cause::Protocol(format!("{other:?} in answer to profile {id}")))));
                }
                Err(cause) => return (done, Some(self.lost(cause))),
            }
            reply = running.process.answer(&watch);
        }
        match reply {
            Ok(Reply::Profiled { id: of }) if of == id => {}
            // Every call was answered, so the later end of the worker does not cost any entry its result.
            Ok(other) => drop(self.lost(Cause::Protocol(format!("{other:?} in answer to profile {id}")))),
            Err(cause) => drop(self.lost(cause)),
        }
        (calls.len(), None)
    }
}
