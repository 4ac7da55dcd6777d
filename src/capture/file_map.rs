//! [`FileMap`]: pages of a file, mapped read-only and shared.

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::ptr::null_mut;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};
use rustix::param::page_size;

/// Whether the page cache's large pages fit a map of a file from `offset` on at `address`. If they do, reading one byte
/// of such a page (2 MiB, for a file that was just written) maps all of it, so that it counts as resident memory (Linux
/// 6.18 on ext4); otherwise it maps 64 KiB.
pub fn large_pages_fit(address: usize, offset: u64) -> bool {
    (address as u64).wrapping_sub(offset).is_multiple_of(large_page(page_size()))
}

/// The bytes that a fault maps around itself at most, if no large page fits.
const FAULT: usize = 64 << 10;

/// The size of a large page beside pages of `page` bytes: a page table has as many entries as fit a page, and a large
/// page takes the place of a table.
fn large_page(page: usize) -> u64 {
    (page / size_of::<u64>() * page) as u64
}

/// The whole pages of `page` bytes that hold `bytes` bytes from `offset` of a file on: their offset in the file, the
/// offset of the first of these bytes in them, and their length.
fn whole_pages(offset: u64, bytes: usize, page: usize) -> (u64, usize, usize) {
    let head = (offset % page as u64) as usize;
    (offset - head as u64, head, (head + bytes).next_multiple_of(page))
}

/// Reserves `length` bytes of address space, in whole pages, where large pages do not fit a map of a file from `offset`
/// on.
///
/// # Errors
/// If the system does not have that many free addresses.
pub fn reserve_apart(length: usize, offset: u64) -> io::Result<*mut c_void> {
    let page = page_size();
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: the system chooses free addresses, with nothing mapped there, and the surplus page is returned.
    unsafe {
        let room = mmap_anonymous(null_mut(), length + page, ProtFlags::empty(), flags)?;
        let next = room.wrapping_byte_add(page);
        let (start, spare) =
            if large_pages_fit(room as usize, offset) { (next, room) } else { (room, room.wrapping_byte_add(length)) };
        munmap(spare, page)?;
        Ok(start)
    }
}

/// Bytes of a file, mapped into memory.
#[derive(Debug)]
pub(super) struct FileMap {
    /// The address of the first page.
    start: usize,
    /// The length in bytes, of whole pages.
    length: usize,
    /// The offset of the first requested byte after `start`.
    head: usize,
    bytes: usize,
}

impl FileMap {
    /// Maps `bytes` bytes from `offset` on, at least one; `apart` chooses addresses at which large pages do not fit, unless
    /// a fault maps all of it anyway.
    pub fn new(file: &File, offset: u64, bytes: usize, apart: bool) -> io::Result<Self> {
        let (offset, head, length) = whole_pages(offset, bytes, page_size());
        let (access, flags) = (ProtFlags::READ, MapFlags::SHARED);
        // SAFETY: the system chooses free addresses, or takes those that are reserved for this map.
        let start = unsafe {
            if apart && length > FAULT {
                let start = reserve_apart(length, offset)?;
                mmap(start, length, access, flags | MapFlags::FIXED, file, offset).inspect_err(|_| {
                    let _ = munmap(start, length);
                })?
            } else {
                mmap(null_mut(), length, access, flags, file, offset)?
            }
        };
        Ok(Self { start: start as usize, length, head, bytes })
    }

    /// The addresses of its pages.
    pub fn pages(&self) -> Range<usize> {
        self.start..self.start + self.length
    }

    /// Advises the system how the pages with `range` (bytes of this map) will be used. A hint does not change their
    /// content, and does no harm if it is refused.
    pub fn advise(&self, range: Range<usize>, advice: Advice) {
        let from = (self.head + range.start) / page_size() * page_size();
        let length = self.head + range.end - from;
        // SAFETY: the pages are this map's own, shared and read-only, so dropped pages come back unchanged.
        let _ = unsafe { madvise((self.start + from) as *mut c_void, length, advice) };
    }
}

impl Deref for FileMap {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the map holds these bytes for as long as `self` lives. Another process can change the file under it,
        // which no reader of files can rule out, but every byte value is valid for u8.
        unsafe { std::slice::from_raw_parts((self.start + self.head) as *const u8, self.bytes) }
    }
}

impl Drop for FileMap {
    fn drop(&mut self) {
        // SAFETY: the addresses are this map's own, and all borrows of its bytes have ended.
        let _ = unsafe { munmap(self.start as *mut c_void, self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_large_page_takes_the_place_of_a_table() {
        assert_eq!([4, 16, 64].map(|kib| large_page(kib << 10) >> 20), [2, 32, 512]);
    }

    proptest! {
        #[test]
        fn whole_pages_hold_the_bytes_and_less_than_two_more(
            offset in 0..1u64 << 50, bytes in 1..1usize << 40, page in prop::sample::select(vec![4 << 10, 16 << 10, 64 << 10]),
        ) {
            let (from, head, length) = whole_pages(offset, bytes, page);
            prop_assert!(from.is_multiple_of(page as u64) && length.is_multiple_of(page));
            prop_assert_eq!(from + head as u64, offset);
            prop_assert!(head + bytes <= length && length < bytes + 2 * page);
        }
    }
}
