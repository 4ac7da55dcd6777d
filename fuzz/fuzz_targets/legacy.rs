//! Any bytes after the magic number, the protocol and the system info of the format before PyTorch 1.6.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::{read_whole, with_file};

/// The first three pickles: 0x1950a86a20f9469cfc6c, 1001, {}.
const HEAD: &[u8] = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.\x80\x02}.";

fuzz_target!(|rest: &[u8]| {
    let _ = with_file(&[HEAD, rest].concat(), read_whole);
});
