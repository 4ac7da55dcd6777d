//! Any bytes as a store's list of verified objects: none makes a damaged object pass.

#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use plimsoll::capture::store::{ObjectVerifier, PackOptions, Store, VerifyObjects};
use plimsoll::capture::{Capture, Dtype, Entry, synthesize};

/// A store with one entry whose table has one bit flipped, and its list of verified objects.
fn damaged() -> &'static (Entry, PathBuf) {
    static STORE: OnceLock<(Entry, PathBuf)> = OnceLock::new();
    STORE.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("plimsoll-fuzz-verified-{}", std::process::id()));
        let (captured, root) = (folder.join("embedding"), folder.join("store"));
        synthesize::embedding(512, 64, 8, Dtype::F32).entries(1).write(&captured).expect("a capture");
        let store = Store::create(&root).expect("a store");
        let report = store.pack(&captured, &PackOptions::default()).expect("a folder that packs");
        assert!(report.errors.is_empty(), "{:?}", report.errors);
        let objects = fs::read_dir(root.join("objects")).expect("objects").flatten();
        let objects = objects.flat_map(|fan| fs::read_dir(fan.path()).expect("objects").flatten());
        let table = objects.max_by_key(|object| object.metadata().expect("a file").len()).expect("a table").path();
        let mut bytes = fs::read(&table).expect("a table");
        bytes[1000] ^= 1;
        fs::remove_file(&table).expect("a table");
        fs::write(&table, bytes).expect("a table");
        let entry = Capture::open(&root).and_then(|capture| capture.entry(0)).expect("an entry");
        (entry, root.join("verified-1"))
    })
}

fuzz_target!(|bytes: &[u8]| {
    let (entry, remembered) = damaged();
    fs::write(remembered, bytes).expect("a file");
    let mut verifier = ObjectVerifier::new(VerifyObjects::Once);
    assert!(verifier.verify(entry).is_err(), "the table is damaged");
    verifier.remember();
});
