//! [`Known`]: a guess whether a storage is already in the store, from its size and its first bytes.
//!
//! A guess avoids writing gigabytes that are already there; the digest of every byte decides.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fs;

use super::super::source::SourceFile;
use super::object::Object;
use super::object_id::ObjectId;
use super::places::Places;

/// The smallest storage for which a guess is made, in bytes.
pub const GUESS_FROM: u64 = 1 << 20;

/// The number of first bytes that are compared.
const HEAD: usize = 4096;

/// What is known about the large objects of a store.
pub struct Known {
    /// Objects present at the start whose first bytes were not read yet, by size.
    unread: HashMap<u64, Vec<ObjectId>>,
    heads: HashSet<(u64, [u8; 32])>,
}

impl Known {
    /// Starts with the objects that are in the store now.
    pub fn of(places: &Places) -> Self {
        let mut unread: HashMap<u64, Vec<ObjectId>> = HashMap::new();
        // Objects that cannot be listed are skipped.
        let folders = fs::read_dir(places.objects()).into_iter().flatten().flatten();
        let folders = folders.filter(|folder| folder.file_type().is_ok_and(|kind| kind.is_dir()));
        for item in folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten()) {
            let size = item.metadata().map_or(0, |found| found.len());
            let id = item.file_name().to_str().and_then(|name| name.parse().ok());
            if let Some(id) = id.filter(|_| size >= GUESS_FROM) {
                unread.entry(size).or_default().push(id);
            }
        }
        Self { unread, heads: HashSet::new() }
    }

    /// Whether an object of `bytes` bytes that begins with `piece` is probably there.
    pub fn probably(&mut self, places: &Places, bytes: u64, piece: &[u8]) -> bool {
        for id in self.unread.remove(&bytes).unwrap_or_default() {
            // For a remote object, nothing more is fetched. The file name of a compressed object is not an id.
            let head = Object::find(places, id).ok().and_then(|object| {
                let source = SourceFile::open_object(&object.path).ok()?;
                source.read_at(0, HEAD as u64).ok().filter(|_| !object.compressed).map(Cow::into_owned)
            });
            if let Some(head) = head {
                self.heads.insert((bytes, digest(&head)));
            }
        }
        piece.len() >= HEAD && self.heads.contains(&(bytes, digest(&piece[..HEAD])))
    }

    /// Records an object that begins with `piece`.
    pub fn add(&mut self, bytes: u64, piece: &[u8]) {
        if bytes >= GUESS_FROM && piece.len() >= HEAD {
            self.heads.insert((bytes, digest(&piece[..HEAD])));
        }
    }
}

fn digest(head: &[u8]) -> [u8; 32] {
    *blake3::hash(head).as_bytes()
}
