use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use plimsoll_capture::Capture;
use plimsoll_capture::synthesize::OperatorCall;
use plimsoll_capture::write::Options as WriteOptions;
use plimsoll_memory::bytes::ByteSize;
use plimsoll_remote::{Mirror, Options, open};

use crate::server::Server;
use crate::support::{holding, impatient};

/// A server with a capture of six entries of about 1.6 MB.
fn scene() -> Server {
    let folder = tempfile::tempdir().unwrap();
    let mut call = OperatorCall::named("add");
    call.set("input=int32[200000]").unwrap();
    call.set("other=int32[200000]").unwrap();
    let local = folder.path().join("add");
    call.write(&local, 6, 0, &WriteOptions::default(), &mut |_| Ok(Vec::new())).unwrap();
    let server = Server::start();
    server.put_folder("/add", &local);
    server
}

fn opened(server: &Server, options: &Options) -> (Mirror, Capture) {
    let mirror = open(format!("{}/add", server.url).as_ref(), options).unwrap();
    let capture = Capture::open(mirror.path()).unwrap();
    server.take_seen();
    (mirror, capture)
}

fn read_whole(capture: &Capture, index: usize) {
    let entry = capture.entry(index).unwrap();
    let bound = entry.bind(capture.order()).unwrap();
    entry.fetch(&bound, false).unwrap();
}

/// The entries of which bytes were fetched, once these were, or after a minute.
fn fetched(server: &Server, wanted: &[usize]) -> BTreeSet<usize> {
    let (mut seen, end) = (BTreeSet::new(), Instant::now() + Duration::from_secs(60));
    while !wanted.iter().all(|index| seen.contains(index)) && Instant::now() < end {
        let paths = server.take_seen().into_iter().filter(|seen| seen.method == "GET").map(|seen| seen.path);
        seen.extend(paths.map(|path| path["/add/entry_".len()..][..6].parse::<usize>().unwrap()));
        std::thread::sleep(Duration::from_millis(2));
    }
    seen
}

#[test]
fn entries_after_one_that_is_read_whole_are_fetched_in_their_order() {
    let server = scene();
    let (_mirror, capture) = opened(&server, &impatient());
    read_whole(&capture, 0);
    let all = [0, 1, 2, 3, 4, 5];
    assert_eq!(fetched(&server, &all), BTreeSet::from(all));
    // All is here then, or on its way.
    (1..6).for_each(|index| read_whole(&capture, index));
    assert!(server.take_seen().iter().all(|seen| seen.method != "GET"));
}

#[test]
fn of_a_share_the_entries_of_other_shares_are_not_fetched() {
    let server = scene();
    let (_mirror, capture) = opened(&server, &impatient());
    let share = capture.select(&[1, 3, 5]);
    read_whole(&share, 0);
    assert_eq!(fetched(&server, &[1, 3, 5]), BTreeSet::from([1, 3, 5]));
    (1..3).for_each(|index| read_whole(&share, index));
    assert!(server.take_seen().iter().all(|seen| seen.method != "GET"));
}

#[test]
fn nothing_is_fetched_ahead_that_could_not_be_held() {
    let server = scene();
    // One entry and a half.
    let (mirror, capture) = opened(&server, &holding(ByteSize::new(2_400_000)));
    for index in 0..6 {
        read_whole(&capture, index);
    }
    let held: u64 = mirror.files().map(allocated).sum();
    assert!(held < 2_500_000, "{held}");
    let seen = server.take_seen();
    let sent: u64 = seen.iter().map(|seen| seen.sent).sum();
    assert!(sent < 6 * 1_700_000, "each is fetched once: {sent}");
}

/// The bytes that a file takes on the disk.
fn allocated(path: &std::path::Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    path.metadata().unwrap().blocks() * 512
}
