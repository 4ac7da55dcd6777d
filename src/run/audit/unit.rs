//! [`Unit`]: the part of one storage that changes from launch to launch, and what it changes to.
//!
//! Floating-point numbers become others of their size ([`Format`]). Whole numbers, and numbers of which there are few
//! different ones, change places: each stays within the captured range, and as frequent. Rows and columns in which none
//! is twice stay so, as an operator may sort them, or use them as places to write to.

use std::collections::BTreeSet;
use std::ops::Range;

use plimsoll_capture::TensorRef;

use super::chance::Chance;
use super::change::{Change, Order, Reach, WHOLE, change_of, is_apart};
use super::order::{drawn, half, set_apart, shuffled};

/// The number of elements in a cell of a larger storage.
const CELL: u64 = 64;
/// The most cells that change before one launch: anywhere, and in rows that are named.
const CELLS: usize = 32;
/// The most elements that differ in values that are almost the captured ones.
const NEAR: usize = 16;
/// The most elements of a larger storage that differ from those of the launch before: a kernel may look at every tenth.
const FEW_ELEMENTS: usize = 4;
/// The fewest elements that change all at once in a larger storage. A processor predicts the branches that code takes on some ten
/// thousand elements which it has often seen, so that new ones take several times as long; not those on this many.
const BRANCHES: u64 = 1 << 18;
/// The longest run of elements that is taken from one place, and of how many elements it is at least a part.
const RUN: usize = 32;
const RUNS: usize = 512;

/// How much of a cell changes.
#[derive(Clone, Copy)]
enum Extent {
    Whole,
    /// A power of two of its elements.
    Part,
    One,
}

/// A tensor of the call.
pub(super) struct Seen<'a> {
    pub(super) tensor: &'a TensorRef,
    /// Whether it is declared constant.
    pub(super) held: bool,
    /// Whether the kernel changes it.
    pub(super) mutated: bool,
}

/// The changeable part of one storage.
#[derive(Clone)]
pub(super) struct Unit<'a> {
    pub(super) storage: usize,
    bytes: &'a [u8],
    /// The bytes that tensors reach.
    pub(super) reach: Range<u64>,
    /// The size of one element.
    pub(super) size: u64,
    change: Change,
    nudged: bool,
    /// Whether it changes as a whole, or at some places only.
    pub(super) whole: bool,
    /// Whether the kernel changes the storage, so that contents must be put there before each launch.
    pub(super) always: bool,
    /// The elements of a row of the largest tensor.
    row: u64,
    /// In parts of this many numbers, none is twice.
    apart: Option<usize>,
}

