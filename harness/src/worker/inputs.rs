//! [`Inputs`]: the arguments of a call, their storages mapped from files.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plimsoll::capture::{Argument, MappedFile};
use plimsoll::kernel::{Call, looked_up};

use super::alteration::{Alteration, Altered};
use super::error::CallError;
use super::private::{Arena, PrivateMap};
use crate::protocol::{CallMessage, StorageRange};

/// A table of at most this many bytes is read from the disk as a whole.
const SMALL_TABLE: u64 = 256 << 10;
/// Files of at most this many bytes are read from the disk by the first look at them.
const SMALL_FILE: usize = 64 << 10;

/// The files of the calls of a batch, each mapped once, from its first storage to its last: a call may have more
/// storages than a process may have maps, and calls that share a storage of a store share its pages.
pub struct Files<'a> {
    /// By path, which is compared as bytes: comparing the components of paths takes longer than mapping a file.
    ranges: BTreeMap<&'a OsStr, Range<u64>>,
    mapped: BTreeMap<&'a OsStr, (u64, Arc<MappedFile>)>,
}

impl<'a> Files<'a> {
    /// The inputs of `calls`; none is mapped yet.
    pub fn of(calls: &'a [CallMessage]) -> Self {
        let ranges = ranges(calls.iter().flat_map(|call| &call.storages)).into_iter();
        let ranges = ranges.map(|(path, range)| (path.as_os_str(), range)).collect();
        Self { ranges, mapped: BTreeMap::new() }
    }

    /// A map that holds `range` of the file at `path`, and the offset of the map in the file.
    fn map(&mut self, path: &'a Path, range: &Range<u64>) -> Result<(u64, Arc<MappedFile>), CallError> {
        if let Some((start, map)) = self.mapped.get(path.as_os_str()) {
            return Ok((*start, Arc::clone(map)));
        }
        let open = |range: &Range<u64>| MappedFile::open_apart(path, range.start, range.end - range.start);
        // If a part of the file that another call needs is missing, this call may still have what it needs.
        let Some((start, map)) = self.ranges.get(path.as_os_str()).and_then(|all| Some((all.start, open(all).ok()?)))
        else {
            return Ok((range.start, Arc::new(open(range)?)));
        };
        let map = Arc::new(map);
        self.mapped.insert(path.as_os_str(), (start, Arc::clone(&map)));
        Ok((start, map))
    }
}

/// The range of storages in each file, from the first to the last, in the order in which files first appear.
fn ranges<'a>(storages: impl Iterator<Item = &'a StorageRange>) -> Vec<(&'a Path, Range<u64>)> {
    let mut order: Vec<(&Path, Range<u64>)> = Vec::new();
    let mut places: BTreeMap<&OsStr, usize> = BTreeMap::new();
    for StorageRange { path, offset, bytes } in storages {
        let end = offset.saturating_add(*bytes);
        let at = *places.entry(path.as_os_str()).or_insert_with(|| {
            order.push((path, *offset..end));
            order.len() - 1
        });
        let range = &mut order[at].1;
        *range = range.start.min(*offset)..range.end.max(end);
    }
    order
}

/// A file of a call in memory.
enum Map {
    /// For kernels of this build, which only read.
    Shared(Arc<MappedFile>),
    /// For all others.
    Private(PrivateMap),
}

impl Deref for Map {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Shared(map) => map,
            Self::Private(map) => map,
        }
    }
}

/// The inputs of a call, mapped.
pub struct Inputs {
    files: Vec<(PathBuf, u64, Map)>,
    args: Vec<Argument>,
}

