//! [`Resident`]: the storages of calls on the device, and whether a kernel has changed them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::rc::Rc;

use plimsoll::capture::Argument;
use plimsoll::gpu::{DeviceMemory, Gpu, GpuError, Ring, TransferError, same};
use plimsoll::kernel::DeviceRange;

use crate::protocol::{CallMessage, StorageRange};
use crate::worker::error::CallError;
use crate::worker::private::MapError;
use crate::worker::rules::ROUNDS;

/// Storages and outputs begin at multiples of this many bytes, as those of the driver do.
const ALIGNMENT: u64 = 256;
/// How far a storage is moved to be at another address.
const STEP: u64 = 512;
/// The room for such moves: enough that no launch of a trial, of which two of each round are elsewhere, finds a storage
/// where another launch did.
pub const SLACK: u64 = STEP * (2 * ROUNDS + 1).next_power_of_two();

/// A range of bytes in the memory of the device.
#[derive(Clone, Debug)]
pub struct Home {
    pub memory: Rc<DeviceMemory>,
    pub at: u64,
    pub bytes: u64,
}

impl Home {
    /// The bytes as a kernel is given them.
    pub fn range(&self) -> DeviceRange {
        DeviceRange { address: self.memory.address() + self.at, bytes: self.bytes }
    }

    /// A home of the same bytes, `step` steps further on within the memory around it.
    pub fn moved(&self, step: u64) -> Self {
        Self { at: (self.at + step * STEP) % SLACK, ..self.clone() }
    }
}

/// One piece of memory that is divided into homes, again and again from its start.
#[derive(Default)]
pub struct Arena {
    memory: Option<Rc<DeviceMemory>>,
}

impl Arena {
    /// Homes of these sizes, one after the other. Earlier homes are no longer used.
    pub fn cut(&mut self, gpu: &Rc<Gpu>, sizes: impl Iterator<Item = u64>) -> Result<Vec<Home>, GpuError> {
        let mut total = 0u64;
        let places: Vec<(u64, u64)> = sizes
            .map(|bytes| {
                let at = total.next_multiple_of(ALIGNMENT);
                total = at.saturating_add(bytes);
                (at, bytes)
            })
            .collect();
        if self.memory.as_ref().is_none_or(|memory| memory.bytes() < total) {
            // Both together may be more than the device has.
            self.memory = None;
            self.memory = Some(Rc::new(gpu.allocate(total)?));
        }
        let memory = self.memory.as_ref().expect("allocated above");
        Ok(places.into_iter().map(|(at, bytes)| Home { memory: Rc::clone(memory), at, bytes }).collect())
    }

    /// Releases the memory.
    pub fn clear(&mut self) {
        self.memory = None;
    }
}

/// The storages of the calls of a batch, each once.
#[derive(Default)]
pub struct Resident {
    homes: BTreeMap<(PathBuf, u64, u64), Home>,
}

fn key(storage: &StorageRange) -> (PathBuf, u64, u64) {
    (storage.path.clone(), storage.offset, storage.bytes)
}

impl Resident {
    /// The homes of the storages that the arguments of `call` reach, uploaded if necessary.
    pub fn homes(
        &mut self,
        gpu: &Rc<Gpu>,
        ring: &mut Ring,
        call: &CallMessage,
    ) -> Result<Vec<Option<Home>>, CallError> {
        let mut homes = Vec::with_capacity(call.storages.len());
        for (storage, reached) in call.storages.iter().zip(reached(call)) {
            if !reached {
                homes.push(None);
                continue;
            }
            let known = self.homes.get(&key(storage)).cloned();
            let home = match known {
                Some(home) => home,
                None => {
                    let memory = Rc::new(gpu.allocate(storage.bytes.saturating_add(SLACK))?);
                    let home = Home { memory, at: 0, bytes: storage.bytes };
                    upload(ring, storage, &home)?;
                    self.homes.insert(key(storage), home.clone());
                    home
                }
            };
            homes.push(Some(home));
        }
        Ok(homes)
    }

