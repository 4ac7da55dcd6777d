//! [`Fresh`]: new values for the arguments of a call, made of the captured ones.
//!
//! Floating-point elements take the values of others of the same storage, in short runs from random places; integers
//! change places, so that each stays within the captured range, and as frequent. Sorted integers stay, as they may be
//! offsets or limits, and so do truth values, arguments that are declared constant, and storages that several dtypes
//! share. In a large storage, cells at random places change, among them rows that integers name.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use crate::record::{Failure, Values};
use plimsoll_capture::{Argument, Bound, Dtype, DtypeKind, MappedEntry, TensorRef};

use super::super::launcher::Patch;

/// A storage of at most this many bytes changes as a whole.
const WHOLE: u64 = 64 << 10;
/// The number of elements in a cell of a larger storage.
const CELL: u64 = 64;
/// The most cells that change before one launch: anywhere, and in rows that are named.
const CELLS: usize = 32;
/// The most elements that differ in values that are almost the captured ones.
const NEAR: usize = 16;
/// The longest run of elements that is taken from one place.
const RUN: usize = 32;

/// Unpredictable numbers: earlier numbers do not reveal the next one.
#[derive(Default)]
pub struct Chance {
    key: RandomState,
    drawn: u64,
}

impl Chance {
    pub fn word(&mut self) -> u64 {
        self.drawn += 1;
        self.key.hash_one(self.drawn)
    }

    /// A number below `bound`; 0 if that is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.word() % (bound as u64).max(1)) as usize
    }

    /// At most `count` different numbers below `bound`, in order.
    pub fn some(&mut self, bound: usize, count: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..bound).collect();
        for at in 0..count.min(bound) {
            let other = at + self.below(bound - at);
            all.swap(at, other);
        }
        all.truncate(count);
        all.sort_unstable();
        all
    }
}

/// Argument contents that differ from the captured ones, by storage and offset. Ranges do not overlap.
#[derive(Clone, Default)]
pub struct Standing(BTreeMap<(usize, u64), Vec<u8>>);

impl Standing {
    /// Adds the contents of a launch: a patch of captured bytes ends the one before it.
    pub fn put(&mut self, patch: &Patch) {
        let place = (patch.storage, patch.at);
        if patch.captured {
            self.0.remove(&place);
        } else {
            self.0.insert(place, patch.bytes.clone());
        }
    }

    pub fn is_captured(&self) -> bool {
        self.0.is_empty()
    }

    /// The patches that restore all captured contents.
    pub fn patches(&self) -> Vec<Patch> {
        let patch = |((storage, at), bytes): (&(usize, u64), &Vec<u8>)| Patch {
            storage: *storage,
            at: *at,
            bytes: bytes.clone(),
            captured: false,
        };
        self.0.iter().map(patch).collect()
    }
}

/// Values for the arguments of a call.
pub struct Fresh<'a> {
    units: Vec<Unit<'a>>,
    /// The rows that integers of the call name.
    rows: Vec<u64>,
    pub(super) standing: Standing,
}

/// The changeable part of one storage.
struct Unit<'a> {
    storage: usize,
    bytes: &'a [u8],
    /// The bytes that tensors reach.
    reach: Range<u64>,
    /// The size of one element.
    size: u64,
    integers: bool,
    whole: bool,
    /// Whether the kernel changes the storage, so that contents must be put there before each launch.
    always: bool,
    /// The elements of a row of the largest tensor.
    row: u64,
}

/// A tensor of the call.
struct Seen<'a> {
    tensor: &'a TensorRef,
    held: bool,
    whole: bool,
}

