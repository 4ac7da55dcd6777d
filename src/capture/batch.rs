//! Batches: consecutive entries that are resident together, under a cap in bytes and one in files.
//!
//! [`plan`] works from headers, before anything is loaded. An entry's inputs and outputs count, and count twice where a
//! device holds a copy of them; a storage that several entries of a batch share counts once, and so does the kernel's
//! workspace. Each file that a batch uses is mapped and open as long as the batch is resident, and a process may only
//! have a limited number, so files count too. Planning is greedy: a batch ends before the entry that would take it over
//! a cap. An entry that exceeds the cap of bytes by itself is a batch of its own and is marked, or is refused.

use std::collections::HashSet;
use std::error::Error;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::residency::{Residency, StorageId};
use plimsoll_memory::ByteSize;

/// The most files that a batch uses, unless [`ByteBudget::with_files`] sets another number: half of the 1,024 that a
/// process may usually have open and that can be mapped at once.
pub const FILES: usize = 512;

/// The limits of a batch: the bytes that it may keep resident, and the files that it may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteBudget {
    cap: ByteSize,
    files: usize,
    device_copy: bool,
    workspace: ByteSize,
}

impl ByteBudget {
    /// A budget of `bytes` bytes, in at most [`FILES`] files.
    pub const fn new(bytes: u64) -> Self {
        Self { cap: ByteSize::new(bytes), files: FILES, device_copy: false, workspace: ByteSize::ZERO }
    }

    /// Counts inputs and outputs twice: a device holds a copy of them in the same memory.
    pub const fn with_device_copy(self) -> Self {
        Self { device_copy: true, ..self }
    }

    /// Limits the number of files; a single entry may use more.
    pub const fn with_files(self, files: usize) -> Self {
        Self { files, ..self }
    }

    /// Counts the workspace of a kernel once per batch, because its entries are launched one after the other.
    pub const fn with_workspace(self, workspace: ByteSize) -> Self {
        Self { workspace, ..self }
    }

    /// The cap in bytes.
    pub const fn cap(self) -> ByteSize {
        self.cap
    }

    /// Whether a device's copy is counted.
    pub const fn device_copy(self) -> bool {
        self.device_copy
    }

    /// The bytes that `bytes` of inputs or outputs count as.
    fn counted(self, bytes: ByteSize) -> ByteSize {
        if self.device_copy { bytes + bytes } else { bytes }
    }
}

impl From<ByteSize> for ByteBudget {
    fn from(cap: ByteSize) -> Self {
        Self::new(cap.bytes())
    }
}

/// The treatment of an entry that exceeds the cap by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OverCap {
    /// Give the entry a batch of its own, marked [`Batch::over_cap`].
    #[default]
    Alone,
    /// Fail the planning with [`BatchError::OverCap`].
    Refuse,
}

/// Consecutive entries that are resident together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The positions of the entries in the capture.
    pub entries: Range<usize>,
    /// The bytes that the batch keeps resident, counted as the budget says.
    pub bytes: ByteSize,
    /// The part of `bytes` that is the kernel's workspace.
    pub workspace: ByteSize,
    /// Whether the batch is a single entry that exceeds the cap.
    pub over_cap: bool,
}

/// Why no batches could be planned.
#[derive(Debug, thiserror::Error)]
pub enum BatchError<E: Error + 'static> {
    /// An entry could not be opened.
    #[error(transparent)]
    Entry(E),
    /// An entry exceeds the cap by itself, and such entries are refused.
    #[error(
        "entry {entry} alone keeps {bytes} resident, over the cap of {cap}: raise the cap, or let such entries run alone"
    )]
    OverCap {
        /// The position of the entry in the capture.
        entry: usize,
        /// The bytes that it keeps resident.
        bytes: ByteSize,
        /// The cap.
        cap: ByteSize,
    },
}

