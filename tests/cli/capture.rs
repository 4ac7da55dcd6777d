//! Entries written to a store by `harness/python/plimsoll_capture`, used by the command.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::support::{Scene, kernel, plimsoll, run, torch_python};

fn ok<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> String {
    let (code, out, err) = run(plimsoll().args(arguments));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    out
}

#[test]
fn what_python_captures_is_verified_unpacked_checked_and_packed_upon() {
    let Some(python) = torch_python() else { return };
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/python/capture_model.py");
    let mut capturing = Command::new(&python).arg(script).arg(dir.path()).spawn().unwrap();
    let (store, saved, out) = (path("store"), path("saved"), path("out"));

    // Meanwhile others pack into the same store and collect its garbage.
    let scene = Scene::new(3);
    let (mut names, mut collected) = (Vec::new(), [0, 0]);
    while names.len() < 20 && capturing.try_wait().unwrap().is_none() {
        names.push(format!("packed-{}", names.len()));
        ok(["pack", scene.capture().to_str().unwrap(), "--out", &store, "--name", &names[names.len() - 1]]);
        let (code, out, err) = run(plimsoll().args(["store", "gc", &store]));
        assert!(code == 0 || code == 2 && err.contains("being packed into this store"), "{out}{err}");
        collected[usize::from(code == 0)] += 1;
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(capturing.wait().unwrap().success());
    assert!(collected[1] > 0, "{collected:?}");
    for name in &names {
        ok(["verify", &store, name, "--against", scene.capture().to_str().unwrap()]);
    }
    names.iter().for_each(|name| std::fs::remove_dir_all(Path::new(&store).join("captures").join(name)).unwrap());
    ok(["store", "gc", &store]);

    let verified = ok(["verify", &store]);
    assert!(verified.contains("everything holds"), "{verified}");
    ok(["unpack", &store, "--out", &out]);
    for capture in ["embedding", "layer_norm", "linear", "multi_head_attention_forward", "scaled_dot_product_attention"]
    {
        let name = format!("torch_nn_functional_{capture}");
        ok(["verify", &store, &name, "--against", &format!("{saved}/{name}")]);
        let files = std::fs::read_dir(format!("{saved}/{name}")).unwrap().map(|file| file.unwrap().file_name());
        for file in files {
            let read = |folder: &str| std::fs::read(Path::new(folder).join(&name).join(&file)).unwrap();
            assert!(read(&out) == read(&saved), "{name}/{file:?}");
        }
    }

    // Packing the output of torch.save adds no storage.
    let again =
        ok(["pack", &format!("{saved}/torch_nn_functional_linear"), "--out", &store, "--name", "again", "--json"]);
    let again: serde_json::Value = serde_json::from_str(&again).unwrap();
    assert!(again["added_bytes"].as_u64() < Some(20_000), "{again}");
    let garbage: serde_json::Value = serde_json::from_str(&ok(["store", "gc", &store, "--json"])).unwrap();
    assert_eq!(garbage["objects"], 0, "entries lead to everything that was written");

    let check = |source: &str, kernel: &str| {
        let mut command = plimsoll();
        command.args(["check", source, "--kernel", kernel, "--no-record", "--launches", "2", "--warmup", "1"]);
        let (code, out, err) = run(command.arg("--python").arg(&python));
        assert_eq!((code, err.as_str()), (0, ""), "{out}");
        out
    };
    let checked = check(&path("one"), "builtin:embedding");
    assert!(checked.contains("3 of 3 entries passed"), "{checked}");
    check(&format!("{store}/captures/torch_nn_functional_linear"), &kernel("torch_linear"));
}
