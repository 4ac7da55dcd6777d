//! [`Fresh`]: new values for the arguments of a call, made of the captured ones as [`Unit`] has it.
//!
//! Offsets, limits, truth values and masks stay, and so do arguments that are declared constant, and storages that
//! several dtypes share. In a large storage, cells at random places change, among them rows that integers name, or all
//! elements, in the launches of a probe.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::record::{Failure, Values};
use plimsoll_capture::{Argument, Bound, MappedEntry};

use super::super::launcher::{Contents, Patch};
use super::chance::Chance;
use super::change::{Order, Reach, integer};
use super::standing::Standing;
use super::unit::{Seen, Unit};

/// What the other storages do while one changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// They stay as they are.
    Stay,
    /// They differ at one place: a kernel that compares all of them has nothing to keep.
    Differ,
}

/// The bytes of numbers whose last bit is less than what rounding does to a sum of them.
const LONG: usize = 4;

/// The most bytes of large storages in which all elements change at once.
const RENEWED: usize = 16 << 20;

/// Values for the arguments of a call.
#[derive(Clone)]
pub struct Fresh<'a> {
    units: Vec<Unit<'a>>,
    /// The rows that integers of the call name.
    rows: Vec<u64>,
    pub(super) standing: Standing,
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
        let reach = match values {
            Values::All => Reach::All,
            Values::Floats => Reach::Floats,
            Values::Nearby => Reach::Nudged,
            Values::Captured => Reach::Nothing,
        };
        let fresh = Self::within(bound, mapped, constant, mutates, reach)?;
        // Truth values and offsets change if nothing else in the call can.
        if fresh.is_empty() && values == Values::All {
            return Self::within(bound, mapped, constant, mutates, Reach::Everything);
        }
        Ok(fresh)
    }

    fn within(
        bound: &'a Bound,
        mapped: &'a MappedEntry,
        constant: &[String],
        mutates: &[String],
        reach: Reach,
    ) -> Result<Self, Failure> {
        let mut seen: BTreeMap<usize, Vec<Seen<'a>>> = BTreeMap::new();
        for (name, value) in bound.params.iter().zip(&bound.args) {
            let (held, mutated) = (constant.contains(name), mutates.contains(name));
            value.for_each_leaf(&mut String::new(), &mut |_, leaf| {
                if let Argument::Tensor(tensor) = leaf {
                    seen.entry(tensor.storage).or_default().push(Seen { tensor, held, mutated });
                }
            });
        }
        let (mut units, mut rows) = (Vec::new(), Vec::new());
        for (storage, tensors) in seen {
            let bytes = mapped.storage(storage)?;
            let Some(unit) = Unit::of(storage, bytes, &tensors, reach) else { continue };
            if unit.is_placed() && unit.size >= 4 {
                let elements = unit.elements().chunks_exact(unit.size as usize).take(4096);
                rows.extend(elements.map(integer).filter(|&n| n >= 0).map(|n| n as u64));
            }
            units.push(unit);
        }
        Ok(Self { units, rows, standing: Standing::default() })
    }

    /// Gives integers another order from now on; false if there are none.
    pub(super) fn reorder(&mut self, order: Order) -> bool {
        // All of them.
        self.units.iter_mut().fold(false, |any, unit| unit.reorder(order) | any)
    }

    /// Values of the same call in which all elements change places, truth values and zeros included.
    ///
    /// # Errors
    /// A storage cannot be read.
    pub(super) fn mixed(
        bound: &'a Bound,
        mapped: &'a MappedEntry,
        constant: &[String],
        mutates: &[String],
    ) -> Result<Self, Failure> {
        let mut mixed = Self::within(bound, mapped, constant, mutates, Reach::Masks)?;
        mixed.units.iter_mut().for_each(Unit::mix);
        Ok(mixed)
    }

    /// Whether no argument can change.
    pub fn is_empty(&self) -> bool {
        self.changing().next().is_none()
    }

    /// The most bytes that one launch has put in.
    pub fn bytes(&self) -> usize {
        self.units.iter().map(Unit::most).sum::<u64>() as usize
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
        self.drawn(|unit, rows, standing| patches_of(unit, unit.draw(base(unit, standing), rows, chance)))
    }

    /// The large storages in which all elements may change at once, the smallest first.
    pub fn renewing(&self) -> Vec<usize> {
        let mut large: Vec<&Unit<'_>> = self.units.iter().filter(|unit| unit.renews()).collect();
        large.sort_by_key(|unit| unit.elements().len());
        let mut bytes = 0;
        let fits = |unit: &&&Unit<'_>| {
            bytes += unit.elements().len();
            bytes <= RENEWED
        };
        large.iter().take_while(fits).map(|unit| unit.storage).collect()
    }

    /// Draws values for a launch, and puts all contents of these storages there anew: all of them others, or those that
    /// stand there but for some cells. A kernel that reads its arguments alone does not find out which by their memory.
    pub fn draw_whole(&mut self, renewing: &[usize], all_change: bool, chance: &mut Chance) -> Vec<Patch> {
        self.drawn(|unit, rows, standing| {
            let base = base(unit, standing);
            if !renewing.contains(&unit.storage) {
                return patches_of(unit, unit.draw(base, rows, chance));
            }
            if all_change {
                let bytes = unit.all_renewed(chance).into();
                return vec![Patch {
                    storage: unit.storage,
                    at: unit.reach.start,
                    bytes,
                    whole: true,
                    restores: false,
                }];
            }
            let mut now = whole_of(unit, standing);
            let bytes = Arc::make_mut(&mut now.bytes);
            for (at, cell) in unit.draw(base, rows, chance) {
                put_over(bytes, (at - unit.reach.start) as usize, &cell);
            }
            vec![now]
        })
    }

    /// Draws values that are almost the captured ones: a kernel that looks at some of them finds no difference.
    pub fn draw_near(&mut self, chance: &mut Chance) -> Vec<Patch> {
        self.drawn(|unit, rows, standing| patches_of(unit, unit.draw_near(base(unit, standing), rows, chance)))
    }

    /// The storages that can change.
    pub fn changing(&self) -> impl Iterator<Item = usize> {
        self.units.iter().filter(|unit| unit.changes()).map(|unit| unit.storage)
    }

    /// One of the storages that can change, and none of `but` if there are others.
    pub fn one_of(&self, but: &BTreeSet<usize>, chance: &mut Chance) -> usize {
        let mut all: Vec<usize> = self.changing().filter(|storage| !but.contains(storage)).collect();
        if all.is_empty() {
            all.extend(self.changing());
        }
        all[chance.below(all.len())]
    }

    /// Draws values for one storage alone: a kernel that looks at the others finds no difference from the previous launch.
    pub fn draw_alone(&mut self, chosen: usize, others: Others, chance: &mut Chance) -> Vec<Patch> {
        self.drawn(|unit, rows, standing| match unit.storage == chosen {
            true => patches_of(unit, unit.draw(base(unit, standing), rows, chance)),
            false if others == Others::Stay && !unit.always => Vec::new(),
            false if others == Others::Stay => vec![standing_of(unit, standing)],
            false if !unit.changes() => patches_of(unit, vec![(unit.reach.start, unit.elements().to_vec())]),
            false if unit.whole => {
                let mut now = standing_of(unit, standing);
                unit.differ(&mut Arc::make_mut(&mut now.bytes)[..], chance);
                vec![Patch { restores: *now.bytes == unit.elements(), ..now }]
            }
            false => patches_of(unit, vec![unit.draw_cell(base(unit, standing), chance)]),
        })
    }

    fn drawn(&mut self, mut of: impl FnMut(&Unit<'a>, &[u64], &Standing) -> Vec<Patch>) -> Vec<Patch> {
        let patches: Vec<Patch> = self.units.iter().flat_map(|unit| of(unit, &self.rows, &self.standing)).collect();
        patches.iter().for_each(|patch| self.standing.put(patch));
        patches
    }

    /// What is put into a part of a storage that the kernel changes.
    pub fn contents(&self, held: &Contents, standing: &Standing) -> Vec<u8> {
        let Some(unit) = self.units.iter().find(|unit| unit.storage == held.storage) else { return Vec::new() };
        let whole = standing_of(unit, standing);
        let from = held.at.saturating_sub(whole.at) as usize;
        whole.bytes.get(from..from + held.bytes as usize).unwrap_or_default().to_vec()
    }

    /// The bytes of the storages that [`Fresh::shaken`] alters, and whether none of their numbers has four bytes.
    pub fn numbers(&self) -> (usize, bool) {
        let short = self.units.iter().filter_map(Unit::number).all(|bytes| bytes < LONG);
        (self.shaken_units(short).map(|unit| unit.elements().len()).sum(), short)
    }

    fn shaken_units(&self, short: bool) -> impl Iterator<Item = &Unit<'a>> {
        self.units.iter().filter(move |unit| unit.number().is_some_and(|bytes| short || bytes >= LONG))
    }

    /// Values that differ from those of `standing` in the last bit of all numbers: of the longer ones, if there are such.
    pub fn shaken(&self, standing: &Standing, chance: &mut Chance) -> Vec<Patch> {
        let short = self.numbers().1;
        let shaken = self.shaken_units(short).map(|unit| {
            let mut patch = whole_of(unit, standing);
            unit.shake(&mut Arc::make_mut(&mut patch.bytes)[..], chance);
            patch
        });
        shaken.collect()
    }

    /// The patches after which the values of `standing` stand again.
    pub fn unshaken(&self, standing: &Standing) -> Vec<Patch> {
        self.shaken_units(self.numbers().1).map(|unit| whole_of(unit, standing)).collect()
    }

    /// The patches that restore the captured values.
    pub fn captured(&mut self) -> Vec<Patch> {
        let standing = std::mem::take(&mut self.standing);
        self.changes(&standing, &Standing::default())
    }

    /// The patches that change arguments from one set of values to another.
    pub fn changes(&self, from: &Standing, to: &Standing) -> Vec<Patch> {
        let mut patches = Vec::new();
        for unit in &self.units {
            let storage = unit.storage;
            if unit.always || !from.shares(to, storage) {
                patches.push(standing_of(unit, to));
                patches.extend(to.parts_of(storage).cloned());
                continue;
            }
            for part in from.parts_of(storage).filter(|part| !to.parts.contains_key(&(storage, part.at))) {
                let at = (part.at - unit.reach.start) as usize;
                let bytes = base(unit, to)[at..at + part.bytes.len()].to_vec().into();
                patches.push(Patch { bytes, restores: true, ..part.clone() });
            }
            let stands = |part: &&Patch| {
                let before = from.parts.get(&(storage, part.at));
                before.is_some_and(|before| Arc::ptr_eq(&before.bytes, &part.bytes))
            };
            patches.extend(to.parts_of(storage).filter(|part| !stands(part)).cloned());
        }
        patches
    }
}