    /// Copies the storages of `call` from their files to the addresses `step` steps from `homes`.
    pub fn place(
        &mut self,
        ring: &mut Ring,
        call: &CallMessage,
        homes: &[Option<Home>],
        step: u64,
    ) -> Result<Vec<Option<Home>>, CallError> {
        let mut placed = Vec::with_capacity(homes.len());
        for (storage, home) in call.storages.iter().zip(homes) {
            let Some(home) = home else {
                placed.push(None);
                continue;
            };
            let home = home.moved(step);
            upload(ring, storage, &home)?;
            self.homes.insert(key(storage), home.clone());
            placed.push(Some(home));
        }
        Ok(placed)
    }
}

/// The storages of a call that its arguments reach: an entry also contains its expected output.
pub fn reached(call: &CallMessage) -> Vec<bool> {
    let mut reached = vec![false; call.storages.len()];
    for value in &call.args {
        value.for_each_leaf(&mut String::new(), &mut |_, leaf| {
            if let Argument::Tensor(tensor) = leaf
                && let Some(reached) = reached.get_mut(tensor.storage)
            {
                *reached = true;
            }
        });
    }
    reached
}

/// Opens the file of a storage, which must hold all of it.
pub fn open(storage: &StorageRange) -> Result<File, CallError> {
    let path = &storage.path;
    let failed = |source| CallError::unreadable(path, source);
    let file = File::open(path).map_err(failed)?;
    let (size, end) = (file.metadata().map_err(failed)?.len(), storage.offset.saturating_add(storage.bytes));
    if size < end { Err(MapError::Short { path: path.clone(), size, end }.into()) } else { Ok(file) }
}

/// Reads the storage from `file`, starting at an offset in the storage.
fn reader<'a>(file: &'a File, storage: &'a StorageRange) -> impl Fn(u64, &mut [u8]) -> io::Result<()> + Sync + 'a {
    move |at, bytes| file.read_exact_at(bytes, storage.offset + at)
}

/// Copies bytes to a home, from `at` on.
pub fn upload_bytes(ring: &mut Ring, bytes: &[u8], home: &Home, at: u64) -> Result<(), CallError> {
    let read = |offset: u64, part: &mut [u8]| {
        part.copy_from_slice(&bytes[offset as usize..offset as usize + part.len()]);
        Ok(())
    };
    ring.upload(&read, bytes.len() as u64, &home.memory, home.at + at).map_err(|error| match error {
        TransferError::Read(source) => unreachable!("bytes in memory are read: {source}"),
        TransferError::Gpu(error) => error.into(),
    })
}

/// Copies a storage to its home.
pub fn upload(ring: &mut Ring, storage: &StorageRange, home: &Home) -> Result<(), CallError> {
    let file = open(storage)?;
    ring.upload(&reader(&file, storage), storage.bytes, &home.memory, home.at).map_err(|error| match error {
        TransferError::Read(source) => CallError::unreadable(&storage.path, source),
        TransferError::Gpu(error) => error.into(),
    })?;
    if home.memory.gpu().facts().unified {
        // Memory would hold the storage twice. Keeping it in the cache costs a program that wants the cache more than
        // this.
        let length = std::num::NonZeroU64::new(storage.bytes);
        let _ = rustix::fs::fadvise(&file, storage.offset, length, rustix::fs::Advice::DontNeed);
    }
    Ok(())
}

/// Whether each storage of the call still equals its file.
pub fn changed(ring: &mut Ring, call: &CallMessage, homes: &[Option<Home>]) -> Result<Vec<bool>, CallError> {
    let mut changed = vec![false; call.storages.len()];
    for ((storage, home), changed) in call.storages.iter().zip(homes).zip(&mut changed) {
        let Some(home) = home else { continue };
        let file = open(storage)?;
        let read = reader(&file, storage);
        ring.download(&home.memory, home.at, home.bytes, &mut |at, bytes| {
            if !*changed {
                *changed = !same(&read, at, bytes).map_err(|source| CallError::unreadable(&storage.path, source))?;
            }
            Ok::<_, CallError>(())
        })?;
    }
    Ok(changed)
}
