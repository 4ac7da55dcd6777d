//! [`MappingGrowth`]: which of a tree's mappings grew.

use std::collections::BTreeMap;

use crate::bytes::ByteSize;

/// Maximum number of mappings listed per phase.
const MAPPINGS: usize = 16;
/// Further names are combined by their kind.
const NAMES: usize = 4096;

/// The kind of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "snake_case"))]
pub enum MappingKind {
    /// Memory of `malloc`: `brk`, and glibc's arenas. Large blocks and those of other allocators are anonymous.
    Heap,
    /// Other anonymous memory, and private copies of file pages.
    Anonymous,
    /// The stack of the main thread or of another.
    Stack,
    /// Page cache: a mapped file, including programs and libraries.
    File,
    /// Shared memory: memfd, tmpfs, System V, shared anonymous.
    SharedMemory,
    /// What the kernel maps into every process.
    Kernel,
}

impl MappingKind {
    /// The name in reports.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Heap => "heap",
            Self::Anonymous => "anonymous",
            Self::Stack => "stack",
            Self::File => "file",
            Self::SharedMemory => "shared memory",
            Self::Kernel => "kernel",
        }
    }
}

/// The growth of mappings of one kind and name, over the whole tree.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct MappingGrowth {
    /// The file's path, or a description of the memory.
    pub name: String,
    /// The kind of mapping.
    pub kind: MappingKind,
    /// The resident bytes when the phase began.
    pub before: ByteSize,
    /// The resident bytes when the mappings were read at the tree's largest resident set.
    pub after: ByteSize,
}

/// The resident bytes of a tree's mappings at one instant, by kind and name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MappingTable(BTreeMap<(MappingKind, String), ByteSize>);

impl MappingTable {
    pub(crate) fn add(&mut self, kind: MappingKind, name: &str, resident: ByteSize) {
        if resident == ByteSize::ZERO {
            return;
        }
        let mut key = (kind, name.to_owned());
        if self.0.len() >= NAMES && !self.0.contains_key(&key) {
            "others".clone_into(&mut key.1);
        }
        *self.0.entry(key).or_default() += resident;
    }
}

/// Lists mappings that grew from `before` to `after`, largest growth first.
pub(crate) fn growth(before: &MappingTable, after: &MappingTable) -> Vec<MappingGrowth> {
    let grown = |((kind, name), &after): (&(MappingKind, String), &ByteSize)| {
        let before = before.0.get(&(*kind, name.clone())).copied().unwrap_or_default();
        (after > before).then(|| MappingGrowth { name: name.clone(), kind: *kind, before, after })
    };
    let mut grown: Vec<_> = after.0.iter().filter_map(grown).collect();
    grown.sort_by_key(|growth| std::cmp::Reverse(growth.after.saturating_sub(growth.before)));
    grown.truncate(MAPPINGS);
    grown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(MappingKind, &str, u64)]) -> MappingTable {
        let mut table = MappingTable::default();
        rows.iter().for_each(|&(kind, name, mib)| table.add(kind, name, ByteSize::mib(mib)));
        table
    }

    #[test]
    fn what_grew_most_comes_first() {
        use MappingKind::{Anonymous, File, Heap};
        let before = table(&[(Heap, "heap", 5), (File, "/a", 9), (Anonymous, "x", 1)]);
        let after =
            table(&[(Heap, "heap", 3), (Heap, "heap", 4), (File, "/a", 9), (Anonymous, "x", 30), (File, "/b", 3)]);
        let grown = growth(&before, &after);
        let names: Vec<_> = grown.iter().map(|growth| growth.name.as_str()).collect();
        assert_eq!(names, ["x", "/b", "heap"]);
        assert_eq!((grown[2].before, grown[2].after), (ByteSize::mib(5), ByteSize::mib(7)));
        assert_eq!(growth(&after, &before), []);
    }

    #[test]
    fn a_table_is_kept_in_bounded_room() {
        let mut many = MappingTable::default();
        (0..NAMES + 500).for_each(|n| many.add(MappingKind::File, &format!("/{n}"), ByteSize::mib(1)));
        assert_eq!(many.0.len(), NAMES + 1);
        assert_eq!(growth(&MappingTable::default(), &many)[0].after, ByteSize::mib(500));
    }
}
