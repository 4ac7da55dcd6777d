//! [`Remembered`]: the objects that were verified, in this run or an earlier one.
//!
//! `STORE/verified-1` has a line for each object: its digest, and the stamp of its file. Every write changes the time
//! of the last change, which no program can set, so a line counts only while the file still has that stamp.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Read;
use std::time::{Duration, SystemTime};

use super::inside;
use super::object::Stamp;
use super::object_id::ObjectId;
use super::open::put;
use super::places::Places;

/// The first line of the file.
const HEAD: &str = "plimsoll.verified/1\n";

/// The smallest object worth remembering, in bytes: smaller ones are verified in less time than that takes.
const WORTH: u64 = 64 << 10;

/// The most objects that are remembered.
const MOST_OBJECTS: usize = 1 << 16;

/// The longest file that is read, in bytes: [`MOST_OBJECTS`] of the longest lines.
const LARGEST_FILE: u64 = (MOST_OBJECTS as u64) * 256;

/// How long before its verification an object must have changed last to be remembered, because a file may change twice
/// within a tick of the file system's clock.
const SETTLED: Duration = Duration::from_secs(2);

/// Objects that were verified, with the stamps of their files.
#[derive(Debug, Default)]
pub struct Remembered {
    stamps: HashMap<ObjectId, Stamp>,
    /// Whether there is something to write.
    new: bool,
}

impl Remembered {
    /// Reads what earlier runs left in the store, or nothing if it cannot be read.
    pub fn read(places: &Places) -> Self {
        let mut text = String::new();
        let file = inside::open_regular(places.root(), places.within(&places.verified()));
        let read = file.and_then(|file| file.take(LARGEST_FILE).read_to_string(&mut text));
        let stamps = read.ok().and_then(|_| parse(&text)).unwrap_or_default();
        Self { stamps, new: false }
    }

    /// Whether the object was verified and its file has not changed since.
    pub fn has(&self, id: ObjectId, stamp: &Stamp) -> bool {
        self.stamps.get(&id) == Some(stamp)
    }

    /// Remembers an object that had `stamp` both before and after a verification that began at `began`.
    pub fn add(&mut self, id: ObjectId, stamp: Stamp, began: SystemTime) {
        if stamp.bytes >= WORTH && stamp.changed_before(began, SETTLED) {
            self.stamps.insert(id, stamp);
            self.new = true;
        }
    }

    /// Saves the list in the store for later runs. If it cannot be written, they verify again.
    pub fn write(&mut self, places: &Places) {
        if !std::mem::take(&mut self.new) {
            return;
        }
        self.stamps.retain(|&id, _| places.object(id).exists() || places.compressed(id).exists());
        let _ = put(places, &places.verified(), self.to_text().as_bytes());
    }

    fn to_text(&self) -> String {
        let mut text = HEAD.to_owned();
        let mut known: Vec<_> = self.stamps.iter().collect();
        known.sort();
        for (id, stamp) in known.into_iter().take(MOST_OBJECTS) {
            let Stamp { device, inode, bytes, modified, changed } = stamp;
            let (m, c) = (modified, changed);
            let _ = writeln!(text, "{id} {device} {inode} {bytes} {} {} {} {}", m.0, m.1, c.0, c.1);
        }
        text
    }
}

/// The objects in the lines of a file; `None` if a line is malformed.
fn parse(text: &str) -> Option<HashMap<ObjectId, Stamp>> {
    let line = |line: &str| {
        let mut fields = line.split(' ');
        let id = fields.next()?.parse().ok()?;
        let mut size = || fields.next()?.parse::<u64>().ok();
        let (device, inode, bytes) = (size()?, size()?, size()?);
        let mut time = || Some((fields.next()?.parse::<i64>().ok()?, fields.next()?.parse::<i64>().ok()?));
        let stamp = Stamp { device, inode, bytes, modified: time()?, changed: time()? };
        fields.next().is_none().then_some((id, stamp))
    };
    text.strip_prefix(HEAD)?.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stamp() -> impl Strategy<Value = Stamp> {
        let time = || (any::<i64>(), 0..1_000_000_000i64);
        (any::<u64>(), any::<u64>(), WORTH.., time(), time())
            .prop_map(|(device, inode, bytes, modified, changed)| Stamp { device, inode, bytes, modified, changed })
    }

    fn id() -> impl Strategy<Value = ObjectId> {
        any::<[u8; 8]>().prop_map(|bytes| blake3::hash(&bytes).into())
    }

    proptest! {
        #[test]
        fn what_is_remembered_is_read_as_it_was_written(stamps in prop::collection::hash_map(id(), stamp(), 0..20)) {
            let remembered = Remembered { stamps: stamps.clone(), new: true };
            let text = remembered.to_text();
            prop_assert!(text.lines().skip(1).all(|line| (line.len() as u64) < LARGEST_FILE / MOST_OBJECTS as u64));
            prop_assert_eq!(parse(&text), Some(stamps));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,200}", lines in prop::collection::vec("([0-9a-f]{64}|[0-9 -]{0,40}){0,9}", 0..4)) {
            let _ = parse(&text);
            let _ = parse(&format!("{HEAD}{}", lines.join("\n")));
        }
    }

    #[test]
    fn lines_that_are_none_refuse_the_file() {
        let id = ObjectId::from(blake3::hash(b"object"));
        let good = format!("{HEAD}{id} 1 2 3 4 5 -6 7\n");
        let stamp = Stamp { device: 1, inode: 2, bytes: 3, modified: (4, 5), changed: (-6, 7) };
        assert_eq!(parse(&good), Some(HashMap::from([(id, stamp)])));
        for (from, to) in [("/1", "/2"), (" 7", ""), (" 7", " 7 8"), (" 2", " -2"), (" 3", "  3"), (" 4", " x")] {
            assert_eq!(parse(&good.replacen(from, to, 1)), None, "{from} {to}");
        }
    }

    #[test]
    fn what_changed_just_now_or_is_small_is_not_remembered() {
        let began = SystemTime::UNIX_EPOCH + Duration::from_secs(1000);
        let id = ObjectId::from(blake3::hash(b"object"));
        let has = |bytes, changed| {
            let stamp = Stamp { device: 1, inode: 2, bytes, modified: (0, 0), changed };
            let mut remembered = Remembered::default();
            remembered.add(id, stamp, began);
            assert_eq!(remembered.new, remembered.has(id, &stamp));
            remembered.new
        };
        assert!(has(WORTH, (997, 999_999_999)));
        assert!(!has(WORTH, (998, 1)) && !has(WORTH, (1_000_000, 0)), "its clock may not be ours");
        assert!(!has(WORTH - 1, (0, 0)));
    }
}