fn patches_of(unit: &Unit<'_>, contents: Vec<(u64, Vec<u8>)>) -> Vec<Patch> {
    let (storage, whole, restores) = (unit.storage, unit.whole, !unit.changes());
    let patch = |(at, bytes): (u64, Vec<u8>)| Patch { storage, at, bytes: bytes.into(), whole, restores };
    contents.into_iter().map(patch).collect()
}

/// The contents of a storage without the parts that have changed since all of it did.
fn base<'s>(unit: &Unit<'s>, standing: &'s Standing) -> &'s [u8] {
    standing.whole(unit.storage).map_or(unit.elements(), |bytes| bytes)
}

/// All contents of a storage.
fn whole_of(unit: &Unit<'_>, standing: &Standing) -> Patch {
    let mut bytes = base(unit, standing).to_vec();
    for part in standing.parts_of(unit.storage) {
        put_over(&mut bytes, (part.at - unit.reach.start) as usize, &part.bytes);
    }
    Patch { storage: unit.storage, at: unit.reach.start, bytes: bytes.into(), whole: true, restores: false }
}

fn put_over(bytes: &mut [u8], at: usize, new: &[u8]) {
    bytes[at..at + new.len()].copy_from_slice(new);
}

/// What stands in a whole storage, without parts.
fn standing_of(unit: &Unit<'_>, standing: &Standing) -> Patch {
    let captured = || Patch {
        storage: unit.storage,
        at: unit.reach.start,
        bytes: unit.elements().to_vec().into(),
        whole: true,
        restores: true,
    };
    standing.wholes.get(&unit.storage).cloned().unwrap_or_else(captured)
}

