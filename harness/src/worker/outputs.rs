//! [`Outputs`]: the shared memory that a launch fills.

use std::fs::File;
use std::io;

use memmap2::{MmapMut, UncheckedAdvice};
use plimsoll::kernel::{Elements, Given, GivenValue, OutputBuffer};
use plimsoll::run::{Output, OutputValue, Placed, Placement};

use super::error::CallError;

/// The most parts that are copied at once.
const PARTS: usize = 512;

/// Copies the elements of a tensor to its place, which has the same length.
pub type Copying<'a> = dyn FnMut(Elements<'_>, &mut [u8]) -> Result<(), CallError> + 'a;

/// The shared memory for outputs, mapped as far as needed.
pub struct Outputs {
    file: File,
    map: Option<MmapMut>,
    /// A second mapping of the memory, at other addresses.
    elsewhere: Option<MmapMut>,
}

impl Outputs {
    /// Opens the descriptor that the supervisor passed in.
    pub fn new(file: File) -> Self {
        Self { file, map: None, elsewhere: None }
    }

    /// The first `bytes` bytes.
    ///
    /// # Errors
    /// The memory cannot be allocated.
    pub fn memory(&mut self, bytes: usize) -> io::Result<&mut [u8]> {
        if self.map.as_ref().is_none_or(|map| map.len() < bytes) && bytes > 0 {
            self.map = None;
            if self.file.metadata()?.len() < bytes as u64 {
                self.file.set_len(bytes as u64)?;
            }
            // SAFETY: the memfd is sealed against shrinking, so that the map stays backed; it is shared with the supervisor
            // alone, which reads it only between a launch's answer and the next request.
            self.map = Some(unsafe { MmapMut::map_mut(&self.file) }?);
        }
        Ok(self.map.as_deref_mut().map_or(&mut [], |map| &mut map[..bytes]))
    }

    /// Copies parts of memory to byte `at` and after, one after the other. The system reads them: memory that a kernel has
    /// made unreadable, to compute when it is read, gives an error instead.
    ///
    /// # Errors
    /// [`CallError::Unreadable`], or the memory cannot be allocated.
    pub fn put(&self, at: usize, parts: &[io::IoSlice<'_>]) -> Result<(), CallError> {
        let bytes = parts.iter().map(|part| part.len()).sum();
        let failed = |error| match error {
            rustix::io::Errno::FAULT => CallError::Unreadable,
            error => CallError::Outputs { bytes, source: error.into() },
        };
        let mut end = at;
        for parts in parts.chunks(PARTS) {
            let all: usize = parts.iter().map(|part| part.len()).sum();
            let mut done = rustix::io::pwritev(&self.file, parts, end as u64).map_err(failed)?;
            // Much is written in several steps, and what is unreadable is found by the next one.
            while done < all {
                let [rest] = parts else { return Err(CallError::Unreadable) };
                done += rustix::io::pwrite(&self.file, &rest[done..], (end + done) as u64).map_err(failed)?;
            }
            end += all;
        }
        Ok(())
    }

    /// Copies from byte `at` and after, as the values of launches are copied.
    ///
    /// # Errors
    /// The system's.
    pub fn get(&self, at: usize, to: &mut [u8]) -> Result<(), CallError> {
        let bytes = to.len();
        let read = rustix::io::pread(&self.file, to, at as u64);
        read.map(drop).map_err(|error| CallError::Outputs { bytes, source: error.into() })
    }

    /// The memory for the outputs of a call.
    ///
    /// # Errors
    /// [`CallError::Outputs`].
    pub fn of_call(&mut self, bytes: usize) -> Result<&mut [u8], CallError> {
        self.memory(bytes).map_err(|source| CallError::Outputs { bytes, source })
    }

    /// Whether the first `bytes` bytes hold anything but the fill that outputs have before a launch.
    pub fn is_written(&mut self, bytes: usize) -> bool {
        self.memory(bytes).is_ok_and(|memory| memory.iter().any(|&byte| byte != OutputBuffer::POISON))
    }

    /// Runs `work` on the first `bytes` bytes, at addresses other than those of [`Outputs::memory`].
    ///
    /// # Errors
    /// [`CallError::Outputs`], or the error of `work`.
    pub fn elsewhere<T>(
        &mut self,
        bytes: usize,
        work: impl FnOnce(&mut [u8]) -> Result<T, CallError>,
    ) -> Result<T, CallError> {
        let failed = |source| CallError::Outputs { bytes, source };
        self.of_call(bytes)?;
        if self.elsewhere.as_ref().is_none_or(|map| map.len() < bytes) && bytes > 0 {
            self.elsewhere = None;
            // SAFETY: as in `memory`; nothing reads the one map while the other is written.
            self.elsewhere = Some(unsafe { MmapMut::map_mut(&self.file) }.map_err(failed)?);
        }
        let Some(map) = &mut self.elsewhere else { return work(&mut []) };
        let given = work(&mut map[..bytes]);
        // Pages that both maps hold count twice. SAFETY: they are the file's, and stay what they are; a map that a late write of
        // the kernel may reach is not unmapped.
        unsafe { map.unchecked_advise(UncheckedAdvice::DontNeed) }.map_err(failed)?;
        given
    }

    /// Keeps the results of an operator: `copy` copies the elements of each tensor to their place. Returns the leaves,
    /// and their total size in bytes.
    ///
    /// # Errors
    /// The error of `copy`, or the memory cannot be allocated.
    pub fn keep(&mut self, given: Vec<Given<'_>>, copy: &mut Copying<'_>) -> Result<(Vec<Output>, usize), CallError> {
        self.keep_from(0, given, copy)
    }

    /// As [`Outputs::keep`], from byte `start` on, which is a multiple of [`OUTPUT_ALIGNMENT`](plimsoll::run::OUTPUT_ALIGNMENT).
    ///
    /// # Errors
    /// As [`Outputs::keep`].
    pub fn keep_from(
        &mut self,
        start: usize,
        given: Vec<Given<'_>>,
        copy: &mut Copying<'_>,
    ) -> Result<(Vec<Output>, usize), CallError> {
        let tensors = given.iter().filter_map(|leaf| match &leaf.value {
            GivenValue::Tensor { spec, .. } => Some(spec.clone()),
            GivenValue::Value(_) => None,
        });
        let placement = Placement::of(&tensors.collect::<Vec<_>>(), &[])?;
        let memory = &mut self.of_call(start + placement.bytes)?[start..];
        let mut places = placement.outputs.into_iter();
        let leaves = given.into_iter().map(|leaf| {
            let value = match leaf.value {
                GivenValue::Tensor { elements, .. } => {
                    let placed = places.next().expect("a place was made for each tensor");
                    copy(elements, &mut memory[placed.range()])?;
                    OutputValue::Tensor(Placed { offset: start + placed.offset, ..placed })
                }
                GivenValue::Value(value) => OutputValue::Value(value),
            };
            Ok(Output { path: leaf.path, value })
        });
        Ok((leaves.collect::<Result<_, CallError>>()?, placement.bytes))
    }
}
