//! [`Pages`]: memory that is filled once, and that a kernel can read but not write.

use std::io;
use std::ptr::null_mut;

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use rustix::param::page_size;

/// The size of the smallest map: enough for most calls.
const ROOM: usize = 16 << 10;

/// Values of a call that a kernel gets pointers to. They do not move.
#[derive(Debug, Default)]
pub(super) struct Pages {
    maps: Vec<Map>,
}

#[derive(Debug)]
struct Map {
    start: usize,
    length: usize,
    used: usize,
}

impl Pages {
    /// Copies `values` to a place of their own, and returns its address.
    pub fn keep<T: Copy>(&mut self, values: &[T]) -> io::Result<*const T> {
        let (bytes, align) = (size_of_val(values), align_of::<T>());
        let fits = |map: &Map| map.used.next_multiple_of(align) + bytes <= map.length;
        if !self.maps.last().is_some_and(fits) {
            self.maps.push(Map::new(bytes.max(ROOM))?);
        }
        let map = self.maps.last_mut().expect("pushed above");
        let at = map.used.next_multiple_of(align);
        map.used = at + bytes;
        let place = (map.start + at) as *mut T;
        // SAFETY: the map has room for the values from `at` on, which is aligned for them, and nothing else is there.
        unsafe { place.copy_from_nonoverlapping(values.as_ptr(), values.len()) };
        Ok(place)
    }

    /// Makes the values read-only: writing to them ends the process with SIGSEGV.
    pub fn protect(&self) -> io::Result<()> {
        for map in &self.maps {
            // SAFETY: the pages are this map's own, and nothing in this program writes to them any more.
            unsafe { mprotect(map.start as *mut _, map.length, MprotectFlags::READ)? };
        }
        Ok(())
    }
}

impl Map {
    fn new(bytes: usize) -> io::Result<Self> {
        let length = bytes.next_multiple_of(page_size());
        // SAFETY: the system chooses free addresses.
        let start =
            unsafe { mmap_anonymous(null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)? };
        Ok(Self { start: start as usize, length, used: 0 })
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: the addresses are this map's own, and pointers to them live no longer than the call that owns it.
        let _ = unsafe { munmap(self.start as *mut _, self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_where_they_are_aligned_and_whole() {
        let mut pages = Pages::default();
        let byte = pages.keep(&[7u8]).unwrap();
        let words = pages.keep(&[1u64, 2, 3]).unwrap();
        let many = pages.keep(&vec![9u32; 100_000]).unwrap();
        pages.protect().unwrap();
        assert!(words.is_aligned() && many.is_aligned());
        // SAFETY: the pages live to the end of the test.
        unsafe {
            assert_eq!(*byte, 7);
            assert_eq!(std::slice::from_raw_parts(words, 3), [1, 2, 3]);
            assert!(std::slice::from_raw_parts(many, 100_000).iter().all(|&n| n == 9));
        }
    }

    #[test]
    fn protected_pages_are_mapped_for_reading_alone() {
        let mut pages = Pages::default();
        let place = pages.keep(&[5i64]).unwrap() as usize;
        let access = || {
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
            let holds = |line: &&str| {
                let (start, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
                let at = |text| usize::from_str_radix(text, 16).unwrap();
                (at(start)..at(end)).contains(&place)
            };
            maps.lines().find(holds).unwrap().split(' ').nth(1).unwrap().to_owned()
        };
        assert_eq!(access(), "rw-p");
        pages.protect().unwrap();
        assert_eq!(access(), "r--p");
    }
}
