//! Memory that a worker holds without mapping it, so that no resident set counts it: memfds, and files of its own
//! `/dev/shm`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use plimsoll::ByteSize;
use plimsoll::meter::{ProcessMemory, process_tree};

/// The prefix of memfds in the system's file names.
const MEMFD: &[u8] = b"/memfd:";

/// The identity of a file.
pub type FileId = (u64, u64);

/// Memory that the worker and its descendants hold without mapping it. `own` are files of the supervisor, which do not
/// count; `own_memory` is whether the worker has its own `/dev/shm`.
pub fn hidden(worker: u32, own: &[FileId], own_memory: bool) -> ByteSize {
    let (mut files, mut mapped) = (BTreeMap::new(), 0);
    for process in process_tree(worker).unwrap_or_default() {
        // A process that has ended holds nothing.
        for descriptor in fs::read_dir(format!("/proc/{}/fd", process.pid)).into_iter().flatten().flatten() {
            let path = descriptor.path();
            let is_memfd =
                fs::read_link(&path).is_ok_and(|file| file.as_os_str().as_encoded_bytes().starts_with(MEMFD));
            if let (true, Ok(facts)) = (is_memfd, fs::metadata(&path)) {
                files.insert((facts.dev(), facts.ino()), facts.blocks().saturating_mul(512));
            }
        }
        let memory = ProcessMemory::read(process.pid).ok();
        mapped += memory.and_then(|memory| memory.shmem).map_or(0, ByteSize::bytes);
    }
    files.retain(|file, _| !own.contains(file));
    let shared = own_memory.then(|| rustix::fs::statvfs(format!("/proc/{worker}/root/dev/shm")).ok()).flatten();
    let shared =
        shared.map_or(0, |shared| shared.f_blocks.saturating_sub(shared.f_bfree).saturating_mul(shared.f_frsize));
    ByteSize::new((files.values().sum::<u64>() + shared).saturating_sub(mapped))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;

    use rustix::fs::{MemfdFlags, memfd_create};

    use super::*;

    #[test]
    fn a_memfd_that_nobody_maps_is_counted_once_and_none_of_the_supervisors() {
        const SIZE: usize = 64 << 20;
        let own = std::process::id();
        let before = hidden(own, &[], false).bytes();
        let mut file = File::from(memfd_create("hidden", MemfdFlags::CLOEXEC).unwrap());
        file.write_all(&vec![1; SIZE]).unwrap();
        let again = file.try_clone().unwrap();
        // Other tests of this process may hold some too, and map some.
        let seen = hidden(own, &[], false).bytes();
        assert!(seen.abs_diff(before + SIZE as u64) < SIZE as u64 / 2, "{before} {seen}");
        let facts = again.metadata().unwrap();
        let left = hidden(own, &[(facts.dev(), facts.ino())], false).bytes();
        assert!(left + SIZE as u64 / 2 < seen, "{left} {seen}");
    }
}
