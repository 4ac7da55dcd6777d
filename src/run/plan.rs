//! [`Plan`]: the batches of a run, which are replanned if a launch shows that the kernel needs more memory.

use std::borrow::Cow;
use std::convert::Infallible;

use crate::record::EntryResult;
use plimsoll_capture::batch::{self, Batch, BatchError, ByteBudget, OverCap};
use plimsoll_capture::gpu::DeviceUse;
use plimsoll_capture::{Capture, Residency};
use plimsoll_memory::bytes::ByteSize;

use super::error::RunError;
use super::options::Options;

/// The most entries in a batch: they are all open at once, and each takes some KiB.
const ENTRIES: usize = 1024;

/// The batches of a run, under its cap. A kernel's device memory beside inputs and outputs is known after its first
/// launch, and counts from then on: the most of any launch, once per batch.
pub(super) struct Plan<'a> {
    headers: &'a dyn Headers,
    options: &'a Options,
    grouping: Grouping,
    workspace: ByteSize,
    batches: Vec<Batch>,
    /// How many of the batches were taken.
    taken: usize,
}

/// The source of entry headers, which are read again if batches are replanned.
pub(super) trait Headers {
    /// The names of the entries.
    fn names(&self) -> &[String];

    /// The resident bytes of an entry. An unreadable entry takes none; its turn will report why.
    fn resident(&self, index: usize) -> Residency;
}

impl Headers for Capture {
    fn names(&self) -> &[String] {
        Self::names(self)
    }

    fn resident(&self, index: usize) -> Residency {
        self.entry(index).map_or_else(|_| Residency::default(), |entry| entry.residency())
    }
}

/// Which entries may share a batch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Grouping {
    /// As many as the cap allows.
    Together,
    /// As many as the cap allows, but the first entry alone: its launch shows the kernel's needs.
    FirstAlone,
    /// None.
    Alone,
}

impl<'a> Plan<'a> {
    /// Plans the batches of entries; `residencies` returns what each has resident.
    ///
    /// # Errors
    /// [`RunError::OverCap`] if an entry exceeds the cap by itself, and such entries are refused.
    pub fn new(
        residencies: impl Iterator<Item = Residency>,
        headers: &'a dyn Headers,
        options: &'a Options,
        grouping: Grouping,
    ) -> Result<Self, RunError> {
        let mut plan = Self { headers, options, grouping, workspace: ByteSize::ZERO, batches: Vec::new(), taken: 0 };
        plan.batches = plan.of(0, residencies, options.over_cap)?;
        Ok(plan)
    }

    /// The batches of the entries from `first` on.
    fn of(
        &self,
        first: usize,
        residencies: impl Iterator<Item = Residency>,
        over_cap: OverCap,
    ) -> Result<Vec<Batch>, RunError> {
        let budget = ByteBudget::from(self.options.batch_bytes).with_workspace(self.workspace);
        let mut residencies = residencies.peekable();
        let mut batches = Vec::new();
        let mut start = first;
        while residencies.peek().is_some() {
            let together = match self.grouping {
                Grouping::Alone => 1,
                Grouping::FirstAlone if start == 0 => 1,
                _ => ENTRIES,
            };
            let group = residencies.by_ref().take(together).map(Ok::<_, Infallible>);
            let found = batch::plan(group, budget, over_cap).map_err(|error| match error {
                BatchError::OverCap { entry, bytes, cap } => {
                    RunError::OverCap { name: self.headers.names()[start + entry].clone(), bytes, batch_bytes: cap }
                }
                BatchError::Entry(never) => match never {},
            })?;
            let end = start + found.last().map_or(0, |batch| batch.entries.end);
            let shifted = |b: Batch| Batch { entries: start + b.entries.start..start + b.entries.end, ..b };
            batches.extend(found.into_iter().map(shifted));
            start = end;
        }
        Ok(batches)
    }