/// Plans the batches of consecutive entries, given the residency of each. Every entry is in exactly one batch, in
/// order. The residencies are read one at a time, and only the storage identities of one batch are kept.
///
/// # Errors
/// [`BatchError::Entry`] with the first residency that is an error; [`BatchError::OverCap`] if `over_cap` refuses an
/// entry.
pub fn plan<E: Error + 'static>(
    residencies: impl IntoIterator<Item = Result<Residency, E>>,
    budget: ByteBudget,
    over_cap: OverCap,
) -> Result<Vec<Batch>, BatchError<E>> {
    let mut batches = Vec::new();
    let mut open = Open::of(budget);
    for (entry, residency) in residencies.into_iter().enumerate() {
        let residency = residency.map_err(BatchError::Entry)?;
        let mut grown = open.bytes + open.growth(&residency, budget);
        let full = grown > budget.cap || open.files_with(&residency) > budget.files;
        if full && open.entries.start < entry {
            batches.push(open.close(entry, budget));
            open.entries = entry..entry;
            grown = open.bytes + open.growth(&residency, budget);
        }
        if grown > budget.cap && over_cap == OverCap::Refuse {
            return Err(BatchError::OverCap { entry, bytes: grown, cap: budget.cap });
        }
        open.bytes = grown;
        open.entries.end = entry + 1;
        open.files.extend(residency.storages.iter().map(|(id, _)| Arc::clone(id.file())));
        open.storages.extend(residency.storages.into_iter().map(|(id, _)| id));
    }
    if !open.entries.is_empty() {
        let end = open.entries.end;
        batches.push(open.close(end, budget));
    }
    Ok(batches)
}

/// The batch being filled.
struct Open {
    entries: Range<usize>,
    bytes: ByteSize,
    storages: HashSet<StorageId>,
    files: HashSet<Arc<Path>>,
}

impl Open {
    /// An empty batch.
    fn of(budget: ByteBudget) -> Self {
        Self { entries: 0..0, bytes: budget.workspace, storages: HashSet::new(), files: HashSet::new() }
    }

    /// The bytes that an entry adds: its outputs, and the storages that the batch does not hold yet.
    fn growth(&self, residency: &Residency, budget: ByteBudget) -> ByteSize {
        let fresh = residency.storages.iter().filter(|(id, _)| !self.storages.contains(id)).map(|&(_, bytes)| bytes);
        budget.counted(fresh.sum::<ByteSize>() + residency.outputs)
    }

    /// The number of files that the batch uses together with an entry.
    fn files_with(&self, residency: &Residency) -> usize {
        let fresh: HashSet<_> =
            residency.storages.iter().map(|(id, _)| id.file()).filter(|file| !self.files.contains(*file)).collect();
        self.files.len() + fresh.len()
    }

