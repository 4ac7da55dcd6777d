//! Any bytes as a file of torch.save.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::{read_whole, with_file};

fuzz_target!(|bytes: &[u8]| {
    let _ = with_file(bytes, read_whole);
});
