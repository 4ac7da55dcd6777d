//! Reads a launch's outputs from the shared memory where the worker left them.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use plimsoll::capture::MappedFile;
use plimsoll::run::{Launched, Output};
use rustix::fs::FallocateFlags;

use super::early::WORD;
use crate::protocol::Outcome;

/// Up to this size the memory is filled with zeros: to take its pages away would cost more, and the next launch would
/// have to fault them in again.
const SMALL: usize = 64 << 10;

/// The memory that a worker shares for its outputs. It stays mapped from launch to launch, as far as the worker has
/// grown it.
pub struct SharedOutputs {
    file: Arc<File>,
    map: Option<Arc<MappedFile>>,
    /// Whether the worker may say how near other outputs should come to its own.
    gives_tolerances: bool,
    /// Whether the pages stay from launch to launch, which those that hold them look at when they let go.
    stays: Arc<AtomicBool>,
}

impl SharedOutputs {
    /// Outputs in `file`, which is sealed against shrinking.
    pub fn new(file: File) -> Self {
        Self { file: Arc::new(file), map: None, gives_tolerances: false, stays: Arc::default() }
    }

    /// Believes the tolerances that come with outputs: only Plimsoll's own reference gives any.
    pub fn believe_tolerances(&mut self) {
        self.gives_tolerances = true;
    }

    /// Whether what launches leave stays until the worker overwrites it, as it does with the outputs of a region: new pages
    /// take longer than the launches do. The memory is emptied when it need not stay, and nobody holds it any longer.
    pub fn stay(&mut self, stays: bool) {
        self.stays.store(stays, Ordering::Relaxed);
        if let Some(map) = self.map.as_ref().filter(|map| !stays && Arc::strong_count(map) == 1) {
            empty(&self.file, map.len());
        }
    }

    /// The memory as a file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The current words at these offsets; one beyond the end of the memory is zero.
    pub fn words(&self, at: &[usize]) -> Vec<[u8; WORD]> {
        let word = |offset: &usize| {
            let mut word = [0; WORD];
            let read = self.file.read_exact_at(&mut word, *offset as u64);
            read.map_or([0; WORD], |()| word)
        };
        at.iter().map(word).collect()
    }

    /// Checks the claimed places of the leaves, and maps them. `params` are the names of the call.
    ///
    /// # Errors
    /// The part of the worker's answer that is impossible.
    pub fn collect(&mut self, outcome: Outcome, params: &[String]) -> Result<Launched, String> {
        let size = self.file.metadata().map_err(|e| format!("outputs that cannot be read: {e}"))?.len();
        outcome.check(size, params)?;
        let Outcome { elapsed_ns, mut outputs, mutated, device, sources: _ } = outcome;
        if !self.gives_tolerances {
            outputs.iter_mut().for_each(Output::forget_tolerances);
        }
        let map = self.mapped(size)?;
        let memory = OutputMemory { map, file: Arc::clone(&self.file), stays: Arc::clone(&self.stays) };
        Ok(Launched { outputs, memory: Box::new(memory), elapsed: Duration::from_nanos(elapsed_ns), mutated, device })
    }

    /// A map of all `size` bytes.
    fn mapped(&mut self, size: u64) -> Result<Option<Arc<MappedFile>>, String> {
        if self.map.as_ref().map_or(0, |map| map.len() as u64) != size {
            self.map = None;
            let path = PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
            let map = MappedFile::open(&path, 0, size).map_err(|e| format!("outputs that cannot be mapped: {e}"))?;
            self.map = Some(Arc::new(map));
        }
        Ok(self.map.clone())
    }
}

/// The shared memory of one launch. When dropped, it is emptied unless it stays: the next launch finds zeros there, and the
/// pages of large outputs return to the system.
struct OutputMemory {
    map: Option<Arc<MappedFile>>,
    file: Arc<File>,
    stays: Arc<AtomicBool>,
}

