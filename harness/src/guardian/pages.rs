//! Releases memory that was needed only at the start.

use std::ffi::{c_int, c_void};

/// No architecture that this runs on has larger pages.
const LARGEST_PAGE: usize = 64 << 10;

/// Releases the pages of the program and its libraries that were mapped at the start, and free memory of the heap.
///
/// Parsing a command line touches megabytes of code that waiting for a command does not need. Pages that are needed
/// again are mapped from the page cache, at less than a microsecond per page.
pub fn let_go() {
    // SAFETY: the callback is called with a description of each loaded object, and keeps none of it.
    unsafe { libc::dl_iterate_phdr(Some(each), std::ptr::null_mut()) };
    #[cfg(target_env = "gnu")]
    // SAFETY: the allocator releases only memory that nobody holds.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Makes all threads allocate from one heap: a second one is 128 MiB of addresses and its own pages, for threads that
/// do next to nothing.
pub fn share_one_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: a parameter of the allocator is set, before there is a second thread.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Releases the pages of the read-only segments of an object.
unsafe extern "C" fn each(object: *mut libc::dl_phdr_info, _: usize, _: *mut c_void) -> c_int {
    // SAFETY: the loader passes a valid description with as many headers as it says.
    let (base, headers) = unsafe {
        let object = &*object;
        (object.dlpi_addr as usize, std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into()))
    };
    // SAFETY: the loader has mapped the segments where the headers say.
    if is_vdso(base) || unsafe { has_text_relocations(base, headers) } {
        return 0;
    }
    for header in headers.iter().filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W == 0) {
        // Whole pages that no other segment shares.
        let start = (base + header.p_vaddr as usize).next_multiple_of(LARGEST_PAGE);
        let end = (base + header.p_vaddr as usize + header.p_memsz as usize) / LARGEST_PAGE * LARGEST_PAGE;
        if start < end {
            // SAFETY: a segment without the right to write that needed no relocation is as it is in its file, from which
            // the kernel maps it again when it is touched.
            unsafe { libc::madvise(start as *mut c_void, end - start, libc::MADV_DONTNEED) };
        }
    }
    0
}

/// Whether this is the object that the kernel maps into every process, which belongs to no file.
fn is_vdso(base: usize) -> bool {
    // SAFETY: a value is looked up.
    base != 0 && base == unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) } as usize
}

/// Whether the loader had to write to code, so that the code differs from the file. Hardly any object is like that.
///
/// # Safety
/// The headers are of an object that is loaded at `base`.
unsafe fn has_text_relocations(base: usize, headers: &[libc::Elf64_Phdr]) -> bool {
    // elf.h
    const DT_NULL: i64 = 0;
    const DT_TEXTREL: i64 = 22;
    const DT_FLAGS: i64 = 30;
    const DF_TEXTREL: i64 = 4;
    let Some(dynamic) = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC) else { return false };
    let mut entry = (base + dynamic.p_vaddr as usize) as *const [i64; 2];
    loop {
        // SAFETY: the section lies where its header says, and ends with an entry of the kind 0.
        let [kind, value] = unsafe { *entry };
        match kind {
            DT_NULL => return false,
            DT_TEXTREL => return true,
            DT_FLAGS if value & DF_TEXTREL != 0 => return true,
            _ => {}
        }
        // SAFETY: the entry was not the last.
        entry = unsafe { entry.add(1) };
    }
}

#[cfg(test)]
mod tests {
    use plimsoll::ByteSize;
    use plimsoll::meter::ProcessMemory;

    use super::*;

    fn resident() -> ByteSize {
        ProcessMemory::read(std::process::id()).unwrap().file.unwrap()
    }

    #[test]
    fn pages_of_files_are_given_back_and_come_again() {
        let before = resident();
        let_go();
        let after = resident();
        assert!(after < before, "{before}, then {after}");
        // Code, constants and the heap are unchanged.
        let words: Vec<String> = (0..1000).map(|n| format!("{n:05} {:?}", f64::from(n).sqrt())).collect();
        assert_eq!((words[4].as_str(), words.len()), ("00004 2.0", 1000));
        assert!(std::panic::catch_unwind(|| panic!("it unwinds")).is_err());
    }
}
