//! [`Watch`]: the observer of a run, and the facts known so far.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::record::{EntryResult, EntrySemantics, Record, Rows, Semantics, SemanticsDigest, Verdict, VerdictStatus};
use plimsoll_capture::kernel::KernelIdentity;
use plimsoll_memory::meter::Meter;
use plimsoll_memory::nanoseconds;

use super::launcher::Launcher;
use super::node::Node;
use super::observer::{Observer, Phase};

/// The facts of a run so far: its record without entries and results.
#[derive(Default)]
pub(super) struct SoFar {
    record: Option<Box<Record>>,
    began: Option<Instant>,
    /// The last digest of the semantics.
    pub digest: Option<SemanticsDigest>,
}

impl SoFar {
    /// The state of the run of `record`, which begins now.
    pub fn of(mut record: Record) -> Self {
        let message = "the run had not ended when this was written";
        record.verdicts = vec![Verdict::new("run", VerdictStatus::Inconclusive, message)];
        Self { record: Some(Box::new(record)), began: Some(Instant::now()), digest: None }
    }
}

/// The files and the software of a kernel, as far as known by now.
#[derive(Clone)]
pub(super) struct Ran {
    kernel: KernelIdentity,
    versions: BTreeMap<String, String>,
}

impl Ran {
    /// The facts of `launcher`, beside the reference's. The versions of the reference come first.
    pub fn of(launcher: &dyn Launcher, reference: Option<&dyn Launcher>) -> Self {
        let mut versions = launcher.versions();
        versions.extend(reference.map(Launcher::versions).unwrap_or_default());
        Self { kernel: launcher.kernel(), versions }
    }
}

/// The observer of a run, and the facts to keep.
pub(super) struct Watch<'a> {
    pub observer: &'a mut dyn Observer,
    pub meter: &'a Meter,
    pub entries: &'a Rows<EntrySemantics>,
    pub so_far: &'a mut SoFar,
    /// The other shards of the node, while entries are timed.
    pub node: Option<&'a mut Node>,
}

impl Watch<'_> {
    /// Reports the result at `index`, and keeps the known facts if it is time to.
    pub fn entry(&mut self, phase: Phase, results: &mut Rows<EntryResult>, index: usize, ran: impl FnOnce() -> Ran) {
        if let Some(result) = results.get_mut(index) {
            self.observer.entry(phase, result);
        }
        if let Some(node) = &mut self.node {
            node.look();
        }
        let SoFar { record: Some(record), began: Some(began), digest } = &mut *self.so_far else { return };
        if self.observer.keeps().is_none_or(|due| Instant::now() < due) {
            return;
        }
        let Ran { kernel, versions } = ran();
        for (name, version) in versions {
            record.environment.versions.entry(name).or_insert(version);
        }
        if let (Some(shard), Some(node)) = (&mut record.shard, &self.node) {
            shard.timing = node.timing();
        }
        // Entries and results are many, and are in the record only while it is written.
        let mut is_new = record.semantics_digest.is_empty();
        if let Semantics::Capture(semantics) = &mut record.semantics {
            let before = std::mem::replace(&mut semantics.kernel, kernel);
            is_new |= semantics.kernel != before;
            semantics.entries = self.entries.clone();
            // Among the contents of the digest, only the kernel's files become known during the run.
            if is_new {
                record.semantics_digest = semantics.digest(digest);
            }
        }
        record.wall_ns = nanoseconds(began.elapsed());
        record.phases = self.meter.so_far();
        std::mem::swap(results, &mut record.results.entries);
        self.observer.keep(record);
        std::mem::swap(results, &mut record.results.entries);
        if let Semantics::Capture(semantics) = &mut record.semantics {
            semantics.entries.clear();
        }
    }
}