/// Empties the first `bytes` bytes. A memfd can always be written and punch holes; if not, the memory goes back with the
/// worker.
fn empty(file: &File, bytes: usize) {
    static ZEROS: [u8; SMALL] = [0; SMALL];
    let _ = match bytes {
        0 => Ok(()),
        bytes @ ..=SMALL => file.write_all_at(&ZEROS[..bytes], 0),
        bytes => {
            let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            rustix::fs::fallocate(file, hole, 0, bytes as u64).map_err(io::Error::from)
        }
    };
}

impl AsRef<[u8]> for OutputMemory {
    fn as_ref(&self) -> &[u8] {
        self.map.as_deref().map_or(&[], |map| map)
    }
}

impl Drop for OutputMemory {
    fn drop(&mut self) {
        if !self.stays.load(Ordering::Relaxed) {
            empty(&self.file, self.as_ref().len());
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{MemfdFlags, memfd_create};

    use super::*;

    #[test]
    fn tolerances_are_believed_of_a_reference_alone() {
        let text = r#"[{"path":"","tensor":{"dtype":"uint8","shape":[1],"offset":0,"bytes":1,"tolerances":{"rtol":1.0,"atol":9.0}}}]"#;
        let outputs: Vec<Output> = serde_json::from_str(text).unwrap();
        let given = |believed: bool| {
            let mut shared = SharedOutputs::new(File::from(memfd_create("outputs", MemfdFlags::CLOEXEC).unwrap()));
            shared.file.set_len(1).unwrap();
            if believed {
                shared.believe_tolerances();
            }
            let outcome = Outcome { outputs: outputs.clone(), ..Outcome::default() };
            shared.collect(outcome, &[]).unwrap().outputs[0].tensor().unwrap().tolerances
        };
        assert_eq!(given(true).map(|tolerances| tolerances.atol.get()), Some(9.0));
        assert_eq!(given(false), None, "a kernel does not say how far it may be off");
    }

    #[test]
    fn what_a_launch_left_is_there_until_it_is_dropped_and_zeros_are_after_it() {
        let file = File::from(memfd_create("outputs", MemfdFlags::CLOEXEC).unwrap());
        let mut shared = SharedOutputs::new(file);
        let mut memory = |bytes: usize| {
            shared.file.set_len(bytes as u64).unwrap();
            shared.file.write_all_at(&vec![7; bytes], 0).unwrap();
            let launched = shared.collect(Outcome::default(), &[]).unwrap();
            let held = (*launched.memory).as_ref().to_vec();
            drop(launched);
            let mut after = vec![1; bytes];
            shared.file.read_exact_at(&mut after, 0).unwrap();
            (held, after)
        };
        for bytes in [0, 1, 1000, SMALL, SMALL + 1, 3 << 20] {
            assert!(memory(bytes) == (vec![7; bytes], vec![0; bytes]), "{bytes}");
        }
        use std::os::unix::fs::MetadataExt;
        shared.stay(true);
        drop(shared.collect(Outcome::default(), &[]).unwrap());
        shared.file.write_all_at(&[7; 2], 0).unwrap();
        drop(shared.collect(Outcome::default(), &[]).unwrap());
        assert_eq!(shared.words(&[0]), [[7, 7, 0, 0, 0, 0, 0, 0]], "it stays");
        let held = shared.collect(Outcome::default(), &[]).unwrap();
        shared.stay(false);
        assert_eq!((*held.memory).as_ref()[..2], [7, 7], "it is held");
        drop(held);
        assert_eq!(shared.words(&[0]), [[0; WORD]], "it need not stay any longer");
        shared.stay(true);
        shared.file.write_all_at(&[7; 2], 0).unwrap();
        shared.stay(false);
        assert_eq!(shared.words(&[0]), [[0; WORD]], "nobody holds it");
        assert!(shared.file.metadata().unwrap().blocks() * 512 <= SMALL as u64, "large outputs return to the system");
    }
}
