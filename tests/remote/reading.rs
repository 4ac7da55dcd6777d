use std::collections::BTreeMap;

use plimsoll_capture::inspect::{Options as InspectOptions, inspect};
use plimsoll_capture::store::{PackOptions, Store, VerifyOptions};
use plimsoll_capture::{Capture, Digest, StoragePlace};
use plimsoll_memory::bytes::ByteSize;
use plimsoll_remote::{Options, open};

use crate::server::{Seen, Server};
use crate::support::{Scene, assert_same, holding, impatient};

fn gets(seen: &[Seen]) -> BTreeMap<&str, usize> {
    let mut gets = BTreeMap::new();
    for seen in seen.iter().filter(|seen| seen.method == "GET") {
        *gets.entry(seen.path.as_str()).or_default() += 1;
    }
    gets
}

#[test]
fn a_capture_reads_as_the_folder_that_it_was_uploaded_from() {
    let scene = Scene::new();
    scene.read(&impatient()).unwrap();
}

#[test]
fn the_headers_of_an_entry_take_two_requests_at_most() {
    let scene = Scene::new();
    let mirror = scene.open(&impatient()).unwrap();
    let capture = Capture::open(mirror.path()).unwrap();
    let local = Capture::open(scene.local.path()).unwrap();
    for (entry, expected) in capture.entries().zip(local.entries()) {
        let (entry, expected) = (entry.unwrap(), expected.unwrap());
        assert_eq!((entry.name(), entry.args(), entry.output()), (expected.name(), expected.args(), expected.output()));
        assert_eq!(entry.residency().bytes(), expected.residency().bytes());
    }
    let seen = scene.server.take_seen();
    let gets = gets(&seen);
    assert_eq!(gets.len(), 20);
    assert!(gets.values().all(|&count| count <= 2), "{gets:?}");
    let sent: u64 = seen.iter().map(|seen| seen.sent).sum();
    let whole: u64 = local.entries().map(|entry| entry.unwrap().file_size().bytes()).sum();
    assert!(sent < whole / 8, "{sent} of {whole} bytes for headers");
}

#[test]
fn of_a_table_the_rows_that_are_looked_up_are_fetched() {
    let scene = Scene::new();
    let mirror = scene.open(&impatient()).unwrap();
    let capture = Capture::open(mirror.path()).unwrap();
    let local = Capture::open(scene.local.path()).unwrap();
    scene.server.take_seen();
    for (entry, expected) in capture.entries().zip(local.entries()) {
        let (entry, expected) = (entry.unwrap(), expected.unwrap());
        let bound = entry.bind(capture.order()).unwrap();
        let _fetched = entry.fetch(&bound, true).unwrap();
        // What other processes see: the file itself, by path and offset.
        let (mapped, call) = (expected.map().unwrap(), expected.bind(local.order()).unwrap());
        let storages: Vec<&[u8]> = (0..expected.storages().len()).map(|index| mapped.storage(index).unwrap()).collect();
        let outputs = plimsoll_capture::kernel::CapturedOutput::all(expected.output());
        let call = plimsoll_capture::kernel::Call {
            params: &call.params,
            args: &call.args,
            storages: &storages,
            outputs: &outputs,
        };
        plimsoll_capture::kernel::looked_up(&call, &mut |storage, row| {
            let StoragePlace::File { path, offset } = entry.storages()[storage].place() else { panic!() };
            let file = std::fs::read(path).unwrap();
            let start = *offset as usize;
            assert!(file[start + row.start..start + row.end] == storages[storage][row], "{}", entry.name());
        });
    }
    let sent: u64 = scene.server.take_seen().iter().map(|seen| seen.sent).sum();
    let whole: u64 = local.entries().map(|entry| entry.unwrap().file_size().bytes()).sum();
    assert!(sent < whole / 2, "{sent} of {whole} bytes");
}

#[test]
fn identities_and_inspections_are_those_of_the_folder() {
    let scene = Scene::new();
    let mirror = scene.open(&impatient()).unwrap();
    let (capture, local) = (Capture::open(mirror.path()).unwrap(), Capture::open(scene.local.path()).unwrap());
    for digest in [Digest::Skeleton, Digest::Full] {
        for index in [0, 19] {
            let (remote, local) = (capture.entry(index).unwrap(), local.entry(index).unwrap());
            assert_eq!(remote.identity(digest).unwrap(), local.identity(digest).unwrap());
        }
    }
    let found = inspect(mirror.path(), InspectOptions { verify: true, ..InspectOptions::default() });
    assert!(found.error.is_none(), "{:?}", found.error);
    assert_eq!(found.path, scene.address().to_str().unwrap());
    assert!(found.entries[0].file.starts_with(&scene.server.url), "{}", found.entries[0].file);
    let expected = inspect(scene.local.path(), InspectOptions { verify: true, ..InspectOptions::default() });
    assert_eq!(found.totals, expected.totals);
}

