//! Any bytes as a history, and an honest history with some bytes changed: read or refused, in bounded time.

#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use plimsoll::gate::history::{Commit, History, series};
use plimsoll::record::Record;

/// The path of the file, and an honest history.
fn honest() -> &'static (PathBuf, Vec<u8>) {
    static HISTORY: OnceLock<(PathBuf, Vec<u8>)> = OnceLock::new();
    HISTORY.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("plimsoll-fuzz-history-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("honest.sqlite");
        let mut history = History::create(&path).expect("a history");
        let record: Record = serde_json::from_str(plimsoll_fuzz::record()).expect("a record");
        let commit = Commit { id: "a".repeat(40), branch: "main".to_owned(), committed: 1, title: "one".to_owned() };
        history.add(&commit, &[record]).expect("a record that is added");
        drop(history);
        let bytes = fs::read(&path).expect("a history");
        (folder.join("fuzzed.sqlite"), bytes)
    })
}

fuzz_target!(|bytes: &[u8]| {
    let (path, honest) = honest();
    let mut content = bytes.to_vec();
    if let Some((b'c', changes)) = bytes.split_first() {
        content = honest.clone();
        for change in changes.chunks_exact(4) {
            let at = u32::from_le_bytes([change[0], change[1], change[2], 0]) as usize % content.len();
            content[at] = change[3];
        }
    }
    fs::write(path, content).expect("a file");
    let _ = fs::remove_file(path.with_extension("sqlite-journal"));
    let Ok(history) = History::open(path) else { return };
    let _ = history.branches();
    for (subject, _) in history.subjects(None).unwrap_or_default() {
        if let Ok(entries) = history.entries(&subject, "main", 10) {
            let _ = series(&entries, &|_| true);
        }
    }
    let _ = history.baseline("main");
});