impl<'a> Fresh<'a> {
    /// The values of a call; no captured content has changed yet.
    ///
    /// # Errors
    /// A storage cannot be read.
    pub fn of(
        bound: &'a Bound,
        mapped: &'a MappedEntry,
        constant: &[String],
        mutates: &[String],
        values: Values,
    ) -> Result<Self, Failure> {
        let mut seen: BTreeMap<usize, Vec<Seen<'a>>> = BTreeMap::new();
        for (name, value) in bound.params.iter().zip(&bound.args) {
            let (held, whole) = (constant.contains(name), mutates.contains(name));
            value.for_each_leaf(&mut String::new(), &mut |_, leaf| {
                if let Argument::Tensor(tensor) = leaf {
                    seen.entry(tensor.storage).or_default().push(Seen { tensor, held, whole });
                }
            });
        }
        let (mut units, mut rows) = (Vec::new(), Vec::new());
        for (storage, tensors) in seen {
            let bytes = mapped.storage(storage)?;
            let Some(unit) = Unit::of(storage, bytes, &tensors) else { continue };
            if unit.integers && unit.size >= 4 {
                let elements = unit.elements().chunks_exact(unit.size as usize).take(4096);
                rows.extend(elements.map(integer).filter(|&n| n >= 0).map(|n| n as u64));
            }
            let wanted = match values {
                Values::All => true,
                Values::Floats => !unit.integers,
                Values::Captured => false,
            };
            // If nothing else is put into an argument that the kernel changes, the argument holds the result of the
            // previous launch.
            if wanted || tensors.iter().any(|seen| seen.whole) {
                units.push(unit);
            }
        }
        Ok(Self { units, rows, standing: Standing::default() })
    }

    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// The most bytes that one launch has put in.
    pub fn bytes(&self) -> usize {
        let of = |unit: &Unit<'_>| {
            if unit.whole { unit.reach.end - unit.reach.start } else { 2 * CELLS as u64 * CELL * unit.size }
        };
        self.units.iter().map(of).sum::<u64>() as usize
    }

    /// The current contents.
    pub fn standing(&self) -> Standing {
        self.standing.clone()
    }

    /// Starts over, as if nothing had been drawn.
    pub fn reset(&mut self) {
        self.standing = Standing::default();
    }

    /// Draws values for a launch.
    pub fn draw(&mut self, chance: &mut Chance) -> Vec<Patch> {
        let mut patches = Vec::new();
        for unit in &self.units {
            unit.draw(&self.rows, chance, &mut patches);
        }
        patches.iter().for_each(|patch| self.standing.put(patch));
        patches
    }

    /// Draws values that are almost the captured ones: a kernel that looks at some of them finds no difference.
    pub fn draw_near(&mut self, chance: &mut Chance) -> Vec<Patch> {
        let mut patches = Vec::new();
        for unit in &self.units {
            unit.draw_near(&self.rows, chance, &mut patches);
        }
        patches.iter().for_each(|patch| self.standing.put(patch));
        patches
    }

    /// Draws values for only one storage if there are several: a kernel that looks at the others finds no difference
    /// from the previous launch.
    pub fn draw_alone(&mut self, chance: &mut Chance) -> Vec<Patch> {
        let (mut patches, chosen) = (Vec::new(), chance.below(self.units.len()));
        for (at, unit) in self.units.iter().enumerate() {
            if at == chosen {
                unit.draw(&self.rows, chance, &mut patches);
            } else if unit.always {
                patches.push(unit.standing(&self.standing));
            }
        }
        patches.iter().for_each(|patch| self.standing.put(patch));
        patches
    }

    /// The patches that restore the captured values.
    pub fn captured(&mut self) -> Vec<Patch> {
        let standing = std::mem::take(&mut self.standing);
        self.changes(&standing, &Standing::default())
    }

    /// The patches that change arguments from one set of values to another.
    pub fn changes(&self, from: &Standing, to: &Standing) -> Vec<Patch> {
        let mut patches = Vec::new();
        for unit in
            self.units.iter().filter(|unit| unit.always && !to.0.contains_key(&(unit.storage, unit.reach.start)))
        {
            let bytes = unit.elements().to_vec();
            patches.push(Patch { storage: unit.storage, at: unit.reach.start, bytes, captured: true });
        }
        for ((storage, at), bytes) in from.0.iter().filter(|(place, _)| !to.0.contains_key(place)) {
            if let Some(unit) = self.units.iter().find(|unit| unit.storage == *storage && !unit.always) {
                let bytes = unit.bytes[*at as usize..*at as usize + bytes.len()].to_vec();
                patches.push(Patch { storage: *storage, at: *at, bytes, captured: true });
            }
        }
        patches.extend(to.patches());
        patches
    }
}