#[test]
fn no_more_is_held_than_allowed_and_nothing_of_it_is_lost() {
    let scene = Scene::new();
    let largest = std::fs::read_dir(scene.local.path()).unwrap().flatten();
    let largest = largest.map(|item| item.metadata().unwrap().len()).max().unwrap();
    let mirror = scene.open(&holding(ByteSize::new(largest))).unwrap();
    let capture = Capture::open(mirror.path()).unwrap();
    for _ in 0..2 {
        assert_same(&capture, scene.local.path()).unwrap();
    }
    let held = || -> u64 {
        use std::os::unix::fs::MetadataExt;
        std::fs::read_dir(mirror.path()).unwrap().flatten().map(|item| item.metadata().unwrap().blocks() * 512).sum()
    };
    // One that is being prefetched, and partly used pages.
    assert!(held() <= 2 * largest + (1 << 20), "{} of {largest}", held());
    let folder = mirror.path().to_owned();
    drop(mirror);
    assert!(!folder.exists());
}

#[test]
fn a_store_on_a_server_reads_and_verifies_as_the_one_on_the_disk() {
    let scene = Scene::new();
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(&folder.path().join("store")).unwrap();
    for name in ["first", "second"] {
        let options = PackOptions { name: Some(name.into()), compress: name == "second", ..PackOptions::default() };
        store.pack(scene.local.path(), &options).unwrap();
    }
    let server = Server::start();
    server.put_folder("/store", store.path());
    let at = |path: &str| std::path::PathBuf::from(format!("{}{path}", server.url));

    let mirror = open(&at("/store"), &impatient()).unwrap();
    let remote = Store::open(mirror.path()).unwrap();
    assert_eq!(remote.captures().unwrap(), ["first", "second"]);
    let report = remote.verify(&VerifyOptions::default()).unwrap();
    assert!(report.holds(), "{report:?}");
    drop(mirror);

    server.take_seen();
    let mirror = open(&at("/store/captures/first"), &impatient()).unwrap();
    let capture = Capture::open(mirror.path()).unwrap();
    assert!(capture.is_in_store());
    assert_same(&capture, scene.local.path()).unwrap();
    let seen = server.take_seen();
    assert!(gets(&seen).iter().all(|(path, _)| !path.contains("/second/")), "another capture is left alone");
    let mirror = open(&at("/store/captures/first/entry_000003.pt"), &impatient()).unwrap();
    assert_eq!(Capture::open(mirror.path()).unwrap().len(), 1);
}

#[test]
fn a_single_file_and_nothing_are_told_apart() {
    let scene = Scene::new();
    let mut one = scene.address();
    one.push("entry_000000.pt");
    let mirror = open(&one, &impatient()).unwrap();
    assert_eq!(Capture::open(mirror.path()).unwrap().len(), 1);
    let none = open(&scene.address().join("none"), &impatient()).unwrap_err().to_string();
    assert!(none.contains("there is nothing at this address"), "{none}");
    let dead = open("http://127.0.0.1:9/x".as_ref(), &Options { retries: 1, ..impatient() }).unwrap_err().to_string();
    assert!(dead.starts_with("http://127.0.0.1:9/x: the connection was cut"), "{dead}");
}

#[test]
fn a_listing_with_names_that_lead_elsewhere_is_refused_and_long_ones_are_left_out() {
    let scene = Scene::new();
    scene.server.put(&format!("/captures/embedding/entry_{}.pt", "9".repeat(300)), b"x");
    let mirror = scene.open(&impatient()).unwrap();
    assert_eq!(std::fs::read_dir(mirror.path()).unwrap().count(), 20);
    scene.server.put("/captures/embedding/..%2f..%2fentry_evil.pt", b"x");
    let error = scene.open(&impatient()).unwrap_err().to_string();
    assert!(error.contains("/captures/embedding: the server cannot list a folder"), "{error}");
    assert!(!mirror.path().parent().unwrap().join("entry_evil.pt").exists());
}
