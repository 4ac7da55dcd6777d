//! Any bytes as a shared library: its symbol table is read and kernels are selected from it, but nothing is loaded.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use plimsoll::kernel::library::LibraryFile;

fuzz_target!(|bytes: &[u8]| {
    let Ok(file) = LibraryFile::parse(Path::new("kernel.so"), bytes) else { return };
    assert_eq!(file.kernels().count() == 1, file.select(None).is_ok());
    for kernel in file.kernels() {
        assert!(file.select(Some(kernel)).is_ok());
    }
    let _ = (file.select(Some("embedding")), file.links_runtime(), file.runtime_symbols().count());
});
