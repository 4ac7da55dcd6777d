//! Any bytes as a skeleton, and any file taken apart and put together.

#![no_main]

use std::collections::HashMap;
use std::io::Read;

use libfuzzer_sys::fuzz_target;
use plimsoll::capture::skeleton::Skeleton;
use plimsoll_fuzz::with_file;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(skeleton) = Skeleton::from_bytes(bytes) {
        let zeros = &mut |_: &_| Ok(std::io::repeat(0).take(1 << 20));
        let _ = skeleton.rebuild(zeros, &mut std::io::sink());
    }
    let mut payloads: HashMap<String, Vec<u8>> = HashMap::new();
    let scanned = with_file(bytes, |path| {
        Skeleton::scan(path, &mut |payload, piece| {
            payloads.entry(payload.key.clone()).or_default().extend_from_slice(piece);
            Ok(())
        })
    });
    if let Ok(skeleton) = scanned {
        let mut out = Vec::new();
        skeleton.rebuild(&mut |payload| Ok(&payloads[&payload.key][..]), &mut out).expect("the parts give the whole");
        assert!(out == bytes);
    }
});
