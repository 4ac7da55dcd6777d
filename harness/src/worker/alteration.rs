//! [`Alteration`]: other contents for the floating-point arguments of a call, to see whether a kernel's results follow
//! them.
//!
//! Each altered element takes the value of another element of its tensor, so that every value is a captured one.
//! Integers and truth values stay as they are: they may be indices, lengths and masks. A large tensor is altered in a
//! few places, among them the rows that integers of the call name: a lookup may read only those rows.

use std::collections::BTreeSet;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use plimsoll::capture::{Argument, Dtype, DtypeKind, Layout, TensorRef};
use plimsoll::random::SplitMix64;
use rustix::param::page_size;

use super::error::CallError;
use super::rules::{NAMED, PLACES, PLACES_OF_CALL, RUN, WHOLE};
use crate::protocol::{CallMessage, StorageRange};

/// How often elements of a larger tensor are chosen, if their places are on few pages.
const RUNS: usize = 2 * PLACES;

/// Other contents for arguments of a call.
pub struct Alteration(Vec<Altered>);

/// New bytes in a storage.
pub struct Altered {
    pub storage: usize,
    pub at: u64,
    pub bytes: Vec<u8>,
}

impl Alteration {
    /// Unpredictable contents, made from the files of the call.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn of(call: &CallMessage) -> Result<Self, CallError> {
        Self::drawn(call, &mut SplitMix64::new(RandomState::new().hash_one(0)))
    }

    fn drawn(call: &CallMessage, random: &mut SplitMix64) -> Result<Self, CallError> {
        let (mut floats, mut others) = (Vec::new(), Vec::new());
        for value in &call.args {
            value.for_each_leaf(&mut String::new(), &mut |_, leaf| {
                if let Argument::Tensor(tensor) = leaf
                    && let Some(place) = Reached::of(call, tensor)
                {
                    let is_float = matches!(place.dtype().kind(), DtypeKind::Float | DtypeKind::Complex);
                    if is_float { &mut floats } else { &mut others }.push(place);
                }
            });
        }
        // Elements that are also read as integers stay unchanged.
        floats.retain(|place| !others.iter().any(|other| place.overlaps(other)));
        let rows = named(&others, random)?;
        let pages = (PLACES_OF_CALL / floats.len().max(1)).clamp(1, PLACES);
        let mut altered = Vec::new();
        for place in floats.iter().take(PLACES_OF_CALL) {
            place.alter(place.elements(&rows, pages, random), random, &mut altered)?;
        }
        Ok(Self(altered))
    }

    /// Whether nothing can be altered.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bytes to write, by storage.
    pub fn iter(&self) -> impl Iterator<Item = &Altered> {
        self.0.iter()
    }
}

/// Some of the integers of a call.
fn named(tensors: &[Reached<'_>], random: &mut SplitMix64) -> Result<Vec<u64>, CallError> {
    let mut rows = Vec::new();
    for place in tensors.iter().filter(|place| matches!(place.dtype(), Dtype::I32 | Dtype::I64)) {
        let file = place.open()?;
        for _ in 0..NAMED {
            let element = place.element(random.word() % place.numel);
            let mut bytes = [0; 8];
            let size = place.size() as usize;
            place.read(&file, element, &mut bytes[..size])?;
            // A negative value is beyond the rows of every tensor.
            rows.push(u64::from_le_bytes(bytes));
        }
    }
    Ok(rows)
}

/// A tensor that has elements and is inside its storage.
struct Reached<'a> {
    storage: usize,
    range: &'a StorageRange,
    layout: Layout,
    numel: u64,
    reach: Range<u64>,
}

impl<'a> Reached<'a> {
    fn of(call: &'a CallMessage, tensor: &TensorRef) -> Option<Self> {
        let range = call.storages.get(tensor.storage)?;
        let layout = tensor.layout.clone();
        let numel = layout.numel().filter(|&numel| numel > 0 && layout.shape.len() == layout.strides.len())?;
        let reach = layout.reach().filter(|reach| reach.end <= range.bytes)?;
        Some(Self { storage: tensor.storage, range, layout, numel, reach })
    }