    /// Ends the batch before the entry `end` and leaves an empty one.
    fn close(&mut self, end: usize, budget: ByteBudget) -> Batch {
        let done = std::mem::replace(self, Self::of(budget));
        Batch {
            entries: done.entries.start..end,
            bytes: done.bytes,
            workspace: budget.workspace,
            over_cap: done.bytes > budget.cap,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;
    use plimsoll_memory::bytes::{GIB, MIB};

    fn storage(number: u64) -> StorageId {
        StorageId::in_file(Arc::from(Path::new("entry.pt")), number)
    }

    fn entry(storages: &[(u64, u64)], outputs: u64) -> Residency {
        Residency {
            storages: storages.iter().map(|&(id, bytes)| (storage(id), ByteSize::new(bytes))).collect(),
            outputs: ByteSize::new(outputs),
        }
    }

    fn planned(entries: &[Residency], budget: ByteBudget) -> Vec<Batch> {
        plan(entries.iter().cloned().map(Ok::<_, Infallible>), budget, OverCap::Alone).unwrap()
    }

    /// Inputs and outputs of entries resident together, by the definition, not by the planner's running sum.
    fn resident(entries: &[Residency], budget: ByteBudget) -> u64 {
        let storages: HashMap<_, _> = entries.iter().flat_map(|e| e.storages.iter().cloned()).collect();
        let once = storages.values().copied().sum::<ByteSize>() + entries.iter().map(|e| e.outputs).sum();
        once.bytes() * if budget.device_copy() { 2 } else { 1 } + budget.workspace.bytes()
    }

    #[test]
    fn the_capture_of_kernelforge_76_runs_its_large_entries_alone() {
        let (token, per_layer) = (805_306_368, 4_697_620_480);
        let entries: Vec<_> = (0..20).map(|n| entry(&[(n, if n % 2 == 0 { token } else { per_layer })], MIB)).collect();
        let batches = planned(&entries, ByteBudget::new(2 * GIB));
        assert_eq!(batches.len(), 20);
        assert!(batches.iter().enumerate().all(|(n, b)| b.entries == (n..n + 1) && b.over_cap == (n % 2 == 1)));
        assert_eq!(planned(&entries, ByteBudget::new(64 * GIB)).len(), 1);
    }

    #[test]
    fn a_shared_storage_counts_once_and_a_device_copy_twice() {
        let entries = [entry(&[(0, 100), (1, 10)], 1), entry(&[(0, 100), (2, 10)], 1)];
        let [batch] = &planned(&entries, ByteBudget::new(122))[..] else { panic!("one batch") };
        assert_eq!(
            batch,
            &Batch { entries: 0..2, bytes: ByteSize::new(122), workspace: ByteSize::ZERO, over_cap: false }
        );
        assert_eq!(planned(&entries, ByteBudget::new(121)).len(), 2);
        let [batch] = &planned(&entries, ByteBudget::new(244).with_device_copy())[..] else { panic!("one batch") };
        assert_eq!(batch.bytes, ByteSize::new(244));
        assert_eq!(planned(&entries, ByteBudget::new(243).with_device_copy()).len(), 2);
    }

    #[test]
    fn a_batch_reaches_into_so_many_files_and_a_shared_one_counts_once() {
        let of = |files: &[&str]| Residency {
            storages: files
                .iter()
                .map(|file| (StorageId::in_file(Path::new(file).into(), 0), ByteSize::new(1)))
                .collect(),
            outputs: ByteSize::ZERO,
        };
        let entries = [of(&["a", "b"]), of(&["b", "c"]), of(&["d"]), of(&["e", "f", "g", "h"]), of(&["h"])];
        let of_files = |files| {
            let batches = planned(&entries, ByteBudget::new(100).with_files(files));
            batches.into_iter().map(|batch| (batch.entries, batch.over_cap)).collect::<Vec<_>>()
        };
        assert_eq!(of_files(8), [(0..5, false)]);
        assert_eq!(of_files(4), [(0..3, false), (3..5, false)]);
        assert_eq!(of_files(3), [(0..2, false), (2..3, false), (3..4, false), (4..5, false)]);
        let many: Vec<_> = (0..1025).map(|number| of(&[&number.to_string()])).collect();
        let lengths: Vec<_> = planned(&many, ByteBudget::new(GIB)).iter().map(|batch| batch.entries.len()).collect();
        assert_eq!(lengths, [512, 512, 1]);
    }

    #[test]
    fn an_entry_over_the_cap_is_refused_by_name() {
        let entries = [entry(&[(0, 1)], 0), entry(&[(1, 9)], 1)].map(Ok::<_, Infallible>);
        let error = plan(entries, ByteBudget::new(9), OverCap::Refuse).unwrap_err();
        assert_eq!(
            error.to_string(),
            "entry 1 alone keeps 10 B resident, over the cap of 9 B: raise the cap, or let such entries run alone"
        );
    }

    #[test]
    fn an_entry_that_cannot_be_opened_ends_the_planning() {
        let entries = [Ok(entry(&[(0, 1)], 0)), Err(std::io::Error::other("gone"))];
        let error = plan(entries, ByteBudget::new(9), OverCap::Alone).unwrap_err();
        assert!(matches!(error, BatchError::Entry(e) if e.to_string() == "gone"));
    }

    fn entries() -> impl Strategy<Value = Vec<Residency>> {
        // A storage has one size wherever it occurs.
        let one = (prop::collection::btree_set(0u64..12, 0..4), 0u64..40)
            .prop_map(|(ids, outputs)| entry(&ids.iter().map(|&id| (id, id * 7 % 30)).collect::<Vec<_>>(), outputs));
        prop::collection::vec(one, 0..24)
    }

    proptest! {
        #[test]
        fn batches_keep_order_and_cap_and_are_greedy(
            entries in entries(), cap in 0u64..160, copy: bool, workspace in 0u64..20,
        ) {
            let budget = if copy { ByteBudget::new(cap).with_device_copy() } else { ByteBudget::new(cap) };
            let budget = budget.with_workspace(ByteSize::new(workspace));
            let batches = planned(&entries, budget);
            prop_assert_eq!(&batches, &planned(&entries, budget));
            let covered: Vec<usize> = batches.iter().flat_map(|b| b.entries.clone()).collect();
            prop_assert_eq!(covered, (0..entries.len()).collect::<Vec<_>>());
            for batch in &batches {
                prop_assert_eq!(batch.bytes.bytes(), resident(&entries[batch.entries.clone()], budget));
                prop_assert_eq!(batch.over_cap, batch.bytes > budget.cap());
                prop_assert!(!batch.over_cap || batch.entries.len() == 1);
                if batch.entries.end < entries.len() {
                    let longer = batch.entries.start..batch.entries.end + 1;
                    prop_assert!(resident(&entries[longer], budget) > cap, "the next entry would have fitted");
                }
            }
            let refused = plan(entries.iter().cloned().map(Ok::<_, Infallible>), budget, OverCap::Refuse);
            prop_assert_eq!(refused.is_err(), batches.iter().any(|b| b.over_cap));
        }
    }
}
