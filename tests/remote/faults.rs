use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use plimsoll_capture::Capture;
use plimsoll_capture::synthesize::OperatorCall;
use plimsoll_capture::write::Options as WriteOptions;
use plimsoll_remote::{Options, open};

use crate::server::{Fault, Seen, Server};
use crate::support::{Scene, cached, impatient};

/// Options of the two ways that bytes take: into the file alone, and also into the cache.
fn both_ways(cache: &Path) -> [Options; 2] {
    [impatient(), cached(cache)]
}

#[test]
fn a_server_that_never_gets_better_is_an_error_that_says_what_to_do() {
    let scene = Scene::new();
    for (fault, says) in [
        (Fault::Status(503), "the server fails (SlowDown: later), even after retries"),
        (Fault::Chunked, "the server fails (SlowDown: later)"),
        (Fault::Status(500), "the server fails"),
        (Fault::Status(429), "the server fails"),
        (Fault::Expired, "the credentials have expired (ExpiredToken: The provided token has expired.); get new ones"),
        (Fault::Status(403), "the store refuses access (SlowDown: later); check the credentials"),
        (Fault::Cut(1000), "the connection was cut"),
        (Fault::Stall(1000), "the server sent nothing for too long"),
        (Fault::Whole, "the server does not keep to ranges (status 200 for bytes"),
        (Fault::OtherRange, "the server does not keep to ranges (bytes 0 to"),
        (Fault::TooMany, "the server does not keep to ranges (more bytes than its Content-Range says)"),
        (Fault::Redirect, "check the address"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        for options in both_ways(folder.path()) {
            scene.server.fail(move |_, seen: &Seen| (seen.method == "GET").then_some(fault));
            let error = scene.read(&options).unwrap_err().0;
            assert!(error.contains(says), "{fault:?}: {error}");
            assert!(error.contains("/captures/embedding/entry_0000"), "{fault:?} names the object: {error}");
        }
    }
}

#[test]
fn a_server_that_gets_better_gives_the_whole_capture() {
    let scene = Scene::new();
    for fault in [Fault::Status(503), Fault::Cut(5000), Fault::Stall(5000), Fault::Short, Fault::Close] {
        let folder = tempfile::tempdir().unwrap();
        for options in both_ways(folder.path()) {
            // Every third range fails once: what asks again for the rest of it ends at the same byte.
            let asked = Mutex::new(BTreeSet::new());
            scene.server.fail(move |_, seen| {
                let mut asked = asked.lock().unwrap();
                let is_new = seen.method == "GET" && asked.insert((seen.path.clone(), seen.range.clone()?.end));
                (is_new && asked.len() % 3 == 0).then_some(fault)
            });
            scene.read(&options).unwrap_or_else(|error| panic!("{fault:?}: {}", error.0));
            let seen = scene.server.take_seen();
            assert!(seen.len() > 40, "{}", seen.len());
        }
    }
}

#[test]
fn an_answer_that_goes_on_elsewhere_after_a_cut_is_refused() {
    let scene = Scene::new();
    let is_cut = Arc::new(AtomicBool::new(false));
    scene.server.fail(move |_, seen| {
        if seen.method != "GET" {
            return None;
        }
        // The second half of a range as the whole object: without a check it would pass for the rest.
        Some(if is_cut.swap(true, Ordering::SeqCst) { Fault::Whole } else { Fault::Cut(2000) })
    });
    let error = scene.read(&impatient()).unwrap_err().0;
    assert!(error.contains("the server does not keep to ranges"), "{error}");
}

#[test]
fn an_object_that_changes_while_it_is_read_is_an_error() {
    let scene = Scene::new();
    let mirror = scene.open(&impatient()).unwrap();
    let capture = Capture::open(mirror.path()).unwrap();
    let entry = capture.entry(0).unwrap();
    let name = format!("/captures/embedding/{}", entry.name());
    let mut bytes = scene.server.get(&name).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    scene.server.put(&name, bytes);
    let mapped = entry.map().unwrap();
    let failed = (0..entry.storages().len()).find_map(|index| mapped.storage(index).err()).unwrap().to_string();
    assert!(failed.contains("the object changed while it was being read"), "{failed}");
    assert!(failed.contains(&name), "{failed}");
    // The others are unchanged.
    let other = capture.entry(1).unwrap().map().unwrap();
    other.storage(0).unwrap();
}

#[test]
fn a_storage_whose_local_header_contradicts_the_directory_is_refused_before_it_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let mut call = OperatorCall::named("add");
    call.set("input=int32[200000]").unwrap();
    call.set("other=int32[200000]").unwrap();
    let local = folder.path().join("add");
    call.write(&local, 1, 0, &WriteOptions::default(), &mut |_| Ok(Vec::new())).unwrap();
    let server = Server::start();
    server.put_folder("/add", &local);
    // The header of the second storage is neither at the start of the file nor at its end: the first of two names.
    let mut bytes = server.get("/add/entry_000000.pt").unwrap();
    let at = bytes.windows(7).position(|window| window == b"/data/1").unwrap();
    bytes[at + 6] = b'7';
    server.put("/add/entry_000000.pt", bytes);
    let mirror = open(format!("{}/add", server.url).as_ref(), &impatient()).unwrap();
    let capture = Capture::open(mirror.path()).unwrap();
    let entry = capture.entry(0).unwrap();
    let mapped = entry.map().unwrap();
    mapped.storage(0).unwrap();
    let error = mapped.storage(1).unwrap_err().to_string();
    assert!(error.contains("record `data/1`") && error.contains("data/7"), "{error}");
    let bound = entry.bind(capture.order()).unwrap();
    assert!(entry.fetch(&bound, false).is_err() && entry.fetch(&bound, true).is_err());
}

#[test]
fn an_answer_without_end_is_given_up() {
    let scene = Scene::new();
    scene.server.fail(|_, seen| (seen.method == "PROPFIND").then_some(Fault::EndlessList));
    let error = scene.open(&impatient()).unwrap_err().to_string();
    assert!(error.contains("an answer of more than"), "{error}");
}
