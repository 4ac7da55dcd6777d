//! Reads a launch's outputs from the shared memory where the worker left them.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::time::Duration;

use plimsoll::capture::MappedFile;
use plimsoll::run::Launched;
use rustix::fs::FallocateFlags;

use crate::protocol::Outcome;

/// The shared memory of one launch. When dropped, its pages return to the system, and the next launch finds zeros
/// there.
struct OutputMemory {
    map: Option<MappedFile>,
    file: File,
    bytes: u64,
}

impl AsRef<[u8]> for OutputMemory {
    fn as_ref(&self) -> &[u8] {
        self.map.as_deref().unwrap_or_default()
    }
}

impl Drop for OutputMemory {
    fn drop(&mut self) {
        self.map = None;
        if self.bytes > 0 {
            let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            // A memfd can always punch holes; if not, the memory goes back with the worker.
            let _ = rustix::fs::fallocate(&self.file, hole, 0, self.bytes);
        }
    }
}

/// Checks the claimed places of the leaves, and maps them. `params` are the names of the call.
///
/// # Errors
/// The part of the worker's answer that is impossible.
pub fn collect(memory: &File, outcome: Outcome, params: &[String]) -> Result<Launched, String> {
    let size = memory.metadata().map_err(|e| format!("outputs that cannot be read: {e}"))?.len();
    outcome.check(size, params)?;
    let Outcome { elapsed_ns, outputs, mutated, device, sources: _ } = outcome;
    let map = (size > 0).then(|| {
        let path = PathBuf::from(format!("/proc/self/fd/{}", memory.as_raw_fd()));
        MappedFile::open(&path, 0, size).map_err(|e| format!("outputs that cannot be mapped: {e}"))
    });
    let file = memory.try_clone().map_err(|e| format!("outputs that cannot be kept: {e}"))?;
    let memory = OutputMemory { map: map.transpose()?, file, bytes: size };
    Ok(Launched { outputs, memory: Box::new(memory), elapsed: Duration::from_nanos(elapsed_ns), mutated, device })
}
