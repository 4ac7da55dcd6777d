//! Builds the record of a run from the meter, the launchers and the plan.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use crate::record::{
    Batching, CacheRelease, CapturePolicy, CaptureSemantics, CaptureSource, Environment, Gpu, Policy, Record,
    Recycling, Release, Results, RunState, SCHEMA, Semantics, Shard, SourceKind, Verdict, exit_code, hostname,
    timestamp,
};
use plimsoll_capture::batch::Batch;
use plimsoll_memory::ceiling::judge_watches;
use plimsoll_memory::meter::{PhaseReadings, SystemInfo};
use plimsoll_memory::nanoseconds;

use super::node::Node;
use super::session::{Run, Timing};
use super::verdicts::Ended;

impl Run<'_> {
    /// The record of a finished run.
    pub(super) fn document(
        mut self,
        semantics: CaptureSemantics,
        system: SystemInfo,
        batches: Vec<Batch>,
        phases: Vec<PhaseReadings>,
        results: Results,
        mut verdicts: Vec<Verdict>,
    ) -> Record {
        let proofs = self.proofs();
        verdicts.extend(Ended::of(&proofs).verdict());
        verdicts.extend(judge_watches(&phases, self.meter.watches()).into_iter().map(Verdict::from));
        let semantics_digest = semantics.digest(&mut self.so_far.digest);
        let blank = self.blank(semantics, system);
        Record {
            state: if self.observer.cancelled() { RunState::Interrupted } else { RunState::Complete },
            semantics_digest,
            policy: Policy::Capture(self.policy(batches)),
            phases,
            releases: proofs,
            results,
            exit_code: exit_code(&verdicts),
            verdicts,
            ..blank
        }
    }

    /// The record of a run before anything was launched, or while it goes on: nothing was judged, and the record does
    /// not say that the run finished.
    pub(super) fn blank(&self, semantics: CaptureSemantics, system: SystemInfo) -> Record {
        let share = self.options.share.as_ref();
        let hostname = share.and_then(|_| hostname());
        let system = Environment::of(system, self.versions());
        let shard =
            share.map(|share| Shard { timing: self.node.as_ref().and_then(Node::timing), ..share.shard.clone() });
        Record {
            diagnosis: None,
            schema: SCHEMA.to_owned(),
            plimsoll: env!("CARGO_PKG_VERSION").to_owned(),
            command: self.options.command.clone(),
            state: RunState::Interrupted,
            started: timestamp(self.started),
            wall_ns: nanoseconds(self.clock.elapsed()),
            semantics: Semantics::Capture(semantics),
            semantics_digest: String::new(),
            shard,
            rank: share.and_then(|share| share.rank.clone()),
            policy: Policy::Capture(self.policy(Vec::new())),
            environment: Environment { gpus: self.gpus(), hostname, ..system },
            phases: Vec::new(),
            end: None,
            runs: Vec::new(),
            parts: Vec::new(),
            releases: Vec::new(),
            results: Results::default(),
            verdicts: Vec::new(),
            exit_code: 3,
        }
    }

    /// The proofs that the memory of every worker was released, in the order in which the workers began.
    fn proofs(&mut self) -> Vec<Release> {
        let mut proofs = Vec::new();
        for side in &mut self.sides {
            proofs.extend(side.launcher.proofs());
            proofs.extend(side.witness.iter_mut().flat_map(|witness| witness.proofs()));
        }
        proofs.extend(self.reference.iter_mut().flat_map(|reference| reference.proofs()));
        proofs.extend(self.operators.launchers().flat_map(|operator| operator.proofs()));
        proofs.sort_by_key(|proof| proof.worker);
        proofs
    }

    /// The GPUs that kernels were timed on, each once.
    fn gpus(&self) -> Vec<Gpu> {
        let mut gpus: Vec<Gpu> = Vec::new();
        for side in &self.sides {
            for gpu in side.launcher.gpus() {
                if !gpus.contains(&gpu) {
                    gpus.push(gpu);
                }
            }
        }
        gpus
    }

    /// The software that the kernels ran on. The kernel's own versions precede those of the kernel it is compared with;
    /// the expected outputs depend on the reference's.
    fn versions(&self) -> BTreeMap<String, String> {
        // Of the implementations that an audit has started by itself, only what no kernel has.
        let mut versions = self.operators.versions();
        for side in self.sides.iter().rev() {
            versions.extend(side.launcher.versions());
        }
        versions.extend(self.reference.iter().flat_map(|reference| reference.versions()));
        versions
    }

    fn policy(&self, batches: Vec<Batch>) -> CapturePolicy {
        let options = self.options;
        CapturePolicy {
            source: self.source(),
            batching: (self.timing() != Timing::Never).then(|| Batching {
                batch_bytes: Some(options.batch_bytes),
                over_cap: options.over_cap,
                batches: batches.into_iter().map(Into::into).collect(),
            }),
            recycling: Recycling { recycle_after: options.recycle_after, recycle_rss: options.recycle_rss },
            cache_release: CacheRelease::BetweenBatches,
            threads: std::thread::available_parallelism().map_or(1, NonZeroUsize::get) as u32,
            timeout_ns: self.sides[0].launcher.timeout().map(nanoseconds),
            sample_interval_ns: nanoseconds(self.meter.sample_interval()),
            digest: options.digest,
            isolation: self.sides[0].launcher.isolation(),
            min_speedup: options.min_speedup,
        }
    }

    fn source(&self) -> CaptureSource {
        let path = plimsoll_capture::origin::shown(self.capture.path());
        match self.capture.is_in_store() {
            true => CaptureSource { kind: SourceKind::Store, path, verify: Some(self.options.verify) },
            false => CaptureSource { kind: SourceKind::Folder, path, verify: None },
        }
    }
}
