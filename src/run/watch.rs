//! [`Watch`]: who watches a run, and what is known so far for whoever keeps it.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::record::{EntryResult, EntrySemantics, Record, Rows, Semantics, Verdict, VerdictStatus};
use plimsoll_capture::kernel::KernelIdentity;
use plimsoll_memory::meter::Meter;
use plimsoll_memory::nanoseconds;

use super::launcher::Launcher;
use super::node::Node;
use super::observer::{Observer, Phase};

/// What is known of a run so far: its record without entries and results.
#[derive(Default)]
pub(super) struct SoFar {
    record: Option<Box<Record>>,
    began: Option<Instant>,
}

impl SoFar {
    /// The state of the run of `record`, which begins now.
    pub fn of(mut record: Record) -> Self {
        let message = "the run had not ended when this was written";
        record.verdicts = vec![Verdict::new("run", VerdictStatus::Inconclusive, message)];
        Self { record: Some(Box::new(record)), began: Some(Instant::now()) }
    }
}

/// What a kernel is made of and runs on, as far as that is known by now.
#[derive(Clone)]
pub(super) struct Ran {
    kernel: KernelIdentity,
    versions: BTreeMap<String, String>,
}

impl Ran {
    /// What `launcher` ran, beside the reference that it is judged by. The versions of the reference come first.
    pub fn of(launcher: &dyn Launcher, reference: Option<&dyn Launcher>) -> Self {
        let mut versions = launcher.versions();
        versions.extend(reference.map(Launcher::versions).unwrap_or_default());
        Self { kernel: launcher.kernel(), versions }
    }
}

/// Who watches a run, and what is kept of it.
pub(super) struct Watch<'a> {
    pub observer: &'a mut dyn Observer,
    pub meter: &'a Meter,
    pub entries: &'a Rows<EntrySemantics>,
    pub so_far: &'a mut SoFar,
    /// The other shards of the node, while entries are timed.
    pub node: Option<&'a mut Node>,
}

impl Watch<'_> {
    /// Reports the result at `index`, and has what is known so far kept if it is time to.
    pub fn entry(&mut self, phase: Phase, results: &mut Rows<EntryResult>, index: usize, ran: impl FnOnce() -> Ran) {
        if let Some(result) = results.get_mut(index) {
            self.observer.entry(phase, result);
        }
        if let Some(node) = &mut self.node {
            node.look();
        }
        let SoFar { record: Some(record), began: Some(began) } = &mut *self.so_far else { return };
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
        // Entries and results are many, and stand in the record only while it is written.
        let mut is_new = record.semantics_digest.is_empty();
        if let Semantics::Capture(semantics) = &mut record.semantics {
            let before = std::mem::replace(&mut semantics.kernel, kernel);
            is_new |= semantics.kernel != before;
            semantics.entries = self.entries.clone();
        }
        // Of all that the digest is of, the kernel's files alone become known while it runs.
        if is_new {
            record.semantics_digest = record.semantics.digest();
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