impl<'a> Unit<'a> {
    /// `None` to keep the captured contents.
    fn of(storage: usize, bytes: &'a [u8], tensors: &[Seen<'a>]) -> Option<Self> {
        let layout = &tensors.first()?.tensor.layout;
        let dtype = layout.dtype;
        let alike = |seen: &Seen<'_>| !seen.held && seen.tensor.layout.dtype == dtype;
        if !tensors.iter().all(alike) {
            return None;
        }
        let integers = match dtype.kind() {
            DtypeKind::Float | DtypeKind::Complex => false,
            DtypeKind::Signed | DtypeKind::Unsigned => true,
            DtypeKind::Bool | DtypeKind::Opaque => return None,
        };
        let reaches: Vec<Range<u64>> = tensors.iter().filter_map(|seen| seen.tensor.layout.reach()).collect();
        let reach = reaches.iter().map(|r| r.start).min()?..reaches.iter().map(|r| r.end).max()?;
        let size = dtype.size();
        let row = |seen: &Seen<'_>| {
            let shape = &seen.tensor.layout.shape;
            seen.tensor.layout.numel().unwrap_or(0) / shape.first().copied().unwrap_or(1).max(1)
        };
        let row = tensors.iter().map(row).max().unwrap_or(1);
        let always = tensors.iter().any(|seen| seen.whole);
        let whole = reach.end - reach.start <= WHOLE || always;
        let unit = Self { storage, bytes, reach, size, integers, whole, always, row };
        let fits = unit.reach.end <= bytes.len() as u64 && unit.count() > 1;
        // Integers of a large storage stay: shuffling cells separately would give the same values.
        (fits && (whole || !integers) && !is_sorted(unit.elements(), dtype)).then_some(unit)
    }

    fn elements(&self) -> &'a [u8] {
        &self.bytes[self.reach.start as usize..self.reach.end as usize]
    }

    fn count(&self) -> u64 {
        (self.reach.end - self.reach.start) / self.size
    }

    /// The new contents of a storage that changes as a whole.
    fn standing(&self, standing: &Standing) -> Patch {
        let (storage, at) = (self.storage, self.reach.start);
        match standing.0.get(&(storage, at)) {
            Some(bytes) => Patch { storage, at, bytes: bytes.clone(), captured: false },
            None => Patch { storage, at, bytes: self.elements().to_vec(), captured: true },
        }
    }

    fn draw(&self, rows: &[u64], chance: &mut Chance, patches: &mut Vec<Patch>) {
        let patch = |at: u64, bytes| Patch { storage: self.storage, at, bytes, captured: false };
        if self.integers {
            return patches.push(patch(self.reach.start, self.shuffled(chance)));
        }
        if self.whole {
            return patches.push(patch(self.reach.start, self.taken(self.count(), chance)));
        }
        let cells = self.count().div_ceil(CELL);
        let mut chosen: Vec<u64> = (0..CELLS).map(|_| chance.word() % cells).collect();
        for _ in 0..CELLS.min(rows.len()) {
            let element = rows[chance.below(rows.len())].saturating_mul(self.row) + chance.word() % self.row.max(1);
            chosen.extend((element < self.count()).then_some(element / CELL));
        }
        chosen.sort_unstable();
        chosen.dedup();
        for cell in chosen {
            let count = CELL.min(self.count() - cell * CELL);
            patches.push(patch(self.reach.start + cell * CELL * self.size, self.taken(count, chance)));
        }
    }

    /// A few elements that differ from the captured ones, if all of the storage can change; else as usual.
    fn draw_near(&self, rows: &[u64], chance: &mut Chance, patches: &mut Vec<Patch>) {
        if !self.whole {
            return self.draw(rows, chance, patches);
        }
        let (mut bytes, size, count) = (self.elements().to_vec(), self.size as usize, self.count() as usize);
        for _ in 0..1 + chance.below(NEAR) {
            let (one, other) = (chance.below(count) * size, chance.below(count) * size);
            for byte in 0..size {
                if self.integers {
                    bytes.swap(one + byte, other + byte);
                } else {
                    bytes[one + byte] = self.elements()[other + byte];
                }
            }
        }
        patches.push(Patch { storage: self.storage, at: self.reach.start, bytes, captured: false });
    }

    /// This many elements, in runs from random places.
    fn taken(&self, count: u64, chance: &mut Chance) -> Vec<u8> {
        let (elements, size) = (self.elements(), self.size as usize);
        let bytes = count as usize * size;
        let mut taken = Vec::with_capacity(bytes);
        while taken.len() < bytes {
            let word = chance.word();
            let run = (1 + (word >> 48) as usize % RUN) * size;
            let from = (word as u32 as usize % self.count() as usize) * size;
            let end = (from + run.min(bytes - taken.len())).min(elements.len());
            taken.extend_from_slice(&elements[from..end]);
        }
        taken
    }

    /// All elements in another order.
    fn shuffled(&self, chance: &mut Chance) -> Vec<u8> {
        let size = self.size as usize;
        let mut all: Vec<&[u8]> = self.elements().chunks_exact(size).collect();
        for at in 1..all.len() {
            all.swap(at, chance.below(at + 1));
        }
        all.concat()
    }
}

