use std::path::{Path, PathBuf};

use plimsoll_memory::bytes::ByteSize;
use plimsoll_remote::Options;

use crate::support::{Scene, cached, impatient};

/// The files of a cache that are pieces.
fn pieces(cache: &Path) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(cache.join("pieces")).unwrap().flatten();
    folders.flat_map(|folder| std::fs::read_dir(folder.path()).unwrap().flatten().map(|item| item.path())).collect()
}

fn sent(scene: &Scene) -> u64 {
    scene.server.take_seen().iter().filter(|seen| seen.method == "GET").map(|seen| seen.sent).sum()
}

#[test]
fn readers_with_one_cache_fetch_each_object_once() {
    let (scene, cache) = (Scene::new(), tempfile::tempdir().unwrap());
    let whole: u64 =
        std::fs::read_dir(scene.local.path()).unwrap().flatten().map(|item| item.metadata().unwrap().len()).sum();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| scene.read(&cached(cache.path())).unwrap());
        }
    });
    let first = sent(&scene);
    // Each of the four reads the headers before any piece exists.
    assert!(first < whole * 2, "{first} bytes of a capture of {whole}");
    scene.read(&cached(cache.path())).unwrap();
    let again = sent(&scene);
    assert!(again < whole / 4, "{again} bytes of a capture of {whole} that is in the cache");
    assert!(pieces(cache.path()).iter().all(|piece| !piece.file_name().unwrap().to_string_lossy().starts_with('.')));
}

#[test]
fn a_damaged_piece_is_fetched_again() {
    let (scene, cache) = (Scene::new(), tempfile::tempdir().unwrap());
    scene.read(&cached(cache.path())).unwrap();
    for piece in pieces(cache.path()) {
        let mut bytes = std::fs::read(&piece).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x10;
        std::fs::write(&piece, bytes).unwrap();
    }
    // Every byte is compared.
    scene.read(&cached(cache.path())).unwrap();
    for piece in pieces(cache.path()) {
        std::fs::File::options().write(true).open(piece).unwrap().set_len(10).unwrap();
    }
    scene.read(&cached(cache.path())).unwrap();
}

#[test]
fn a_cache_holds_no_more_than_it_may() {
    let (scene, cache) = (Scene::new(), tempfile::tempdir().unwrap());
    let limit = ByteSize::mib(4);
    scene.read(&Options { cache_bytes: limit, ..cached(cache.path()) }).unwrap();
    let held: u64 = pieces(cache.path()).iter().map(|piece| piece.metadata().unwrap().len()).sum();
    // Whatever was added since the cache was last searched.
    assert!(held <= limit.bytes() + limit.bytes() / 8 + (8 << 20), "{held}");
    scene.read(&Options { cache_bytes: limit, ..cached(cache.path()) }).unwrap();
}

#[test]
fn another_version_of_an_object_is_another_piece() {
    let (scene, cache) = (Scene::new(), tempfile::tempdir().unwrap());
    scene.read(&cached(cache.path())).unwrap();
    let path = "/captures/embedding/entry_000000.pt";
    let other = scene.server.get("/captures/embedding/entry_000001.pt").unwrap();
    scene.server.put(path, other.clone());
    std::fs::write(scene.local.path().join("entry_000000.pt"), other).unwrap();
    scene.read(&cached(cache.path())).unwrap();
}

#[test]
fn a_cache_that_cannot_be_made_is_an_error_that_names_it() {
    let scene = Scene::new();
    let options = Options { cache: Some("/proc/none".into()), ..impatient() };
    let error = scene.open(&options).unwrap_err().to_string();
    assert!(error.contains("/proc/none") && error.contains("--cache"), "{error}");
}