impl Inputs {
    /// Mapped read-only, together with those of other calls.
    pub fn shared<'a>(call: &'a CallMessage, files: &mut Files<'a>) -> Result<Self, CallError> {
        Self::mapped(call, |path, range| {
            let (start, map) = files.map(path, &range)?;
            Ok((start, Map::Shared(map)))
        })
    }

    /// Mapped for a kernel that may write to them, in `arena` or anywhere.
    pub fn private(call: &CallMessage, mut arena: Option<&mut Arena>) -> Result<Self, CallError> {
        if let Some(arena) = &mut arena {
            let bytes = ranges(call.storages.iter()).into_iter().map(|(_, range)| range.end - range.start);
            arena.begin(bytes).map_err(CallError::Addresses)?;
        }
        Self::mapped(call, |path, range| {
            let start = range.start;
            Ok((start, Map::Private(PrivateMap::open(path, range, arena.as_deref_mut())?)))
        })
    }

    fn mapped<'a>(
        call: &'a CallMessage,
        mut map: impl FnMut(&'a Path, Range<u64>) -> Result<(u64, Map), CallError>,
    ) -> Result<Self, CallError> {
        let mut files = Vec::new();
        for (path, range) in ranges(call.storages.iter()) {
            // An empty range has no place in the file, and cannot be mapped.
            if range.start < range.end {
                let (start, map) = map(path, range)?;
                files.push((path.to_owned(), start, map));
            }
        }
        Ok(Self { files, args: call.args.clone() })
    }

    /// The map that holds a storage, and the storage's offset in it; `None` for an empty storage.
    fn place(&self, storage: &StorageRange) -> Option<(&Map, Range<usize>)> {
        let (_, start, map) = self.files.iter().find(|(path, ..)| *path == storage.path)?;
        let from = (storage.offset - start) as usize;
        Some((map, from..from + storage.bytes as usize))
    }

    /// Gives arguments other contents in place. Kernels of this build do not need this.
    pub fn alter(&mut self, call: &CallMessage, alteration: &Alteration) {
        for Altered { storage, at, bytes } in alteration.iter() {
            let range = &call.storages[*storage];
            let file = self.files.iter_mut().find(|(path, ..)| *path == range.path);
            if let Some((_, start, Map::Private(map))) = file {
                map.write((range.offset - *start + at) as usize, bytes);
            }
        }
    }

    /// Copies `bytes` bytes of a file to `at` of a storage in place, between two launches of a bound call.
    ///
    /// # Errors
    /// [`CallError::Unwritable`], or the file cannot be read.
    pub fn put(&self, storage: &StorageRange, at: u64, from: (&File, u64), bytes: u64) -> Result<(), CallError> {
        match self.place(storage) {
            Some((Map::Private(map), place)) if at.checked_add(bytes).is_some_and(|end| end <= place.len() as u64) => {
                let done = map.read_where_it_lies(place.start + at as usize, from, bytes as usize);
                done.map_err(|source| match rustix::io::Errno::from_io_error(&source) {
                    Some(rustix::io::Errno::FAULT) => CallError::Unwritable,
                    _ => CallError::Outputs { bytes: bytes as usize, source },
                })
            }
            _ => Ok(()),
        }
    }

    /// Whether a storage holds `bytes` at `at`.
    pub fn holds(&self, storage: &StorageRange, at: u64, bytes: &[u8]) -> bool {
        self.place(storage).is_none_or(|(map, place)| {
            let from = place.start + at as usize;
            map.get(from..from + bytes.len()) == Some(bytes)
        })
    }

    /// Restores the file's contents at `range` of a storage.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn put_back(&self, storage: &StorageRange, range: Range<u64>) -> Result<(), CallError> {
        if let Some((Map::Private(map), place)) = self.place(storage) {
            let range = place.start + range.start as usize..place.start + (range.end as usize).min(place.len());
            map.put_back(range).map_err(|source| CallError::unreadable(&storage.path, source))?;
        }
        Ok(())
    }

    /// Restores the captured contents of every argument and makes nothing of them resident; the addresses stay.
    ///
    /// # Errors
    /// The system refused.
    pub fn restore(&mut self) -> Result<(), CallError> {
        self.files.iter_mut().try_for_each(|(path, _, map)| match map {
            Map::Shared(_) => Ok(()),
            Map::Private(map) => map.restore().map_err(|source| CallError::unreadable(path, source)),
        })
    }

    /// Reads the rows that a call looks up from the disk at once, and a small table as a whole: every row is a system
    /// call.
    fn read_ahead(&self, call: &CallMessage, bound: &Call<'_>) {
        let mut asked_for = vec![false; call.storages.len()];
        looked_up(bound, &mut |storage, row| {
            if std::mem::replace(&mut asked_for[storage], call.storages[storage].bytes <= SMALL_TABLE) {
                return;
            }
            let Some((map, place)) = self.place(&call.storages[storage]) else { return };
            if map.len() <= SMALL_FILE {
                return;
            }
            let range = if asked_for[storage] { place } else { place.start + row.start..place.start + row.end };
            match map {
                Map::Shared(map) => map.read_ahead(range),
                Map::Private(map) => map.read_ahead(range),
            }
        });
    }

    /// Runs `work` on the call while its looked-up rows are read from the disk; inputs that shrank meanwhile outweigh
    /// the kernel's own error.
    pub fn with<T>(
        &self,
        call: &CallMessage,
        work: impl FnOnce(&Call<'_>) -> Result<T, CallError>,
    ) -> Result<T, CallError> {
        let bytes = |storage| self.place(storage).map_or(&[][..], |(map, place)| &map[place]);
        let storages: Vec<&[u8]> = call.storages.iter().map(bytes).collect();
        let bound = Call { params: &call.params, args: &self.args, storages: &storages, outputs: &call.outputs };
        self.read_ahead(call, &bound);
        let result = work(&bound);
        for (_, _, map) in &self.files {
            if let Map::Shared(map) = map {
                map.intact()?;
            }
        }
        result
    }

    /// The names of the arguments whose bytes the kernel has changed.
    ///
    /// # Errors
    /// [`CallError::OutOfBounds`] if it has written beside them all.
    pub fn mutated(&self, call: &CallMessage) -> Result<Vec<String>, CallError> {
        let mut changed = vec![false; call.storages.len()];
        for (path, _, map) in &self.files {
            let Map::Private(map) = map else { continue };
            for range in map.changed().map_err(|source| CallError::unreadable(path, source))? {
                let mut inside = false;
                for (index, storage) in call.storages.iter().enumerate() {
                    let overlaps = storage.offset < range.end && range.start < storage.offset + storage.bytes;
                    changed[index] |= overlaps && storage.path == *path;
                    inside |= overlaps && storage.path == *path;
                }
                if !inside {
                    return Err(self.beside(call, path, range));
                }
            }
        }
        Ok(touching(&call.params, &self.args, &changed))
    }

    /// The error of a kernel that wrote to `range` of a file, outside the storages of its arguments.
    fn beside(&self, call: &CallMessage, path: &Path, range: Range<u64>) -> CallError {
        let distance = |storage: &StorageRange| match range.start.checked_sub(storage.offset + storage.bytes) {
            Some(after) => (after, "after"),
            None => (storage.offset.saturating_sub(range.end), "before"),
        };
        let of_file =
            call.storages.iter().enumerate().filter(|(_, storage)| storage.path == *path && storage.bytes > 0);
        let nearest = of_file.map(|(index, storage)| (distance(storage), index)).min();
        let ((distance, side), index) = nearest.unwrap_or(((0, "beside"), usize::MAX));
        let storages: Vec<bool> = (0..call.storages.len()).map(|storage| storage == index).collect();
        let name = touching(&call.params, &self.args, &storages).join("`, `");
        CallError::OutOfBounds { bytes: range.end - range.start, distance, side, name }
    }
}

/// The names of the arguments with a tensor in a `changed` storage.
pub fn touching(params: &[String], args: &[Argument], changed: &[bool]) -> Vec<String> {
    let touches = |argument: &Argument| {
        let mut found = false;
        argument.for_each_leaf(&mut String::new(), &mut |_, leaf| {
            found |= matches!(leaf, Argument::Tensor(tensor) if changed.get(tensor.storage) == Some(&true));
        });
        found
    };
    let named = params.iter().zip(args);
    named.filter(|(_, argument)| touches(argument)).map(|(name, _)| name.clone()).collect()
}
