//! [`Rows`]: a list of a record with a row for every entry of a capture, in little memory.
//!
//! Rows are packed 256 at a time, as compressed JSON: in memory up to a limit, and in an unnamed file beyond.
//! Only one pack is unpacked at a time, so that memory does not grow with the number of entries.

mod packs;

use std::borrow::Cow;
use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut, Range};
use std::sync::OnceLock;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeOwned, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use packs::{Packed, Shelf};

/// The number of rows in a pack.
const PACK: usize = 256;

/// A row: any type that can be written and read back.
pub trait Row: Clone + Serialize + DeserializeOwned {}

impl<T: Clone + Serialize + DeserializeOwned> Row for T {}

/// A list with a row for every entry of a capture.
///
/// [`Rows::iter`] and [`Rows::get`] unpack rows only while they are read; `rows[index]` unpacks the 256 rows around the
/// index and keeps them.
///
/// # Panics
/// Rows beyond the first MiB (packed) lie in a temporary file; a read error of that file panics, as one of swap ends a process.
pub struct Rows<T> {
    packs: Vec<Pack<T>>,
    /// The rows after those of the packs.
    tail: Vec<T>,
    /// The pack whose rows may differ from their packed form.
    changed: Option<usize>,
    shelf: Shelf,
}

/// [`PACK`] rows.
#[derive(Clone)]
struct Pack<T> {
    packed: Packed,
    rows: OnceLock<Vec<T>>,
}

impl<T> Rows<T> {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.packs.len() * PACK + self.tail.len()
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

impl<T: Row> Rows<T> {
    /// Adds a row at the end.
    pub fn push(&mut self, row: T) {
        self.tail.push(row);
        self.pack();
    }

    /// The rows, one after the other.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { rows: self, next: 0, current: Current::Kept([].iter()), left: self.len() }
    }

    /// The rows at the places of `range`.
    pub fn range(&self, range: Range<usize>) -> impl Iterator<Item = Cow<'_, T>> {
        let first = range.start / PACK * PACK;
        let iter = Iter { next: range.start / PACK, left: self.len().saturating_sub(first), ..self.iter() };
        iter.skip(range.start - first).take(range.len())
    }

    /// The row at `index`, if there is one.
    pub fn get(&self, index: usize) -> Option<Cow<'_, T>> {
        let Some(pack) = self.packs.get(index / PACK) else {
            return self.tail.get(index - self.packs.len() * PACK).map(Cow::Borrowed);
        };
        match pack.rows.get() {
            Some(rows) => Some(Cow::Borrowed(&rows[index % PACK])),
            None => Some(Cow::Owned(pack.packed.unpack::<T>().swap_remove(index % PACK))),
        }
    }

    /// The row at `index`, if there is one, for changing. Fast if rows are accessed one after the other.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        let (at, within) = (index / PACK, index % PACK);
        if at >= self.packs.len() {
            let packed = self.packs.len() * PACK;
            return self.tail.get_mut(index - packed);
        }
        if self.changed != Some(at) {
            self.settle();
            self.changed = Some(at);
        }
        let pack = &mut self.packs[at];
        pack.rows.get_or_init(|| pack.packed.unpack());
        pack.rows.get_mut().and_then(|rows| rows.get_mut(within))
    }

    /// Every row, in memory, for any change.
    pub fn all_mut(&mut self) -> &mut Vec<T> {
        let rows = std::mem::take(self);
        self.tail = rows.into_iter().collect();
        &mut self.tail
    }

    /// A reader of rows in roughly their order.
    pub(crate) fn reader(&self) -> Reader<'_, T> {
        Reader { rows: self, pack: usize::MAX, current: Vec::new() }
    }

    /// Packs unpacked rows, except the last ones.
    fn pack(&mut self) {
        if self.tail.len() < PACK {
            return;
        }
        let whole = self.tail.len() - self.tail.len() % PACK;
        for rows in self.tail[..whole].chunks_exact(PACK) {
            let packed = self.shelf.put(rows);
            self.packs.push(Pack { packed, rows: OnceLock::new() });
        }
        self.tail.drain(..whole);
    }

    /// The pack `at`, unless its rows may differ from it.
    fn packed(&self, at: usize) -> Option<Cow<'_, [u8]>> {
        (self.changed != Some(at)).then(|| self.packs[at].packed.bytes())
    }

    /// Packs the pack that may have been changed.
    fn settle(&mut self) {
        let Some(pack) = self.changed.take().and_then(|at| self.packs.get_mut(at)) else { return };
        if let Some(rows) = pack.rows.take() {
            self.shelf.take(&pack.packed);
            pack.packed = self.shelf.put(&rows);
        }
    }
}

/// The rows of a list, in their order.
pub struct Iter<'a, T> {
    rows: &'a Rows<T>,
    /// The next pack; the number of packs stands for the tail.
    next: usize,
    current: Current<'a, T>,
    left: usize,
}

