//! [`Plan`]: the batches of a run, planned again where a launch shows that the kernel takes more than was known.

use std::convert::Infallible;

use crate::bytes::ByteSize;
use crate::capture::batch::{self, Batch, BatchError, ByteBudget, OverCap};
use crate::gpu::DeviceUse;
use crate::record::EntryResult;

use super::manifest::Planned;
use super::options::Options;
use super::session::RunError;

/// The batches of a run, under its cap. What a kernel takes on a device besides its inputs and outputs is known once it was
/// launched, and counts from then on: the most of any launch, once a batch.
pub(super) struct Plan<'a> {
    planned: &'a [Planned],
    options: &'a Options,
    grouping: Grouping,
    workspace: ByteSize,
    batches: Vec<Batch>,
    /// How many of the batches were taken.
    taken: usize,
}

/// Which entries may share a batch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Grouping {
    /// As many as the cap allows.
    Together,
    /// The same, but for the first, whose launch shows what the kernel takes.
    FirstAlone,
    /// None.
    Alone,
}

impl<'a> Plan<'a> {
    /// Plans the batches.
    ///
    /// # Errors
    /// [`RunError::OverCap`] where an entry exceeds the cap by itself, and such entries are refused.
    pub fn new(planned: &'a [Planned], options: &'a Options, grouping: Grouping) -> Result<Self, RunError> {
        let mut plan = Self { planned, options, grouping, workspace: ByteSize::ZERO, batches: Vec::new(), taken: 0 };
        plan.batches = plan.from(0, options.over_cap)?;
        Ok(plan)
    }

    /// The batches of the entries from `first` on.
    fn from(&self, first: usize, over_cap: OverCap) -> Result<Vec<Batch>, RunError> {
        let budget = ByteBudget::from(self.options.batch_bytes).with_workspace(self.workspace);
        let mut batches = Vec::new();
        let mut start = first;
        while start < self.planned.len() {
            let together = match self.grouping {
                Grouping::Alone => 1,
                Grouping::FirstAlone if start == 0 => 1,
                _ => self.planned.len() - start,
            };
            let planned = &self.planned[start..start + together];
            // An entry that could not be read takes no memory; its turn will say why it failed.
            let residencies = planned.iter().map(|p| Ok::<_, Infallible>(p.residency.clone().unwrap_or_default()));
            let found = batch::plan(residencies, budget, over_cap).map_err(|error| match error {
                BatchError::OverCap { entry, bytes, cap } => {
                    RunError::OverCap { name: planned[entry].semantics.name.clone(), bytes, cap }
                }
                BatchError::Entry(never) => match never {},
            })?;
            let shifted = |b: Batch| Batch { entries: start + b.entries.start..start + b.entries.end, ..b };
            batches.extend(found.into_iter().map(shifted));
            start += together;
        }
        Ok(batches)
    }

    /// Takes in what the launches of these entries took of a device: batches that are not taken yet are planned with the most
    /// of it.
    pub fn learn(&mut self, results: &[EntryResult]) {
        let of = |result: &EntryResult| {
            let validated = result.validation.as_ref().and_then(|validation| validation.device);
            let timed = result.profile.as_ref().and_then(|profile| profile.device);
            [validated, timed].into_iter().flatten().filter_map(|device: DeviceUse| device.workspace()).max()
        };
        let most = results.iter().filter_map(of).max().unwrap_or_default();
        if most > self.workspace {
            self.workspace = most;
            self.batches.truncate(self.taken);
            let first = self.batches.last().map_or(0, |batch| batch.entries.end);
            // What cannot be refused any more is told of each entry.
            let rest = self.from(first, OverCap::Alone).expect("such entries stand alone");
            self.batches.extend(rest);
        }
    }

    /// The next batch, with its number.
    pub fn next(&mut self) -> Option<(usize, Batch)> {
        let batch = self.batches.get(self.taken)?.clone();
        self.taken += 1;
        Some((self.taken - 1, batch))
    }

    /// Why a batch is not to be timed.
    pub fn refused(&self, batch: &Batch) -> Option<String> {
        let refused = batch.over_cap && self.options.over_cap == OverCap::Refuse;
        refused.then(|| {
            format!(
                "it keeps {} on the device with the {} that the kernel takes besides, over the cap of {}: raise the cap, or let \
                 such entries run alone",
                batch.bytes, batch.workspace, self.options.batch_bytes
            )
        })
    }

    /// The batches, as they were taken.
    pub fn into_batches(self) -> Vec<Batch> {
        self.batches
    }
}
