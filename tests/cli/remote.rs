//! Captures at an address: what kernels in workers receive, and how server faults end.

#[path = "../remote/server.rs"]
mod server;

use std::process::Command;

use crate::support::{Scene, plimsoll, run};
use server::{Fault, Server};

/// A server with the capture of `scene`.
fn serve(scene: &Scene) -> (Server, String) {
    let server = Server::start();
    server.put_folder("/capture", &scene.capture());
    let address = format!("{}/capture", server.url);
    (server, address)
}

/// `plimsoll PART ADDRESS --kernel KERNEL --no-record`, fetching into a folder of the scene.
fn on(scene: &Scene, part: &str, address: &str, kernel: &str) -> Command {
    let temporary = scene.path("temporary");
    std::fs::create_dir_all(&temporary).unwrap();
    let mut command = plimsoll();
    command.args([part, address, "--kernel", kernel, "--no-record"]).env("TMPDIR", temporary);
    command
}

/// The remaining contents of the folder that captures were fetched to.
fn left(scene: &Scene) -> usize {
    std::fs::read_dir(scene.path("temporary")).unwrap().count()
}

#[test]
fn a_kernel_in_a_worker_is_checked_on_a_capture_at_an_address() {
    let scene = Scene::new(5);
    let (_server, address) = serve(&scene);
    for part in ["check", "validate", "profile"] {
        let (code, out, err) = run(&mut on(&scene, part, &address, "builtin:embedding"));
        assert_eq!(code, 0, "{out}{err}");
        assert!(out.contains("5 of 5") || out.contains("5 entries"), "{out}");
    }
    assert_eq!(left(&scene), 0, "nothing stays of what was fetched");
}

#[test]
fn a_library_is_given_whole_storages() {
    let scene = Scene::new(3);
    let (_server, address) = serve(&scene);
    let library = scene.path("embedding.so");
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
    let mut compiler = Command::new("cc");
    compiler
        .args(["-O1", "-shared", "-fPIC", "-I", examples, "-o"])
        .arg(&library)
        .arg(format!("{examples}/embedding.c"));
    let built = compiler.status();
    assert!(built.unwrap().success());
    let kernel = format!("lib:{}", library.display());
    let (code, out, err) = run(&mut on(&scene, "check", &address, &kernel));
    assert_eq!(code, 0, "{out}{err}");
}

#[test]
fn a_server_that_fails_ends_in_exit_code_2_with_what_to_do() {
    let scene = Scene::new(3);
    let (server, address) = serve(&scene);
    for (fault, says) in
        [(Fault::Expired, "the credentials have expired"), (Fault::Whole, "the server does not keep to ranges")]
    {
        // Names can be listed, but nothing can be read.
        server.fail(move |_, seen| (seen.method == "GET").then_some(fault));
        let (code, out, err) = run(&mut on(&scene, "check", &address, "builtin:embedding"));
        assert_eq!(code, 2, "{fault:?}: {out}{err}");
        assert!(err.contains(says) && err.contains(&address), "{fault:?}: {err}");
        assert_eq!(left(&scene), 0);
    }
    server.mend();
    let (code, _, err) = run(plimsoll().args(["inspect", &format!("{address}/none.pt")]));
    assert_eq!((code, err.contains("there is nothing at this address")), (2, true), "{err}");
    let (code, _, err) = run(plimsoll().args(["inspect", "http://example.com/capture"]));
    assert_eq!((code, err.contains("--allow-http")), (2, true), "{err}");
    let (code, _, err) = run(plimsoll().args(["pack", "--out", &address]).arg(scene.capture()));
    assert_eq!((code, err.contains("give s3://, gs:// or az://")), (2, true), "{err}");
    let (code, _, err) = run(plimsoll().args(["pack", "--move", "--out", "s3://bucket/store"]).arg(scene.capture()));
    assert_eq!((code, err.contains("an upload may still fail")), (2, true), "{err}");
    let (code, _, err) = run(plimsoll().args(["pack", &address, "--out"]).arg(scene.path("store")));
    assert_eq!((code, err.contains("copy the capture here first")), (2, true), "{err}");
    let (code, _, err) = run(plimsoll().args(["store", "gc", "s3://bucket/store"]));
    assert_eq!((code, err.contains("make a local copy")), (2, true), "{err}");
}

#[test]
fn a_second_run_with_a_cache_fetches_headers_alone() {
    let scene = Scene::new(1);
    let (server, address) = serve(&scene);
    let cache = scene.path("cache");
    // A kernel that may read everything, so that whole pieces are cached.
    let check = || run(plimsoll().args(["inspect", &address, "--verify", "--cache"]).arg(&cache));
    let sent = || server.take_seen().iter().filter(|seen| seen.method == "GET").map(|seen| seen.sent).sum::<u64>();
    let (code, out, err) = check();
    assert_eq!(code, 0, "{out}{err}");
    let first = sent();
    assert!(first > 0);
    let (code, again, err) = check();
    assert_eq!((code, &again), (0, &out), "{err}");
    assert!(sent() < first, "the second run is served by the cache");
}