enum Current<'a, T> {
    Kept(std::slice::Iter<'a, T>),
    Unpacked(std::vec::IntoIter<T>),
}

impl<'a, T: Row> Iterator for Iter<'a, T> {
    type Item = Cow<'a, T>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let found = match &mut self.current {
                Current::Kept(rows) => rows.next().map(Cow::Borrowed),
                Current::Unpacked(rows) => rows.next().map(Cow::Owned),
            };
            if found.is_some() {
                self.left -= 1;
                return found;
            }
            self.current = match self.rows.packs.get(self.next) {
                Some(pack) => match pack.rows.get() {
                    Some(rows) => Current::Kept(rows.iter()),
                    None => Current::Unpacked(pack.packed.unpack().into_iter()),
                },
                None if self.next == self.rows.packs.len() => Current::Kept(self.rows.tail.iter()),
                None => return None,
            };
            self.next += 1;
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T: Row> ExactSizeIterator for Iter<'_, T> {}

impl<T: Row> FusedIterator for Iter<'_, T> {}

impl<'a, T: Row> IntoIterator for &'a Rows<T> {
    type Item = Cow<'a, T>;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The rows of a consumed list, in their order.
pub struct IntoIter<T> {
    packs: std::vec::IntoIter<Pack<T>>,
    current: std::vec::IntoIter<T>,
    tail: Vec<T>,
}

impl<T: Row> Iterator for IntoIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        loop {
            if let Some(row) = self.current.next() {
                return Some(row);
            }
            self.current = match self.packs.next() {
                Some(pack) => pack.rows.into_inner().unwrap_or_else(|| pack.packed.unpack()),
                None if self.tail.is_empty() => return None,
                None => std::mem::take(&mut self.tail),
            }
            .into_iter();
        }
    }
}

impl<T: Row> IntoIterator for Rows<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter { packs: self.packs.into_iter(), current: Vec::new().into_iter(), tail: self.tail }
    }
}

/// Reads rows in roughly their order: the last row's pack stays unpacked.
pub(crate) struct Reader<'a, T> {
    rows: &'a Rows<T>,
    pack: usize,
    current: Vec<T>,
}

impl<T: Row> Reader<'_, T> {
    /// The row at `index`, if there is one.
    pub fn get(&mut self, index: usize) -> Option<&T> {
        let at = index / PACK;
        let Some(pack) = self.rows.packs.get(at) else {
            return self.rows.tail.get(index - self.rows.packs.len() * PACK);
        };
        if let Some(rows) = pack.rows.get() {
            return rows.get(index % PACK);
        }
        if self.pack != at {
            (self.pack, self.current) = (at, pack.packed.unpack());
        }
        self.current.get(index % PACK)
    }
}

impl<T: Row> Index<usize> for Rows<T> {
    type Output = T;

    fn index(&self, index: usize) -> &T {
        match self.packs.get(index / PACK) {
            Some(pack) => &pack.rows.get_or_init(|| pack.packed.unpack())[index % PACK],
            None => &self.tail[index - self.packs.len() * PACK],
        }
    }
}

impl<T: Row> IndexMut<usize> for Rows<T> {
    fn index_mut(&mut self, index: usize) -> &mut T {
        let len = self.len();
        self.get_mut(index).unwrap_or_else(|| panic!("row {index} of {len}"))
    }
}

impl<T: Row> Extend<T> for Rows<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, rows: I) {
        rows.into_iter().for_each(|row| self.push(row));
    }
}

impl<T: Row> FromIterator<T> for Rows<T> {
    fn from_iter<I: IntoIterator<Item = T>>(rows: I) -> Self {
        let mut list = Self::default();
        list.extend(rows);
        list
    }
}

impl<T: Row> From<Vec<T>> for Rows<T> {
    fn from(rows: Vec<T>) -> Self {
        rows.into_iter().collect()
    }
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self { packs: Vec::new(), tail: Vec::new(), changed: None, shelf: Shelf::default() }
    }
}

impl<T: Clone> Clone for Rows<T> {
    /// Both share the packed rows.
    fn clone(&self) -> Self {
        let Self { packs, tail, changed, shelf } = self;
        Self { packs: packs.clone(), tail: tail.clone(), changed: *changed, shelf: shelf.beside() }
    }
}

impl<T: Row + PartialEq> PartialEq for Rows<T> {
    fn eq(&self, other: &Self) -> bool {
        if self.packs.len() != other.packs.len() {
            return self.len() == other.len() && self.iter().eq(other.iter());
        }
        let same = |at: usize| {
            // Most packs that are equal are so byte for byte, and need not be unpacked.
            let (these, those) = (self.packed(at), other.packed(at));
            let range = at * PACK..(at + 1) * PACK;
            (these.is_some() && these == those) || self.range(range.clone()).eq(other.range(range))
        };
        self.tail == other.tail && (0..self.packs.len()).all(same)
    }
}