impl<'a> Unit<'a> {
    /// `None` to keep the captured contents.
    pub(super) fn of(storage: usize, bytes: &'a [u8], tensors: &[Seen<'a>], reach: Reach) -> Option<Self> {
        let layout = &tensors.first()?.tensor.layout;
        let dtype = layout.dtype;
        let alike = |seen: &Seen<'_>| !seen.held && seen.tensor.layout.dtype == dtype;
        if !tensors.iter().all(alike) {
            return None;
        }
        let reaches: Vec<Range<u64>> = tensors.iter().filter_map(|seen| seen.tensor.layout.reach()).collect();
        let reached = reaches.iter().map(|r| r.start).min()?..reaches.iter().map(|r| r.end).max()?;
        let size = dtype.size();
        let count = (reached.end - reached.start) / size;
        // A single number is a parameter of the operator, which may not take others.
        let fewest = if reach == Reach::Everything { 1 } else { 2 };
        if reached.end > bytes.len() as u64 || count < fewest {
            return None;
        }
        let row = |seen: &Seen<'_>| {
            let shape = &seen.tensor.layout.shape;
            seen.tensor.layout.numel().unwrap_or(0) / shape.first().copied().unwrap_or(1).max(1)
        };
        let row = tensors.iter().map(row).max().unwrap_or(1);
        let last = layout.shape.last().copied().unwrap_or(1).max(1) as usize;
        let always = tensors.iter().any(|seen| seen.mutated);
        let whole = reached.end - reached.start <= WHOLE || always;
        let elements = &bytes[reached.start as usize..reached.end as usize];
        let change = change_of(elements, dtype, whole, last, reach);
        let change = change.or_else(|| always.then_some(Change::Nothing))?;
        let apart = match change {
            Change::Numbers(format, _) if elements.len() as u64 <= WHOLE => {
                let parts = [elements.len() / format.bytes, last * size as usize / format.bytes];
                parts.into_iter().find(|&part| is_apart(elements, format.bytes, part))
            }
            _ => None,
        };
        let nudged = reach == Reach::Nudged;
        Some(Self { storage, bytes, reach: reached, size, change, nudged, whole, always, row, apart })
    }

    /// Whether its elements are integers, or stand for some.
    pub(super) fn is_placed(&self) -> bool {
        matches!(self.change, Change::Places(_))
    }

    /// Gives integers another order from now on; false if there are none.
    pub(super) fn reorder(&mut self, order: Order) -> bool {
        let places = self.is_placed();
        if places {
            self.change = Change::Places(order);
        }
        places
    }

    /// Lets elements change places from now on, whatever they are, so that zeros do not stay in theirs.
    pub(super) fn mix(&mut self) {
        if self.changes() {
            self.change = Change::Places(Order::Any);
        }
    }

    /// Whether other values than the captured ones are ever put there.
    pub(super) fn changes(&self) -> bool {
        self.change != Change::Nothing
    }

    /// The captured contents.
    pub(super) fn elements(&self) -> &'a [u8] {
        &self.bytes[self.reach.start as usize..self.reach.end as usize]
    }

    fn count(&self) -> u64 {
        (self.reach.end - self.reach.start) / self.size
    }

    /// The most bytes that one launch has put in.
    pub(super) fn most(&self) -> u64 {
        if self.whole { self.reach.end - self.reach.start } else { 2 * CELLS as u64 * CELL * self.size }
    }

    /// Whether all of it can change although it is large: its elements become other numbers, and are more than the branches
    /// that a processor remembers.
    pub(super) fn renews(&self) -> bool {
        !self.whole && matches!(self.change, Change::Numbers(..)) && self.count() >= BRANCHES
    }

    /// Other contents for all elements.
    pub(super) fn all_renewed(&self, chance: &mut Chance) -> Vec<u8> {
        self.renewed(0..self.count(), chance)
    }

    /// New contents: their places in the storage, and their bytes. `base` stands in a larger storage around cells.
    pub(super) fn draw(&self, base: &[u8], rows: &[u64], chance: &mut Chance) -> Vec<(u64, Vec<u8>)> {
        if self.whole {
            return vec![(self.reach.start, self.renewed(0..self.count(), chance))];
        }
        let cells = self.count().div_ceil(CELL);
        let mut chosen: Vec<u64> = (0..CELLS).map(|_| chance.word() % cells).collect();
        for _ in 0..CELLS.min(rows.len()) {
            let element = rows[chance.below(rows.len())].saturating_mul(self.row) + chance.word() % self.row.max(1);
            chosen.extend((element < self.count()).then_some(element / CELL));
        }
        chosen.sort_unstable();
        chosen.dedup();
        let extent = if chance.below(2) == 0 { Extent::Whole } else { Extent::Part };
        chosen.into_iter().map(|cell| self.cell(base, cell, extent, chance)).collect()
    }

    /// A few elements that differ from the captured ones, or from those of the launch before if a part of the storage
    /// changes.
    pub(super) fn draw_near(&self, base: &[u8], rows: &[u64], chance: &mut Chance) -> Vec<(u64, Vec<u8>)> {
        if !self.whole {
            // A sum of many elements is mostly the same.
            let cells = self.count().div_ceil(CELL);
            let few: BTreeSet<u64> = (0..1 + chance.below(FEW_ELEMENTS)).map(|_| chance.word() % cells).collect();
            return few.into_iter().map(|cell| self.cell(base, cell, Extent::One, chance)).collect();
        }
        let (mut bytes, size, count) = (self.elements().to_vec(), self.size as usize, self.count() as usize);
        if matches!(self.change, Change::Places(_)) {
            for _ in 0..1 + chance.below(NEAR) {
                let Some((one, other)) = self.pair(chance) else { return self.draw(base, rows, chance) };
                (0..size).for_each(|byte| bytes.swap(one + byte, other + byte));
            }
            return vec![(self.reach.start, bytes)];
        }
        // Numbers that are to differ are drawn together.
        let all = self.apart.map(|_| self.renewed(0..self.count(), chance));
        for _ in 0..1 + chance.below(NEAR) {
            let at = chance.below(count);
            let place = at * size..(at + 1) * size;
            match &all {
                Some(all) => bytes[place.clone()].copy_from_slice(&all[place]),
                None => bytes[place].copy_from_slice(&self.renewed(at as u64..at as u64 + 1, chance)),
            }
        }
        vec![(self.reach.start, bytes)]
    }

    /// Changes one element of `now`, the contents of a storage that changes as a whole, if one can change by itself.
    pub(super) fn differ(&self, now: &mut [u8], chance: &mut Chance) {
        let size = self.size as usize;
        for _ in 0..NEAR {
            if matches!(self.change, Change::Numbers(..)) {
                let one = chance.below(self.count() as usize);
                let new = self.renewed(one as u64..one as u64 + 1, chance);
                let part = self.apart.unwrap_or(1) * size;
                let start = one * size / part * part;
                let peers = &now[start..(start + part).min(now.len())];
                if !peers.chunks_exact(size).any(|peer| peer == new) {
                    now[one * size..(one + 1) * size].copy_from_slice(&new);
                    return;
                }
            } else {
                let Some((one, other)) = self.pair(chance) else { return };
                if now[one..one + size] != now[other..other + size] {
                    (0..size).for_each(|byte| now.swap(one + byte, other + byte));
                    return;
                }
            }
        }
    }

    /// Where two elements are that may change places, in bytes; `None` if single ones may not.
    fn pair(&self, chance: &mut Chance) -> Option<(usize, usize)> {
        let (size, count) = (self.size as usize, self.count() as usize);
        let within = match self.change {
            Change::Places(Order::WithinRows(part)) => part,
            Change::Places(Order::Any) => count,
            Change::Places(Order::Rows(_) | Order::Drawn | Order::DrawnFromHalf)
            | Change::Numbers(..)
            | Change::Nothing => return None,
        };
        let one = chance.below(count);
        let start = one - one % within;
        Some((one * size, (start + chance.below(within.min(count - start))) * size))
    }

    /// Other contents for a cell of a storage that does not change as a whole.
    pub(super) fn draw_cell(&self, base: &[u8], chance: &mut Chance) -> (u64, Vec<u8>) {
        self.cell(base, chance.word() % self.count().div_ceil(CELL), Extent::Part, chance)
    }

    /// The bytes of one number; `None` if its elements are not drawn as numbers.
    pub(super) fn number(&self) -> Option<usize> {
        match self.change {
            Change::Numbers(format, _) => Some(format.bytes),
            Change::Places(_) | Change::Nothing => None,
        }
    }

    /// Alters numbers in their last bit, up or down.
    pub(super) fn shake(&self, contents: &mut [u8], chance: &mut Chance) {
        let Change::Numbers(format, _) = self.change else { return };
        for number in contents.chunks_exact_mut(format.bytes) {
            let shaken = format.shaken(format.bits(number), chance.word());
            number.copy_from_slice(&shaken.to_le_bytes()[..format.bytes]);
        }
    }

    /// Other contents for a cell, or for a part of it: a kernel that looks at a few elements of each cell finds no
    /// difference.
    fn cell(&self, base: &[u8], cell: u64, extent: Extent, chance: &mut Chance) -> (u64, Vec<u8>) {
        let all = cell * CELL..((cell + 1) * CELL).min(self.count());
        let (count, size) = (all.end - all.start, self.size);
        let length = match (extent, self.change) {
            (Extent::Whole, _) | (_, Change::Places(_) | Change::Nothing) => count,
            (Extent::Part, Change::Numbers(..)) => (1 << chance.below(CELL.ilog2() as usize + 1)).min(count),
            (Extent::One, Change::Numbers(..)) => 1,
        };
        let from = all.start + chance.word() % (count - length + 1);
        let part = from..from + length;
        let mut bytes = base[(all.start * size) as usize..(all.end * size) as usize].to_vec();
        let at = ((part.start - all.start) * size) as usize;
        let new = self.renewed(part, chance);
        bytes[at..at + new.len()].copy_from_slice(&new);
        (self.reach.start + all.start * size, bytes)
    }

    /// Other contents for a part of the elements.
    fn renewed(&self, part: Range<u64>, chance: &mut Chance) -> Vec<u8> {
        let size = self.size as usize;
        let old = &self.elements()[part.start as usize * size..part.end as usize * size];
        let (format, lowest) = match self.change {
            Change::Numbers(format, lowest) => (format, lowest),
            Change::Nothing => return old.to_vec(),
            Change::Places(Order::Any) => return shuffled(old, size, chance),
            Change::Places(Order::Rows(row)) => return shuffled(old, row * size, chance),
            Change::Places(Order::Drawn) => {
                return drawn(&old.chunks(size).collect::<Vec<_>>(), old.len() / size, chance);
            }
            Change::Places(Order::DrawnFromHalf) => return drawn(&half(old, size, chance), old.len() / size, chance),
            Change::Places(Order::WithinRows(row)) => {
                return old.chunks(row * size).flat_map(|row| shuffled(row, size, chance)).collect();
            }
        };
        let mut renewed = old.to_vec();
        let noise = chance.bytes(old.len());
        if self.nudged {
            format.renew(&mut renewed, old, &noise, format.by_little(lowest));
        } else {
            let others = self.others(old.len() / format.bytes, format.bytes, chance);
            format.renew(&mut renewed, &others, &noise, format.by_half(chance.word(), lowest));
        }
        if let Some(part) = self.apart {
            renewed.chunks_mut(part * format.bytes).for_each(|part| set_apart(part, format));
        }
        renewed
    }

    /// As many captured numbers, of `bytes` bytes each: runs from anywhere.
    fn others(&self, count: usize, bytes: usize, chance: &mut Chance) -> Vec<u8> {
        let all = self.elements();
        let mut others = Vec::with_capacity(count * bytes);
        let longest = RUN.max(count / RUNS);
        while others.len() < count * bytes {
            let from = chance.below(all.len() / bytes);
            let run = (1 + chance.below(longest)).min(count - others.len() / bytes);
            others.extend_from_slice(&all[from * bytes..((from + run) * bytes).min(all.len())]);
        }
        others
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use plimsoll_capture::{Dtype, Layout};

    use super::super::change::{integer, is_sorted};
    use super::*;

    fn drawn(dtype: Dtype, shape: &[u64], bytes: &[u8], reach: Reach) -> Option<Vec<u8>> {
        let tensor = TensorRef { storage: 0, layout: Layout::contiguous(dtype, shape) };
        let seen = [Seen { tensor: &tensor, held: false, mutated: false }];
        let unit = Unit::of(0, bytes, &seen, reach)?;
        let mut drawn = bytes.to_vec();
        for (at, new) in unit.draw(bytes, &[], &mut Chance::default()) {
            drawn[at as usize..at as usize + new.len()].copy_from_slice(&new);
        }
        Some(drawn)
    }

    fn longs(values: impl IntoIterator<Item = i64>) -> Vec<u8> {
        values.into_iter().flat_map(i64::to_le_bytes).collect()
    }

    fn read(bytes: &[u8]) -> Vec<i64> {
        bytes.chunks_exact(8).map(integer).collect()
    }

    fn floats(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
        values.into_iter().flat_map(f32::to_le_bytes).collect()
    }

    fn read_floats(bytes: &[u8]) -> Vec<f32> {
        bytes.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
    }

    #[test]
    fn integers_change_places_and_stay_apart() {
        let indices = longs((0..100).map(|n| n * 37 % 10));
        let mut new = read(&drawn(Dtype::I64, &[100], &indices, Reach::All).unwrap());
        assert_ne!(new, read(&indices));
        new.sort_unstable();
        assert!(new.iter().enumerate().all(|(at, n)| *n == at as i64 / 10));
        // Rows of different indices, as scatter needs them, and columns of them.
        let rows = longs((0..80).map(|n| (n * 3 + n / 8) % 8));
        let new = read(&drawn(Dtype::I64, &[10, 8], &rows, Reach::All).unwrap());
        assert!(new.chunks(8).all(|row| row.iter().collect::<HashSet<_>>().len() == 8), "{new:?}");
        let columns = longs((0..80).map(|n| (n / 8 * 3) % 10));
        let new = read(&drawn(Dtype::I64, &[10, 8], &columns, Reach::All).unwrap());
        assert!((0..8).all(|at| new.iter().skip(at).step_by(8).collect::<HashSet<_>>().len() == 10), "{new:?}");
        assert!(drawn(Dtype::I64, &[100], &indices, Reach::Floats).is_none());
    }

    #[test]
    fn floats_are_numbers_that_nobody_has_seen_and_none_is_twice() {
        let given = floats((0..4096).map(|n| (n as f32 * 0.7).sin()));
        let old: HashSet<u32> = read_floats(&given).iter().map(|x| x.to_bits()).collect();
        let new = read_floats(&drawn(Dtype::F32, &[64, 64], &given, Reach::All).unwrap());
        let kept = new.iter().filter(|x| old.contains(&x.to_bits())).count();
        assert!(kept < 40, "{kept} of 4096 were there before");
        assert_eq!(new.iter().map(|x| x.to_bits()).collect::<HashSet<_>>().len(), 4096);
        assert!(new.iter().any(|x| *x > 0.1) && new.iter().all(|x| x.abs() <= 1.0));
        // 256 numbers of 8 bits: as many as there are.
        let bytes: Vec<u8> = (0..100).map(|n| 0x20 + n % 0x20 + 0x80 * (n / 0x20 % 2)).collect();
        assert!(drawn(Dtype::F8E4M3FN, &[100], &bytes, Reach::All).unwrap() != bytes);
    }

    #[test]
    fn integers_that_are_drawn_anew_are_captured_ones_in_other_numbers() {
        let counted = longs((0..64).map(|n| n % 8));
        let tensor = TensorRef { storage: 0, layout: Layout::contiguous(Dtype::I64, &[64]) };
        let seen = [Seen { tensor: &tensor, held: false, mutated: false }];
        let mut unit = Unit::of(0, &counted, &seen, Reach::All).unwrap();
        assert!(unit.reorder(Order::Drawn));
        let mut new = read(&unit.draw(&counted, &[], &mut Chance::default())[0].1);
        assert!(new.iter().all(|n| (0..8).contains(n)));
        new.sort_unstable();
        assert!(new.iter().enumerate().any(|(at, n)| *n != at as i64 / 8), "{new:?}");
        // Though each is there eight times, any of them is left out.
        assert!(unit.reorder(Order::DrawnFromHalf));
        let draws: Vec<Vec<i64>> =
            (0..64).map(|_| read(&unit.draw(&counted, &[], &mut Chance::default())[0].1)).collect();
        assert!(draws.iter().flatten().all(|n| (0..8).contains(n)));
        assert!((0..8).all(|n| draws.iter().any(|draw| !draw.contains(&n))));
    }

    #[test]
    fn a_single_number_changes_only_if_nothing_else_can() {
        let one = floats([2.5]);
        assert!(drawn(Dtype::F32, &[], &one, Reach::All).is_none());
        // Among the few numbers as short as this one, the draw may find the same.
        assert!((0..64).any(|_| drawn(Dtype::F32, &[], &one, Reach::Everything).unwrap() != one));
    }

    #[test]
    fn integers_of_a_large_storage_change_only_if_nothing_else_can() {
        let flags = longs((0..16384).map(|n| n / 3 % 2));
        assert!(drawn(Dtype::I64, &[8192, 2], &flags, Reach::All).is_none());
        let new = read(&drawn(Dtype::I64, &[8192, 2], &flags, Reach::Everything).unwrap());
        assert_ne!(new, read(&flags));
        assert!(
            new.chunks(64)
                .zip(read(&flags).chunks(64))
                .all(|(new, old)| { new.iter().sum::<i64>() == old.iter().sum::<i64>() })
        );
        let mask: Vec<u8> = (0..100_000u32).map(|n| u8::from(n % 3 == 0)).collect();
        assert!(drawn(Dtype::Bool, &[100_000], &mask, Reach::All).is_none());
        assert_ne!(drawn(Dtype::Bool, &[100_000], &mask, Reach::Masks).unwrap(), mask);
    }

    #[test]
    fn outliers_and_masks_stay_where_they_are() {
        let outliers = floats((0..1000).map(|n| (n as f32).sin() * if n % 10 == 3 { 1000.0 } else { 1.0 }));
        let new = read_floats(&drawn(Dtype::F32, &[100, 10], &outliers, Reach::All).unwrap());
        for (at, (new, old)) in new.iter().zip(read_floats(&outliers)).enumerate() {
            let ratio = new.abs() / old.abs();
            assert!(old == 0.0 || (0.05..=8.0).contains(&ratio), "{old} at {at} became {new}");
        }
        let mask = floats((0..64).map(|n| if n % 8 > n / 8 { f32::NEG_INFINITY } else { 0.0 }));
        assert!(drawn(Dtype::F32, &[8, 8], &mask, Reach::All).is_none());
        assert!(drawn(Dtype::F32, &[8, 8], &mask, Reach::Everything).is_some());
        let slopes = floats((0..64).map(|n| if n % 8 > n / 8 { f32::MIN } else { -0.37 * (n % 8) as f32 - 0.1 }));
        let new = read_floats(&drawn(Dtype::F32, &[8, 8], &slopes, Reach::All).unwrap());
        assert!(new.iter().zip(read_floats(&slopes)).all(|(new, old)| (*new == f32::MIN) == (old == f32::MIN)));
        let counts = floats((0..100).map(|n| (n * 37 % 10) as f32));
        let mut new = read_floats(&drawn(Dtype::F32, &[100], &counts, Reach::All).unwrap());
        new.sort_by(f32::total_cmp);
        assert!(new.iter().enumerate().all(|(at, n)| *n == (at / 10) as f32), "whole numbers change places");
    }

    #[test]
    fn what_is_to_differ_differs_at_one_place() {
        let of = |dtype, bytes: &[u8]| {
            let tensor = TensorRef { storage: 0, layout: Layout::contiguous(dtype, &[8, 8]) };
            let seen = [Seen { tensor: &tensor, held: false, mutated: false }];
            let unit = Unit::of(0, bytes, &seen, Reach::All).unwrap();
            let (mut now, mut chance) = (bytes.to_vec(), Chance::default());
            unit.differ(&mut now, &mut chance);
            now
        };
        let given = floats((0..64).map(|n| (n as f32 * 0.7).sin()));
        let (old, new) = (read_floats(&given), read_floats(&of(Dtype::F32, &given)));
        assert_eq!(old.iter().zip(&new).filter(|(old, new)| old != new).count(), 1);
        let rows = longs((0..64).map(|n| (n * 3 + n / 8) % 8));
        let (old, new) = (read(&rows), read(&of(Dtype::I64, &rows)));
        assert_eq!(old.iter().zip(&new).filter(|(old, new)| old != new).count(), 2);
        assert!(new.chunks(8).all(|row| row.iter().collect::<HashSet<_>>().len() == 8), "{new:?}");
    }

    #[test]
    fn numbers_that_are_nudged_stay_almost_the_same() {
        let given = floats((0..4096).map(|n| (n as f32 * 0.7).sin()));
        let new = read_floats(&drawn(Dtype::F32, &[64, 64], &given, Reach::Nudged).unwrap());
        let far = |(new, old): (&f32, f32)| (new - old).abs() > old.abs() / 30.0;
        assert!(!new.iter().zip(read_floats(&given)).any(far) && new != read_floats(&given));
        assert!(drawn(Dtype::F32, &[64, 64], &given, Reach::Nothing).is_none());
    }

    #[test]
    fn offsets_stay_and_indices_do_not() {
        let of = |values: &[i64]| longs(values.iter().copied());
        assert!(is_sorted(&of(&[0, 3, 3, 9]), Dtype::I64, 4));
        assert!(is_sorted(&of(&[0, 3, 9, 0, 1, 2]), Dtype::I64, 3), "in each row");
        for values in [&[3, 1, 2][..], &[5, 5, 5], &[1, 2]] {
            assert!(!is_sorted(&of(values), Dtype::I64, values.len()), "{values:?}");
        }
    }
}