/// An integer of 4 or 8 bytes.
fn integer(bytes: &[u8]) -> i64 {
    match *bytes {
        [a, b, c, d] => i64::from(i32::from_le_bytes([a, b, c, d])),
        _ => bytes.try_into().map_or(-1, i64::from_le_bytes),
    }
}

/// Whether elements are sorted, as offsets and limits are: three or more, and not all equal.
fn is_sorted(bytes: &[u8], dtype: Dtype) -> bool {
    let size = dtype.size() as usize;
    let value = |bytes: &[u8]| match dtype {
        Dtype::I32 | Dtype::I64 => Some(integer(bytes) as f64),
        Dtype::F32 => bytes.try_into().ok().map(|bytes| f64::from(f32::from_le_bytes(bytes))),
        Dtype::F64 => bytes.try_into().ok().map(f64::from_le_bytes),
        _ => None,
    };
    let (mut before, mut rises) = (f64::NEG_INFINITY, 0u64);
    for element in bytes.chunks_exact(size) {
        match value(element) {
            Some(now) if now >= before => rises += u64::from(now > before),
            _ => return false,
        }
        before = value(element).unwrap_or(f64::NAN);
    }
    bytes.len() / size > 2 && rises > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(bytes: &[u8], size: u64, integers: bool, whole: bool) -> Unit<'_> {
        Unit { storage: 0, bytes, reach: 0..bytes.len() as u64, size, integers, whole, always: false, row: 8 }
    }

    #[test]
    fn integers_change_places_and_floats_stay_values_that_were_captured() {
        let mut chance = Chance::default();
        let bytes: Vec<u8> = (0..100u32).flat_map(u32::to_le_bytes).collect();
        let mut shuffled: Vec<u32> = words(&unit(&bytes, 4, true, true).shuffled(&mut chance));
        assert_ne!(shuffled, words(&bytes));
        shuffled.sort_unstable();
        assert_eq!(shuffled, words(&bytes));
        let taken = words(&unit(&bytes, 4, false, true).taken(100, &mut chance));
        assert!(taken.len() == 100 && taken.iter().all(|&n| n < 100) && taken != words(&bytes));
    }

    fn words(bytes: &[u8]) -> Vec<u32> {
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
    }

    #[test]
    fn what_is_put_back_leaves_nothing_standing() {
        let bytes: Vec<u8> = (0..200_000u32).flat_map(u32::to_le_bytes).collect();
        let mut fresh =
            Fresh { units: vec![unit(&bytes, 4, false, false)], rows: vec![3], standing: Standing::default() };
        let mut chance = Chance::default();
        let mut memory = bytes.clone();
        let mut put = |patches: &[Patch]| {
            for Patch { at, bytes, .. } in patches {
                memory[*at as usize..*at as usize + bytes.len()].copy_from_slice(bytes);
            }
            memory.clone()
        };
        for _ in 0..20 {
            let now = put(&fresh.draw(&mut chance));
            assert_ne!(now, bytes);
            let mut again = bytes.clone();
            for Patch { at, bytes, .. } in fresh.standing().patches() {
                again[at as usize..at as usize + bytes.len()].copy_from_slice(&bytes);
            }
            assert_eq!(again, now, "the witness is given what stands there");
        }
        assert_eq!(put(&fresh.captured()), bytes);
        assert!(fresh.standing().is_captured());
    }

    #[test]
    fn offsets_stay_and_indices_do_not() {
        let of = |values: &[i64]| values.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
        assert!(is_sorted(&of(&[0, 3, 3, 9]), Dtype::I64));
        for values in [&[3, 1, 2][..], &[5, 5, 5], &[1, 2]] {
            assert!(!is_sorted(&of(values), Dtype::I64), "{values:?}");
        }
    }

    #[test]
    fn a_choice_has_as_many_different_numbers_as_there_are() {
        let mut chance = Chance::default();
        assert_eq!(chance.some(3, 9), [0, 1, 2]);
        let some = chance.some(100, 10);
        assert!(some.len() == 10 && some.windows(2).all(|pair| pair[0] < pair[1]) && some[9] < 100);
    }
}
