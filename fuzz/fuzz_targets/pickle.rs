//! Any bytes as the pickle of an archive.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::{archive, read_whole, with_file};

fuzz_target!(|pickle: &[u8]| {
    let _ = with_file(&archive(pickle), read_whole);
});