    /// Adds the device memory that launches of these entries took: the remaining batches are planned with the maximum.
    pub fn learn<'r>(&mut self, results: impl IntoIterator<Item = Cow<'r, EntryResult>>) {
        let of = |result: Cow<'_, EntryResult>| {
            let validated = result.validation.as_ref().and_then(|validation| validation.device);
            let timed = result.profile.as_ref().and_then(|profile| profile.device);
            [validated, timed].into_iter().flatten().filter_map(|device: DeviceUse| device.workspace()).max()
        };
        let most = results.into_iter().filter_map(of).max().unwrap_or_default();
        if most > self.workspace {
            self.workspace = most;
            self.batches.truncate(self.taken);
            let first = self.batches.last().map_or(0, |batch| batch.entries.end);
            let resident = |index| self.headers.resident(index);
            // Entries that cannot be refused any more are reported one by one.
            let rest = self.of(first, (first..self.headers.names().len()).map(resident), OverCap::Alone);
            let rest = rest.expect("such entries stand alone");
            self.batches.extend(rest);
        }
    }

    /// The next batch, with its number.
    pub fn next(&mut self) -> Option<(usize, Batch)> {
        let batch = self.batches.get(self.taken)?.clone();
        self.taken += 1;
        Some((self.taken - 1, batch))
    }

    /// Why a batch is not timed.
    pub fn refused(&self, batch: &Batch) -> Option<String> {
        let refused = batch.over_cap && self.options.over_cap == OverCap::Refuse;
        refused.then(|| {
            format!(
                "it keeps {} on the device with the {} that the kernel takes in addition, over the cap of {}: raise the cap, or let \
                 such entries run alone",
                batch.bytes, batch.workspace, self.options.batch_bytes
            )
        })
    }

    /// The batches taken so far.
    pub fn into_batches(self) -> Vec<Batch> {
        self.batches
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::record::Profile;
    use plimsoll_capture::StorageId;

    /// The names of entries of 100 bytes each, which share nothing.
    struct Small(Vec<String>);

    impl Headers for Small {
        fn names(&self) -> &[String] {
            &self.0
        }

        fn resident(&self, index: usize) -> Residency {
            Residency {
                storages: vec![(StorageId::in_file(Arc::from(Path::new("a.pt")), index as u64), ByteSize::new(90))],
                outputs: ByteSize::new(10),
            }
        }
    }

    fn small(count: usize) -> Small {
        Small((0..count).map(|number| format!("entry_{number:06}.pt")).collect())
    }

    fn planned<'a>(small: &'a Small, options: &'a Options, grouping: Grouping) -> Result<Plan<'a>, RunError> {
        Plan::new((0..small.0.len()).map(|index| small.resident(index)), small, options, grouping)
    }

    fn took(bytes: u64) -> EntryResult {
        let device = DeviceUse { growth: Some(ByteSize::new(bytes)), ..DeviceUse::default() };
        let profile = Profile { device: Some(device), ..Profile::not_run("a test") };
        EntryResult { index: 0, name: String::new(), validation: None, profile: Some(profile) }
    }

    fn rest(plan: &mut Plan<'_>) -> Vec<(usize, Range<usize>, u64)> {
        std::iter::from_fn(|| plan.next()).map(|(number, b)| (number, b.entries, b.bytes.bytes())).collect()
    }

    #[test]
    fn batches_after_a_launch_count_what_it_took_besides() {
        let small = small(4);
        let options = Options { batch_bytes: ByteSize::new(250), ..Options::default() };
        let mut plan = planned(&small, &options, Grouping::FirstAlone).unwrap();
        assert_eq!(plan.next().unwrap().1.entries, 0..1);
        plan.learn([took(40), took(30)].map(Cow::Owned));
        assert_eq!(rest(&mut plan), [(1, 1..3, 240), (2, 3..4, 140)]);
        assert_eq!(plan.into_batches().len(), 3);

        let mut plan = planned(&small, &options, Grouping::Together).unwrap();
        assert_eq!(plan.next().unwrap().1.entries, 0..2);
        plan.learn([took(60)].map(Cow::Owned));
        plan.learn([took(10)].map(Cow::Owned));
        assert_eq!(rest(&mut plan), [(1, 2..3, 160), (2, 3..4, 160)]);

        let mut plan = planned(&small, &options, Grouping::Alone).unwrap();
        assert_eq!(rest(&mut plan), [(0, 0..1, 100), (1, 1..2, 100), (2, 2..3, 100), (3, 3..4, 100)]);
    }

    #[test]
    fn a_batch_has_a_bounded_number_of_entries() {
        let small = small(2 * ENTRIES + 1);
        let options = Options { batch_bytes: ByteSize::gib(1), ..Options::default() };
        let mut plan = planned(&small, &options, Grouping::Together).unwrap();
        let lengths: Vec<usize> = rest(&mut plan).into_iter().map(|(_, entries, _)| entries.len()).collect();
        assert_eq!(lengths, [ENTRIES, ENTRIES, 1]);
    }

    #[test]
    fn an_entry_that_exceeds_the_cap_with_it_is_refused_where_such_are() {
        let small = small(2);
        let options = Options { batch_bytes: ByteSize::new(250), over_cap: OverCap::Refuse, ..Options::default() };
        let mut plan = planned(&small, &options, Grouping::FirstAlone).unwrap();
        let (_, first) = plan.next().unwrap();
        assert_eq!(plan.refused(&first), None);
        plan.learn([took(200)].map(Cow::Owned));
        let (_, second) = plan.next().unwrap();
        let reason = plan.refused(&second).unwrap();
        assert!(
            reason.starts_with("it keeps 300 B on the device with the 200 B that the kernel takes in addition"),
            "{reason}"
        );
        let narrow = Options { batch_bytes: ByteSize::new(99), ..options };
        assert!(matches!(planned(&small, &narrow, Grouping::Alone), Err(RunError::OverCap { .. })));
    }
}