#[cfg(test)]
mod tests {
    use plimsoll_capture::{Dtype, Layout, TensorRef};

    use super::*;

    #[test]
    fn what_is_put_back_leaves_nothing_standing() {
        let bytes: Vec<u8> = (0..200_000u32).flat_map(|n| (n as f32).sin().to_le_bytes()).collect();
        let tensor = TensorRef { storage: 0, layout: Layout::contiguous(Dtype::F32, &[200, 1000]) };
        let seen = [Seen { tensor: &tensor, held: false, mutated: false }];
        let unit = Unit::of(0, &bytes, &seen, Reach::All).unwrap();
        let mut fresh = Fresh { units: vec![unit], rows: vec![3], standing: Standing::default() };
        let mut chance = Chance::default();
        let mut memory = bytes.clone();
        let mut put = |patches: &[Patch]| {
            for Patch { at, bytes, .. } in patches {
                put_over(&mut memory, *at as usize, bytes);
            }
            memory.clone()
        };
        for launch in 0..40 {
            let now = put(&match launch % 4 {
                0 => fresh.draw_whole(&[0], launch % 8 == 0, &mut chance),
                1 => fresh.draw_near(&mut chance),
                _ => fresh.draw(&mut chance),
            });
            assert_ne!(now, bytes);
            let mut again = bytes.clone();
            for Patch { at, bytes, .. } in &fresh.changes(&Standing::default(), &fresh.standing()) {
                put_over(&mut again, *at as usize, bytes);
            }
            assert_eq!(again, now, "the witness is given what stands there");
        }
        let (one, mut memory) = (fresh.standing(), put(&[]));
        assert_eq!(put(&fresh.captured()), bytes);
        assert!(fresh.standing().is_captured());
        // From any contents to any others.
        for _ in 0..3 {
            fresh.draw(&mut chance);
        }
        let other = put(&fresh.changes(&Standing::default(), &fresh.standing()));
        for Patch { at, bytes, .. } in &fresh.changes(&one, &fresh.standing()) {
            put_over(&mut memory, *at as usize, bytes);
        }
        assert_eq!(memory, other);
    }
}