impl<T: Row + Eq> Eq for Rows<T> {}

impl<T: Row + fmt::Debug> fmt::Debug for Rows<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: Row> Serialize for Rows<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de, T: Row> Deserialize<'de> for Rows<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List<T>(PhantomData<T>);

        impl<'de, T: Row> Visitor<'de> for List<T> {
            type Value = Rows<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a sequence")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Rows<T>, A::Error> {
                let mut rows = Rows::default();
                while let Some(row) = items.next_element()? {
                    rows.push(row);
                }
                Ok(rows)
            }
        }

        deserializer.deserialize_seq(List(PhantomData))
    }
}

/// Compares and prints like any other list.
impl<T: JsonSchema> JsonSchema for Rows<T> {
    fn inline_schema() -> bool {
        Vec::<T>::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        Vec::<T>::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        Vec::<T>::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<T>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(count: usize) -> Vec<String> {
        (0..count).map(|number| format!("entry_{number:06}.pt")).collect()
    }

    #[test]
    fn rows_are_those_of_a_list_whatever_their_number() {
        for count in [0, 1, PACK - 1, PACK, PACK + 1, 5 * PACK + 7] {
            let plain = texts(count);
            let rows = Rows::from(plain.clone());
            assert_eq!((rows.len(), rows.is_empty(), rows.iter().len()), (count, count == 0, count));
            assert!(rows.iter().map(Cow::into_owned).eq(plain.iter().cloned()));
            assert!((0..count).all(|at| *rows.get(at).unwrap() == plain[at] && rows[at] == plain[at]));
            let range = count / 3..count;
            assert!(rows.range(range.clone()).map(Cow::into_owned).eq(plain[range].iter().cloned()));
            assert!(rows.get(count).is_none() && rows.reader().get(count).is_none());
            let text = serde_json::to_string(&rows).unwrap();
            assert_eq!(text, serde_json::to_string(&plain).unwrap());
            assert_eq!(serde_json::from_str::<Rows<String>>(&text).unwrap(), rows);
            assert_eq!(format!("{rows:?}"), format!("{plain:?}"));
            assert_eq!(rows.into_iter().collect::<Vec<_>>(), plain);
        }
    }

    #[test]
    fn a_change_stays_and_a_copy_is_of_its_own() {
        let mut plain = texts(4 * PACK + 3);
        let mut rows = Rows::from(plain.clone());
        let before = rows.clone();
        for at in [0, PACK, 1, 3 * PACK + 5, 4 * PACK + 2, PACK + 1, 0] {
            plain[at].push('!');
            rows[at].push('!');
            assert_eq!(*rows.get(at).unwrap(), plain[at]);
        }
        let copy = rows.clone();
        rows[PACK].push('?');
        assert!(copy.iter().map(Cow::into_owned).eq(plain.iter().cloned()));
        assert!(before.iter().map(Cow::into_owned).eq(texts(4 * PACK + 3)));
        assert!(rows != copy && copy != before);
        rows.all_mut().retain(|row| row.ends_with('?'));
        assert_eq!(rows.into_iter().collect::<Vec<_>>(), [format!("{}?", plain[PACK])]);
    }

    #[test]
    fn equal_rows_are_equal_however_they_are_held() {
        let rows = Rows::from(texts(2 * PACK + 3));
        let (mut changed, mut whole) = (rows.clone(), rows.clone());
        changed[PACK].push('!');
        let differ = |one: &Rows<_>, other: &Rows<_>| (one != other, other != one);
        assert_eq!(differ(&rows, &changed), (true, true));
        changed[PACK].pop();
        assert_eq!(differ(&rows, &changed), (false, false));
        whole.all_mut();
        assert!(whole.packs.is_empty());
        assert_eq!(differ(&rows, &whole), (false, false));
        whole.all_mut()[PACK].clear();
        assert_eq!(differ(&rows, &whole), (true, true));
        assert_eq!(differ(&rows, &Rows::from(texts(2 * PACK + 2))), (true, true));
    }

    #[test]
    fn what_memory_has_no_room_for_reads_back_from_a_file() {
        // Digests of numbers, which do not compress.
        let row = |number: usize| blake3::hash(&number.to_le_bytes()).to_hex().repeat(4);
        let count = 2 * packs::IN_MEMORY / 32 / PACK * PACK + 1;
        let mut rows: Rows<String> = (0..count).map(row).collect();
        assert!(rows.packs.iter().any(|pack| pack.packed.is_in_file()));
        rows[3].clear();
        rows[count - 2].clear();
        let read = rows.iter().enumerate();
        let of = |at| if [3, count - 2].contains(&at) { String::new() } else { row(at) };
        assert!(read.into_iter().all(|(at, found)| *found == of(at)));
    }
}
