//! Storages of equal content, across entries and within them.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry::{Occupied, Vacant};

use super::document::{EntryInspection, Repeat, RepeatedStorage};
use plimsoll_memory::bytes::ByteSize;

/// The storages seen so far, by their content: as most storages of a folder are like no other, each takes some bytes alone.
#[derive(Debug, Default)]
pub(super) struct Seen {
    places: HashMap<Content, Occurrence>,
    repeated: Vec<Repeated>,
    /// The names of storages in their files, such as `0`, which most files share.
    names: HashMap<Box<str>, u32>,
}

/// The identity of a content: a digest of the size of a storage, of whether a digest proves its content, and of that digest or
/// its CRC-32.
type Content = u128;

/// A storage: the number of its entry and of its name.
type Numbers = (usize, u32);

/// Where a content was seen.
#[derive(Debug)]
enum Occurrence {
    Once(Numbers),
    /// The number among those that are repeated.
    Often(usize),
}

/// A content that was seen more than once.
#[derive(Debug)]
struct Repeated {
    bytes: ByteSize,
    proven: bool,
    storages: Vec<Numbers>,
}

impl Seen {
    /// Adds the storages of the entry with this index.
    pub(super) fn add(&mut self, entry: usize, inspection: &EntryInspection) {
        for storage in inspection.storages.iter().filter(|storage| storage.bytes > ByteSize::ZERO) {
            let (proven, content) = match (&storage.digest, &storage.crc32) {
                (Some(digest), _) => (true, digest),
                (None, Some(crc)) => (false, crc),
                (None, None) => continue,
            };
            let place = (entry, self.number(&storage.id));
            match self.places.entry(key(storage.bytes, proven, content)) {
                Vacant(vacant) => {
                    vacant.insert(Occurrence::Once(place));
                }
                Occupied(mut found) => match *found.get() {
                    Occurrence::Often(number) => self.repeated[number].storages.push(place),
                    Occurrence::Once(first) => {
                        found.insert(Occurrence::Often(self.repeated.len()));
                        let storages = vec![first, place];
                        self.repeated.push(Repeated { bytes: storage.bytes, proven, storages });
                    }
                },
            }
        }
    }

    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.names.get(name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.names.insert(name.into(), number);
        number
    }

    /// The storages that occur more than once: of equal size and digest, or of equal size and CRC-32 if no digest was
    /// computed. The largest saving comes first.
    pub(super) fn repeats(self) -> Vec<Repeat> {
        let mut names = vec![""; self.names.len()];
        self.names.iter().for_each(|(name, &number)| names[number as usize] = name);
        let repeat = |Repeated { bytes, proven, storages }: &Repeated| {
            let saved = bytes.bytes().saturating_mul(storages.len() as u64 - 1);
            let named = |&(entry, name): &Numbers| RepeatedStorage { entry, storage: names[name as usize].to_owned() };
            let (bytes, storages) = (*bytes, storages.iter().map(named).collect());
            Repeat { bytes, proven: *proven, saved_bytes: ByteSize::new(saved), storages }
        };
        let mut repeats: Vec<_> = self.repeated.iter().map(repeat).collect();
        repeats.sort_by_key(|repeat| {
            (Reverse(repeat.saved_bytes), repeat.storages[0].entry, repeat.storages[0].storage.clone())
        });
        repeats
    }
}

fn key(bytes: ByteSize, proven: bool, content: &str) -> Content {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&bytes.bytes().to_le_bytes()).update(&[u8::from(proven)]).update(content.as_bytes());
    let mut key = [0; 16];
    hasher.finalize_xof().fill(&mut key);
    Content::from_le_bytes(key)
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
