//! Storages of equal content, across entries and within them.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::document::{EntryInspection, Repeat, RepeatedStorage};
use plimsoll_memory::bytes::ByteSize;

/// The storages seen so far, by their content.
#[derive(Debug, Default)]
pub(super) struct Seen(HashMap<Content, Vec<RepeatedStorage>>);

/// The size of a storage, whether a digest proves its content, and that digest or its CRC-32.
type Content = (ByteSize, bool, Box<str>);

impl Seen {
    /// Adds the storages of the entry with this index.
    pub(super) fn add(&mut self, entry: usize, inspection: &EntryInspection) {
        for storage in inspection.storages.iter().filter(|storage| storage.bytes > ByteSize::ZERO) {
            let (proven, content) = match (&storage.digest, &storage.crc32) {
                (Some(digest), _) => (true, digest),
                (None, Some(crc)) => (false, crc),
                (None, None) => continue,
            };
            let place = RepeatedStorage { entry, storage: storage.id.clone() };
            self.0.entry((storage.bytes, proven, content.as_str().into())).or_default().push(place);
        }
    }

    /// The storages that occur more than once: of equal size and digest, or of equal size and CRC-32 if no digest was
    /// computed. The largest saving comes first.
    pub(super) fn repeats(self) -> Vec<Repeat> {
        let repeated = self.0.into_iter().filter(|(_, storages)| storages.len() > 1);
        let mut repeats: Vec<_> = repeated
            .map(|((bytes, proven, _), storages)| {
                let saved = bytes.bytes().saturating_mul(storages.len() as u64 - 1);
                Repeat { bytes, proven, saved_bytes: ByteSize::new(saved), storages }
            })
            .collect();
        repeats.sort_by_key(|repeat| {
            (Reverse(repeat.saved_bytes), repeat.storages[0].entry, repeat.storages[0].storage.clone())
        });
        repeats
    }
}

#[cfg(test)]
mod tests {
    use super::super::document::StorageInspection;
    use super::*;

    fn entry(storages: &[(&str, u64, Option<&str>, Option<&str>)]) -> EntryInspection {
        let storage = |&(id, bytes, crc, digest): &(&str, u64, Option<&str>, Option<&str>)| StorageInspection {
            id: id.to_owned(),
            bytes: ByteSize::new(bytes),
            crc32: crc.map(str::to_owned),
            reached_bytes: ByteSize::ZERO,
            shared_by: Vec::new(),
            digest: digest.map(str::to_owned),
        };
        EntryInspection { storages: storages.iter().map(storage).collect(), ..EntryInspection::default() }
    }

    fn repeated(entries: &[EntryInspection]) -> Vec<(u64, bool, u64, usize)> {
        let facts = |r: Repeat| (r.bytes.bytes(), r.proven, r.saved_bytes.bytes(), r.storages.len());
        let mut seen = Seen::default();
        entries.iter().enumerate().for_each(|(index, entry)| seen.add(index, entry));
        seen.repeats().into_iter().map(facts).collect()
    }

    #[test]
    fn storages_of_equal_size_and_crc_are_repeats() {
        let entries = [
            entry(&[("0", 10, Some("a"), None), ("1", 90, Some("b"), None), ("2", 0, Some("0"), None)]),
            entry(&[("0", 10, Some("a"), None), ("1", 91, Some("b"), None), ("2", 0, Some("0"), None)]),
            entry(&[("0", 10, Some("a"), None), ("1", 10, None, None), ("2", 10, None, None)]),
        ];
        assert_eq!(repeated(&entries), [(10, false, 20, 3)]);
    }

    #[test]
    fn digests_prove_repeats_and_distinguish_equal_crcs() {
        let entries = [
            entry(&[("0", 10, Some("a"), Some("x")), ("1", 10, None, Some("y"))]),
            entry(&[("0", 10, Some("a"), Some("z")), ("1", 10, None, Some("y"))]),
        ];
        assert_eq!(repeated(&entries), [(10, true, 10, 2)]);
    }
}
