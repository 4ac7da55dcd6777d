//! [`Checksums`]: checks captured outputs against the CRC-32s of their files, using the compared bytes.

use plimsoll_capture::{CaptureError, Entry, MappedEntry, StoragePlace, TensorRef, TensorView};

/// A storage that is not covered by one tensor is read for its CRC-32 if it has at most this many times the tensor's
/// bytes.
const MOST_BESIDE: u64 = 4;

/// Checks the storages under captured outputs, each once.
pub(super) struct Checksums<'a> {
    entry: &'a Entry,
    mapped: &'a MappedEntry,
    checked: Vec<usize>,
}

/// The CRC-32 of a tensor that is its whole storage, computed during the comparison.
pub(super) struct Running<'a> {
    bytes: &'a [u8],
    hasher: crc32fast::Hasher,
    done: u64,
}

impl Running<'_> {
    /// Adds the next compared bytes, while they are in the processor's cache.
    pub fn add(&mut self, range: &std::ops::Range<u64>) {
        self.hasher.update(&self.bytes[range.start as usize..range.end as usize]);
        self.done = range.end;
    }
}

impl<'a> Checksums<'a> {
    pub fn new(entry: &'a Entry, mapped: &'a MappedEntry) -> Self {
        Self { entry, mapped, checked: Vec::new() }
    }

    /// The consumer of a tensor's bytes during the comparison. `None` if the tensor is not its whole storage, or needs
    /// no check: the file has no CRC-32 of the storage, or decoding checks it.
    pub fn begin<'v>(&self, tensor: &TensorRef, view: &TensorView<'v>) -> Option<Running<'v>> {
        let bytes = view.as_contiguous().filter(|bytes| bytes.len() == view.storage().len())?;
        let hasher = crc32fast::Hasher::new();
        self.is_due(tensor.storage).then_some(Running { bytes, hasher, done: 0 })
    }

    /// Checks the storage of a tensor that was compared.
    ///
    /// # Errors
    /// [`ArchiveError::Crc`](plimsoll_capture::ArchiveError::Crc) if the bytes differ from the captured ones.
    pub fn end(&mut self, tensor: &TensorRef, running: Option<Running<'_>>) -> Result<(), CaptureError> {
        let index = tensor.storage;
        match running {
            Some(running) if running.done == running.bytes.len() as u64 => {
                self.mapped.check_crc(index, running.hasher.finalize())?;
            }
            // The comparison stopped early: shapes or dtypes differ, so the tensor fails anyway.
            Some(_) => return Ok(()),
            None if self.is_due(index) && self.is_small_beside(tensor) => self.mapped.verify_storage(index)?,
            None => return Ok(()),
        }
        self.checked.push(index);
        Ok(())
    }

    fn is_due(&self, index: usize) -> bool {
        let storage = &self.entry.storages()[index];
        let in_file = matches!(storage.place(), StoragePlace::File { .. });
        in_file && storage.crc32().is_some() && !self.checked.contains(&index)
    }

    /// Whether reading the storage of a tensor costs at most a few times as much as comparing the tensor.
    fn is_small_beside(&self, tensor: &TensorRef) -> bool {
        let bytes = tensor.layout.logical_bytes().unwrap_or(0);
        self.entry.storages()[tensor.storage].bytes().bytes() <= bytes.saturating_mul(MOST_BESIDE)
    }
}
