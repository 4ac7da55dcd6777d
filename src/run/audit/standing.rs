//! [`Standing`]: what the arguments of a call hold in place of the captured contents.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::launcher::Patch;

/// Argument contents that differ from the captured ones.
#[derive(Clone, Default)]
pub struct Standing {
    /// Contents of whole storages.
    pub(super) wholes: BTreeMap<usize, Patch>,
    /// Parts that differ from these, or from the captured contents, by storage and offset. Ranges do not overlap.
    pub(super) parts: BTreeMap<(usize, u64), Patch>,
}

impl Standing {
    /// Adds the contents of a launch: what stands again as it stood before ends the patch before it.
    pub fn put(&mut self, patch: &Patch) {
        let Patch { storage, at, whole, restores, .. } = *patch;
        if whole {
            self.parts.retain(|(of, _), _| *of != storage);
            match restores {
                true => self.wholes.remove(&storage),
                false => self.wholes.insert(storage, patch.clone()),
            };
        } else if restores {
            self.parts.remove(&(storage, at));
        } else {
            self.parts.insert((storage, at), patch.clone());
        }
    }

    pub fn is_captured(&self) -> bool {
        self.wholes.is_empty() && self.parts.is_empty()
    }

    /// The contents of a whole storage without its parts, if they are not the captured ones.
    pub(super) fn whole(&self, storage: usize) -> Option<&Arc<Vec<u8>>> {
        self.wholes.get(&storage).map(|patch| &patch.bytes)
    }

    /// The parts of a storage.
    pub(super) fn parts_of(&self, storage: usize) -> impl Iterator<Item = &Patch> {
        self.parts.range((storage, 0)..=(storage, u64::MAX)).map(|(_, patch)| patch)
    }

    /// Whether a whole storage holds the same in both, but for parts.
    pub(super) fn shares(&self, other: &Self, storage: usize) -> bool {
        match (self.whole(storage), other.whole(storage)) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, None) => true,
            _ => false,
        }
    }
}