    fn dtype(&self) -> Dtype {
        self.layout.dtype
    }

    fn size(&self) -> u64 {
        self.dtype().size()
    }

    /// Whether both ranges share a byte of the file.
    fn overlaps(&self, other: &Self) -> bool {
        let of_file = |place: &Self| place.range.offset + place.reach.start..place.range.offset + place.reach.end;
        let (own, others) = (of_file(self), of_file(other));
        self.range.path == other.range.path && own.start < others.end && others.start < own.end
    }

    /// The offset of element `n` in the storage, in row-major order; in elements.
    fn element(&self, n: u64) -> u64 {
        let (mut at, mut rest) = (self.layout.offset, n);
        for (&size, &stride) in self.layout.shape.iter().zip(&self.layout.strides).rev() {
            at += rest % size * stride;
            rest /= size;
        }
        at
    }

    /// The elements to alter, on `pages` pages or a few more: all, or those of `rows` and of random places.
    fn elements(&self, rows: &[u64], pages: usize, random: &mut SplitMix64) -> Vec<u64> {
        if self.reach.end - self.reach.start <= WHOLE.min(pages as u64 * page_size() as u64) {
            return (0..self.numel).map(|n| self.element(n)).collect();
        }
        let (count, run) = (self.layout.shape[0], RUN.min(self.numel));
        let (row, mut touched, mut elements) = (self.numel / count, BTreeSet::new(), Vec::new());
        let mut begins = Vec::new();
        if row > 1 {
            let of_row = |n: u64, random: &mut SplitMix64| n * row + random.word() % (row - run.min(row) + 1);
            let inside = rows.iter().filter(|&&n| n < count).take(NAMED);
            begins.extend(inside.map(|&n| (of_row(n, random), run.min(row))));
        }
        begins.extend((begins.len()..RUNS).map(|_| (random.word() % (self.numel - run + 1), run)));
        for n in begins.into_iter().flat_map(|(first, run)| first..first + run) {
            if touched.len() >= pages {
                break;
            }
            let element = self.element(n);
            touched.insert((self.range.offset + element * self.size()) / page_size() as u64);
            elements.push(element);
        }
        elements
    }

    /// Gives each of `elements` the value of one of them.
    fn alter(
        &self,
        mut elements: Vec<u64>,
        random: &mut SplitMix64,
        altered: &mut Vec<Altered>,
    ) -> Result<(), CallError> {
        let (file, size) = (self.open()?, self.size() as usize);
        elements.sort_unstable();
        elements.dedup();
        let mut runs: Vec<Range<u64>> = Vec::new();
        for &element in &elements {
            match runs.last_mut() {
                Some(run) if run.end == element => run.end += 1,
                _ => runs.push(element..element + 1),
            }
        }
        let mut values = vec![0; elements.len() * size];
        let mut rest = values.as_mut_slice();
        for run in &runs {
            let (own, after) = rest.split_at_mut((run.end - run.start) as usize * size);
            self.read(&file, run.start, own)?;
            rest = after;
        }
        for run in runs {
            let drawn = (run.start..run.end).flat_map(|_| {
                let from = random.below(elements.len()) * size;
                &values[from..from + size]
            });
            let bytes = drawn.copied().collect();
            altered.push(Altered { storage: self.storage, at: run.start * self.size(), bytes });
        }
        Ok(())
    }

    fn open(&self) -> Result<File, CallError> {
        File::open(&self.range.path).map_err(|source| self.unreadable(source))
    }

    /// Reads from `element` on.
    fn read(&self, file: &File, element: u64, bytes: &mut [u8]) -> Result<(), CallError> {
        let at = self.range.offset + element * self.size();
        file.read_exact_at(bytes, at).map_err(|source| self.unreadable(source))
    }

    fn unreadable(&self, source: io::Error) -> CallError {
        CallError::unreadable(&self.range.path, source)
    }
}

#[cfg(test)]
mod tests;
