//! [`Alike`]: what was read of small entries, for the entries whose headers are the same.
//!
//! The entries of a capture are mostly calls with arguments of the same shapes. Their files then have the same size and
//! the same bytes but for those of the storages, of which the headers hold only checksums. Comparing headers costs much
//! less than reading them, and the values are in memory once.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::archive::Frame;
use super::call::Call;
use super::content::Payload;
use super::snapshot::Snapshot;
use super::source::SourceFile;
use super::storage::{Storage, StoragePlace};

/// The most kinds of entries that are kept, the last used ones.
const KINDS: usize = 8;

/// What was read of the last kinds of entries.
#[derive(Debug, Default)]
pub(super) struct Alike(Mutex<Vec<Arc<Kind>>>);

/// An entry, and the part of its file that everything but its checksums depends on.
#[derive(Debug)]
struct Kind {
    snapshot: Arc<Snapshot>,
    /// The bytes that other files must have in common with this one. Nothing else of it was used, but
    common: Vec<Range<usize>>,
    /// the places of the root folder's name, which are those of the file's own name.
    roots: Vec<Range<usize>>,
    call: Arc<Call>,
    /// Each storage, with the place of its CRC-32 in the file.
    storages: Vec<(Storage, usize)>,
    payloads: Vec<(Payload, usize)>,
}

/// The parts of an entry that were read from its file.
pub(super) type Parts = (Arc<Call>, Vec<Storage>, Vec<Payload>);

impl Alike {
    /// What reading `source` would give, if an entry with the same headers was added.
    pub fn parts(&self, source: &SourceFile, snapshot: &Snapshot) -> Option<Parts> {
        let mut kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kinds.iter().position(|kind| kind.is_of(snapshot))?;
        kinds[..=at].rotate_right(1);
        let kind = Arc::clone(&kinds[0]);
        drop(kinds);
        Some(kind.parts(source, snapshot))
    }

    /// Adds the entry that was read from `snapshot`.
    pub fn add(&self, snapshot: &Arc<Snapshot>, frame: Frame, parts: &Parts) {
        let Some(kind) = Kind::of(snapshot, frame, parts) else { return };
        let mut kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kinds.truncate(KINDS - 1);
        kinds.insert(0, Arc::new(kind));
    }
}

impl Kind {
    /// `None` if a storage is not in the file as it is.
    fn of(snapshot: &Arc<Snapshot>, frame: Frame, (call, storages, payloads): &Parts) -> Option<Self> {
        let crc = |key: &str| frame.crcs.iter().find(|(known, _)| known == key).map(|(_, at)| *at);
        let placed = |storage: &Storage| match storage.place {
            StoragePlace::File { .. } if storage.unread.is_none() => Some((storage.clone(), crc(&storage.key)?)),
            _ => None,
        };
        let storages = storages.iter().map(placed).collect::<Option<_>>()?;
        let payloads =
            payloads.iter().map(|payload| Some((payload.clone(), crc(&payload.key)?))).collect::<Option<_>>()?;
        let Frame { common, roots, .. } = frame;
        Some(Self { snapshot: Arc::clone(snapshot), common, roots, call: Arc::clone(call), storages, payloads })
    }

    /// Whether a file with the bytes `other` has these headers.
    fn is_of(&self, other: &Snapshot) -> bool {
        if self.snapshot.len() != other.len() {
            return false;
        }
        let root = self.roots.first().map_or(&[][..], |root| &other[root.clone()]);
        self.common.iter().all(|range| self.snapshot[range.clone()] == other[range.clone()])
            && self.roots.iter().all(|range| &other[range.clone()] == root)
            && is_plain(root)
    }

    fn parts(&self, source: &SourceFile, snapshot: &Snapshot) -> Parts {
        let crc = |at: usize| u32::from_le_bytes(snapshot[at..at + 4].try_into().expect("four bytes"));
        let storages = self.storages.iter().map(|(storage, at)| {
            let Storage { key, bytes, place, .. } = storage;
            let (StoragePlace::File { offset, .. } | StoragePlace::Encoded { offset, .. }) = place;
            let place = StoragePlace::File { path: Arc::clone(source.path()), offset: *offset };
            let crc32 = super::archive::known_crc(crc(*at), bytes.bytes());
            Storage { key: key.clone(), bytes: *bytes, crc32, place, unread: None }
        });
        let payloads = self.payloads.iter().map(|(payload, at)| {
            let bytes = payload.range.end - payload.range.start;
            Payload { has_crc: super::archive::known_crc(crc(*at), bytes).is_some(), ..payload.clone() }
        });
        (Arc::clone(&self.call), storages.collect(), payloads.collect())
    }
}

/// Whether a root folder has a name that every reader takes for one.
fn is_plain(root: &[u8]) -> bool {
    !root.is_empty() && root.iter().all(|&byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::dtype::Dtype;
    use super::super::entry::OpenEntry;
    use super::super::snapshot::SMALL;
    use super::super::synthesize::embedding;
    use super::*;

    fn kinds(alike: &Alike) -> usize {
        alike.0.lock().unwrap().len()
    }

    /// Everything that opening a file gives, or why it cannot be opened.
    fn opened(path: &Path, alike: &Alike) -> Result<String, String> {
        let opened = OpenEntry::open_like(path, alike);
        opened.map(|entry| format!("{:?}", entry.close())).map_err(|error| error.to_string())
    }

    #[test]
    fn an_entry_like_another_is_what_reading_it_gives_whichever_byte_of_it_differs() {
        let dir = tempfile::tempdir().unwrap();
        embedding(8, 2, 8, Dtype::F32).entries(2).write(dir.path()).unwrap();
        let [one, other] = ["entry_000000.pt", "entry_000001.pt"].map(|name| dir.path().join(name));
        let alike = Alike::default();
        opened(&one, &alike).unwrap();
        assert_eq!(opened(&other, &alike), opened(&other, &Alike::default()));
        assert_eq!(kinds(&alike), 1, "two calls on arguments of the same shapes are alike");
        let bytes = std::fs::read(&other).unwrap();
        let changed = dir.path().join("changed.pt");
        let (mut alikes, mut others) = (0, 0);
        for at in 0..bytes.len() {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x11;
            std::fs::write(&changed, &bytes).unwrap();
            let found = opened(&changed, &alike);
            assert_eq!(found, opened(&changed, &Alike::default()), "byte {at}");
            if kinds(&alike) == 1 && found.is_ok() {
                alikes += 1;
            } else {
                others += 1;
                *alike.0.lock().unwrap() = Vec::new();
                opened(&one, &alike).unwrap();
            }
        }
        assert!(alikes > 200 && others > 200, "{alikes} {others}");
    }

    #[test]
    fn the_kinds_that_are_kept_are_bounded_and_large_files_are_none() {
        let dir = tempfile::tempdir().unwrap();
        let alike = Alike::default();
        let file = |vocab: u64| {
            let place = dir.path().join(vocab.to_string());
            embedding(vocab, 2, 8, Dtype::F32).write(&place).unwrap();
            place.join("entry_000000.pt")
        };
        for vocab in 1..=KINDS as u64 + 2 {
            opened(&file(vocab), &alike).unwrap();
        }
        assert_eq!(kinds(&alike), KINDS);
        let large = file(SMALL);
        let before = Arc::as_ptr(&alike.0.lock().unwrap()[0]);
        opened(&large, &alike).unwrap();
        assert_eq!(Arc::as_ptr(&alike.0.lock().unwrap()[0]), before);
    }
}
