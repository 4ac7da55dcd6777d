//! Any bytes in the place of any file of a store: its marker, a reference, an object, its list of verified objects. The
//! store is listed, verified, read, unpacked and collected, and every entry that comes out equals the one that was
//! packed.

#![no_main]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use plimsoll::capture::store::{PackOptions, Store, UnpackOptions, VerifyOptions};
use plimsoll_fuzz::read_whole;

struct Honest {
    root: PathBuf,
    entry: Vec<u8>,
    /// Every file of the store, with its content.
    files: Vec<(PathBuf, Vec<u8>)>,
}

fn below(folder: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for item in fs::read_dir(folder).expect("a folder").flatten() {
        let path = item.path();
        if path.is_dir() {
            below(&path, files);
        } else {
            files.push((path.clone(), fs::read(&path).expect("a file")));
        }
    }
    files.sort();
}

fn honest() -> &'static Honest {
    static STORE: OnceLock<Honest> = OnceLock::new();
    STORE.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("plimsoll-fuzz-whole-store-{}", std::process::id()));
        let (root, captured) = (folder.join("store"), folder.join("captured"));
        fs::create_dir_all(&captured).expect("a folder");
        let entry = plimsoll_fuzz::archive(b"\x80\x02].");
        fs::write(captured.join("entry_0.pt"), &entry).expect("a file");
        let store = Store::create(&root).expect("a store");
        let report = store.pack(&captured, &PackOptions::default()).expect("a folder that packs");
        assert!(report.errors.is_empty(), "{:?}", report.errors);
        assert!(store.verify(&VerifyOptions::default()).expect("a report").holds());
        let mut files = Vec::new();
        below(&root, &mut files);
        Honest { root, entry, files }
    })
}

fuzz_target!(|bytes: &[u8]| {
    let Honest { root, entry, files } = honest();
    let Some((which, content)) = bytes.split_first() else { return };
    let (path, before) = &files[usize::from(*which) % files.len()];
    // Objects are read-only.
    let put = |content: &[u8]| fs::remove_file(path).and_then(|()| fs::write(path, content));
    put(content).expect("a file");
    if let Ok(store) = Store::open(root) {
        let _ = store.survey();
        let _ = store.verify(&VerifyOptions::default());
        let _ = read_whole(&root.join("captures/captured/entry_0.pt"));
        let out = root.with_extension("out");
        let unpacked = store.unpack(&out, &UnpackOptions::default());
        if let Ok(report) = unpacked {
            for file in report.files {
                assert!(fs::read(&file.path).expect("a file") == *entry, "what comes out is what was packed");
            }
        }
        let _ = fs::remove_dir_all(out);
    }
    let _ = fs::remove_file(path);
    fs::write(path, before).expect("a file");
});
