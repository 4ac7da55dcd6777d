//! Any bytes as a recipe of a store, and an honest recipe with some bytes changed: the file that it refers to is read,
//! put together, verified and unpacked.

#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use plimsoll::capture::store::{PackOptions, Recipe, Store, UnpackOptions, VerifyOptions};
use plimsoll_fuzz::read_whole;

/// A store with one entry, and the bytes of its recipe.
fn honest() -> &'static (PathBuf, Vec<u8>) {
    static STORE: OnceLock<(PathBuf, Vec<u8>)> = OnceLock::new();
    STORE.get_or_init(|| {
        let root = std::env::temp_dir().join(format!("plimsoll-fuzz-store-{}", std::process::id()));
        let folder = std::env::temp_dir().join(format!("plimsoll-fuzz-entries-{}", std::process::id()));
        let store = Store::create(&root).expect("a store");
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("entry_0.pt"), plimsoll_fuzz::archive(b"\x80\x02].")).expect("a file");
        let options = PackOptions { name: Some("honest".into()), ..PackOptions::default() };
        let report = store.pack(&folder, &options).expect("a folder that packs");
        assert!(report.errors.is_empty(), "{:?}", report.errors);
        let reference = fs::read_to_string(root.join("captures/honest/entry_0.pt")).expect("a reference");
        let name = reference.split_whitespace().nth(1).expect("a recipe");
        let recipe = fs::read(root.join("objects").join(&name[..2]).join(name)).expect("a recipe");
        (root, recipe)
    })
}

/// The honest recipe with `changes` applied: pairs of a place and the new byte.
fn changed(recipe: &[u8], changes: &[u8]) -> Vec<u8> {
    let mut recipe = recipe.to_vec();
    for change in changes.chunks_exact(3) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % recipe.len();
        recipe[at] = change[2];
    }
    recipe
}

fuzz_target!(|bytes: &[u8]| {
    let (root, honest) = honest();
    let recipe = match bytes.split_first() {
        Some((b'c', changes)) => changed(honest, changes),
        _ => bytes.to_vec(),
    };
    let _ = Recipe::from_bytes(&recipe);
    let name = blake3::hash(&recipe).to_hex().to_string();
    let folder = root.join("objects").join(&name[..2]);
    fs::create_dir_all(&folder).expect("a folder");
    let object = folder.join(&name);
    fs::write(&object, &recipe).expect("a file");
    let capture = root.join("captures/fuzzed");
    fs::create_dir_all(&capture).expect("a folder");
    let reference = capture.join("entry_1.pt");
    fs::write(&reference, format!("plimsoll.recipe/1 {name}\n")).expect("a file");
    let opened = read_whole(&reference);
    let store = Store::open(root).expect("a store");
    let only = || vec!["fuzzed".into()];
    let verified = store.verify(&VerifyOptions { entries: only(), ..VerifyOptions::default() }).expect("a report");
    assert!(opened.is_ok() || !verified.holds(), "what holds is read");
    let out = root.join("out");
    let _ = store.unpack(&out, &UnpackOptions { entries: only(), ..UnpackOptions::default() });
    let _ = fs::remove_dir_all(out);
    let _ = store.survey();
    if recipe != *honest {
        let _ = fs::remove_file(object);
    }
});
