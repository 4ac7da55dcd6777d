//! Bytes that two files share: if the file system supports it, a copy takes neither space nor time.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The size of the blocks that file systems share.
const BLOCK: u64 = 4096;

/// The fewest bytes worth the system calls.
const SHARE_FROM: u64 = 1 << 20;

/// The size of a write. The page cache keeps a file written in runs of 2 MiB in pages of that size, and touching one
/// byte maps the whole page: a few rows of a table would count as the whole.
const RUN: usize = 512 << 10;

/// Lets the system copy `bytes` bytes from `from` to `to`, which XFS, btrfs and others do by sharing blocks, and
/// returns whether it did; if not, whatever was copied must be overwritten.
pub fn share(from: &File, from_at: u64, to: &File, to_at: u64, bytes: u64) -> bool {
    // Blocks can be shared only at aligned offsets, and a plain copy by the system gains nothing.
    if !from_at.is_multiple_of(BLOCK) || !to_at.is_multiple_of(BLOCK) || bytes < SHARE_FROM {
        return false;
    }
    let (mut from_at, mut to_at, end) = (from_at, to_at, from_at + bytes);
    while from_at < end {
        let count = usize::try_from(end - from_at).unwrap_or(usize::MAX).min(1 << 30);
        match rustix::fs::copy_file_range(from, Some(&mut from_at), to, Some(&mut to_at), count) {
            Ok(0) | Err(_) => return false,
            Ok(_) => {}
        }
    }
    true
}

/// Writes `bytes` from byte `at` on, in runs that leave small pages in the page cache.
pub fn write_at(file: &File, at: u64, bytes: &[u8]) -> io::Result<()> {
    let mut at = at;
    bytes.chunks(RUN).try_for_each(|run| {
        file.write_all_at(run, at)?;
        at += run.len() as u64;
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_blocks_are_copied_by_the_system_or_not_at_all() {
        let (from, to) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        let bytes: Vec<u8> = (0..3u32 << 19).flat_map(u32::to_le_bytes).collect();
        write_at(&from, 0, &bytes).unwrap();
        assert!(!share(&from, 1, &to, 0, 2 << 20) && !share(&from, 0, &to, 64, 2 << 20), "no whole blocks");
        if share(&from, 4096, &to, 8192, (2 << 20) + 17) {
            let mut found = vec![0; (2 << 20) + 17];
            to.read_exact_at(&mut found, 8192).unwrap();
            assert!(found == bytes[4096..4096 + found.len()]);
        }
        assert!(!share(&from, 0, &to, 0, 1 << 30), "what is not there cannot be shared");
    }
}
