//! The store format according to `docs/store-format.md` alone: a reader and a writer that share no code with the
//! library, and each side understands the other's output.

use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use plimsoll::capture::skeleton::Skeleton;
use plimsoll::capture::store::{PackOptions, Store, UnpackOptions, VerifyOptions};
use plimsoll::capture::{Capture, synthesize};
use plimsoll::kernel::builtin;
use plimsoll::run::Validation;
use serde_json::{Value, json};

fn scene() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("embedding");
    synthesize::gemma4_e2b_gb10().scale(1, 1536).entries(4).write(&folder).unwrap();
    (dir, folder)
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|item| item.unwrap().path()).collect();
    entries.sort();
    entries
}

/// Reads an object according to the page.
fn object(store: &Path, hex: &str) -> Vec<u8> {
    let bytes = fs::read(store.join("objects").join(&hex[..2]).join(hex)).unwrap();
    assert_eq!(blake3::hash(&bytes).to_hex().as_str(), hex);
    bytes
}

/// Restores a file according to the page.
fn put_together(store: &Path, reference: &Path) -> Vec<u8> {
    let text = fs::read_to_string(reference).unwrap();
    let recipe = text.strip_prefix("plimsoll.recipe/1 ").unwrap().strip_suffix('\n').unwrap();
    let recipe: Value = serde_json::from_slice(&object(store, recipe)).unwrap();
    let skeleton = object(store, recipe["skeleton"].as_str().unwrap());
    let header = u64::from_le_bytes(skeleton[..8].try_into().unwrap()) as usize;
    let mut around = &skeleton[8 + header..];
    let mut file = Vec::new();
    for payload in recipe["payloads"].as_array().unwrap() {
        let number = |name: &str| payload[name].as_u64().unwrap() as usize;
        let mut before = vec![0; number("offset") - file.len()];
        around.read_exact(&mut before).unwrap();
        file.extend(before);
        let content = object(store, payload["object"].as_str().unwrap());
        file.extend(&content[number("at")..number("at") + number("bytes")]);
    }
    file.extend(around);
    assert_eq!(blake3::hash(&file).to_hex().as_str(), recipe["blake3"].as_str().unwrap());
    file
}

/// Writes an object according to the page, and returns its name.
fn write_object(store: &Path, bytes: &[u8]) -> String {
    let hex = blake3::hash(bytes).to_hex().to_string();
    let folder = store.join("objects").join(&hex[..2]);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(&hex), bytes).unwrap();
    hex
}

/// Writes a store of the entries according to the page: every payload is a separate object.
fn write_store(store: &Path, folder: &Path) {
    for part in ["objects", "captures/embedding", "tmp"] {
        fs::create_dir_all(store.join(part)).unwrap();
    }
    fs::write(store.join("lock"), "").unwrap();
    for path in entries(folder) {
        let file = fs::read(&path).unwrap();
        let skeleton = Skeleton::of(&path).unwrap();
        let payloads = skeleton.payloads().iter().map(|payload| {
            let (at, bytes) = (payload.offset as usize, payload.bytes.bytes() as usize);
            let object = write_object(store, &file[at..at + bytes]);
            json!({"key": payload.key, "offset": at, "bytes": bytes, "object": object, "at": 0})
        });
        let recipe = json!({
            "format": "plimsoll.recipe/1",
            "bytes": file.len(),
            "blake3": blake3::hash(&file).to_hex().as_str(),
            "modified": [1_000_000_000, 5],
            "payloads": payloads.collect::<Vec<_>>(),
            "skeleton": write_object(store, &skeleton.to_bytes()),
        });
        let recipe = write_object(store, serde_json::to_string_pretty(&recipe).unwrap().as_bytes());
        let reference = store.join("captures/embedding").join(path.file_name().unwrap());
        fs::write(reference, format!("plimsoll.recipe/1 {recipe}\n")).unwrap();
    }
    fs::write(store.join("plimsoll-store.json"), r#"{"format":"plimsoll.store/1"}"#).unwrap();
}

#[test]
fn what_the_library_packs_is_read_by_the_page() {
    let (dir, folder) = scene();
    let store = Store::create(&dir.path().join("store")).unwrap();
    store.pack(&folder, &PackOptions::default()).unwrap();
    for path in entries(&folder) {
        let reference = store.path().join("captures/embedding").join(path.file_name().unwrap());
        assert!(put_together(store.path(), &reference) == fs::read(&path).unwrap());
    }
}

#[test]
fn what_is_written_by_the_page_the_library_reads() {
    let (dir, folder) = scene();
    let root = dir.path().join("store");
    write_store(&root, &folder);
    let store = Store::open(&root).unwrap();
    let verified = store.verify(&VerifyOptions { against: Some(&folder), ..VerifyOptions::default() }).unwrap();
    assert!(verified.holds(), "{:?}", verified.problems);
    let out = dir.path().join("out");
    store.unpack(&out, &UnpackOptions::default()).unwrap();
    let modified = out.join("entry_000000.pt").metadata().unwrap().modified().unwrap();
    let since = modified.duration_since(std::time::UNIX_EPOCH).unwrap();
    assert_eq!((since.as_secs(), since.subsec_nanos()), (1_000_000_000, 5));
    // The library adds its own recipes beside those written here, and no storage again.
    let report = store.pack(&folder, &PackOptions { name: Some("again".into()), ..PackOptions::default() }).unwrap();
    assert!(report.added().bytes() < 20_000, "{}", report.added());
}

#[test]
fn a_validation_from_the_store_means_the_same() {
    let (dir, folder) = scene();
    let store = Store::create(&dir.path().join("store")).unwrap();
    store.pack(&folder, &PackOptions::default()).unwrap();
    let validate = |path: &Path| {
        let report = Validation::of(&Capture::open(path).unwrap()).run(builtin::embedding()).unwrap();
        assert!(report.passed(), "{}", report.summary());
        report.record().semantics_digest.clone()
    };
    assert_eq!(validate(&folder), validate(store.path()));
}

#[test]
fn every_file_of_a_store_may_be_read_by_those_who_may_read_what_its_maker_writes() {
    let (dir, folder) = scene();
    let store = dir.path().join("store");
    Store::create(&store).unwrap().pack(&folder, &PackOptions::default()).unwrap();
    let plain = dir.path().join("plain");
    fs::write(&plain, "").unwrap();
    let readers = |path: &Path| path.metadata().unwrap().mode() & 0o444;
    let (mut left, mut seen) = (vec![store], 0);
    while let Some(folder) = left.pop() {
        for path in entries(&folder) {
            if path.is_dir() {
                left.push(path);
                continue;
            }
            assert_eq!(readers(&path), readers(&plain), "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 8, "a marker, a lock, four references and their objects: {seen}");
}
