//! `pack`, `unpack`, `verify`, `store`, and runs directly from a store.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use plimsoll::record::{Record, SourceKind};

use super::support::{Scene, kernel, plimsoll, run, torch_python};

fn ok(arguments: &[&Path]) -> String {
    let (code, out, err) = run(plimsoll().args(arguments));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    out
}

fn arguments<'a>(words: &'a [&'a str]) -> impl Iterator<Item = &'a Path> {
    words.iter().map(Path::new)
}

fn pack(scene: &Scene) -> PathBuf {
    let store = scene.path("store");
    let mut words: Vec<_> = arguments(&["pack"]).collect();
    let capture = scene.capture();
    words.extend([capture.as_path(), Path::new("--out"), &store]);
    ok(&words);
    store
}

fn same(a: &Path, b: &Path) {
    for item in std::fs::read_dir(a).unwrap() {
        let name = item.unwrap().file_name();
        assert!(std::fs::read(a.join(&name)).unwrap() == std::fs::read(b.join(&name)).unwrap(), "{name:?}");
    }
}

/// Replaces what varies between runs: paths and speeds.
fn steady(scene: &Scene, text: &str) -> String {
    let text = text.replace(scene.path("").to_str().unwrap(), "");
    let line = |line: &str| match line.rfind(", ").filter(|_| line.ends_with("/s")) {
        Some(at) => line[..at].to_owned(),
        None => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n") + "\n"
}

#[test]
fn a_capture_is_packed_shown_verified_and_unpacked() {
    let scene = Scene::new(4);
    let (capture, store, out) = (scene.capture(), scene.path("store"), scene.path("out"));
    for item in std::fs::read_dir(&capture).unwrap() {
        // A recipe contains the time: its size must not depend on the number of digits of the nanoseconds.
        let file = std::fs::File::options().write(true).open(item.unwrap().path()).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + Duration::new(1_700_000_000, 123_456_789)).unwrap();
    }
    let path = Path::new;
    let mut text = String::new();
    for words in [
        vec![path("pack"), &capture, path("--out"), &store],
        vec![path("pack"), &capture, path("--out"), &store],
        vec![path("store"), path("stat"), &store],
        vec![path("store"), path("ls"), &store],
        vec![path("verify"), &store, path("--against"), &capture],
        vec![path("unpack"), &store, path("--out"), &out],
        vec![path("store"), path("gc"), &store],
    ] {
        text.push_str(&steady(&scene, &ok(&words)));
    }
    same(&capture, &out);
    insta::with_settings!({snapshot_path => "../../snapshots", prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!("cli_store", text);
    });
}

#[test]
fn a_store_that_has_nothing_of_a_folder_is_not_equal_to_it() {
    let scene = Scene::new(1);
    let (store, nest) = (scene.path("store"), scene.path("nest"));
    std::fs::create_dir(&nest).unwrap();
    std::fs::write(nest.join("entry_000000.pt"), "of another program").unwrap();
    let (code, _, err) = run(plimsoll().arg("pack").arg(&nest).arg("--out").arg(&store));
    assert_eq!(code, 2, "{err}");
    std::fs::remove_file(nest.join("entry_000000.pt")).unwrap();
    std::fs::create_dir(nest.join("inner")).unwrap();
    std::fs::copy(scene.entry(0), nest.join("inner/entry_000000.pt")).unwrap();
    let (code, _, err) = run(plimsoll().arg("verify").arg(&store).arg("--against").arg(&nest));
    assert!(code == 2 && err.contains("nothing was compared"), "{err}");
}

#[test]
fn a_folder_that_cannot_be_packed_leaves_no_store() {
    let scene = Scene::new(1);
    let store = scene.path("store");
    let empty = scene.path("empty");
    std::fs::create_dir(&empty).unwrap();
    for folder in [empty, scene.path("absent")] {
        let (code, _, err) = run(plimsoll().args([Path::new("pack"), &folder, Path::new("--out"), &store]));
        assert_eq!(code, 2, "{err}");
        assert!(!store.exists(), "{err}");
    }
}

#[test]
fn several_captures_are_verified_against_the_folders_that_they_were_unpacked_to() {
    let scene = Scene::new(2);
    let (store, out) = (scene.path("store"), scene.path("out"));
    let other = scene.path("other");
    std::fs::create_dir(&other).unwrap();
    // The entries have the same names but different contents.
    std::fs::copy(scene.entry(1), other.join("entry_000000.pt")).unwrap();
    for capture in [&scene.capture(), &other] {
        ok(&[Path::new("pack"), capture, Path::new("--out"), &store]);
    }
    ok(&[Path::new("unpack"), &store, Path::new("--out"), &out]);
    let text = ok(&[Path::new("verify"), &store, Path::new("--against"), &out]);
    assert!(text.contains("; 3 equal those of "), "{text}");
    std::fs::copy(scene.entry(0), out.join("other/entry_000000.pt")).unwrap();
    std::fs::remove_file(out.join("capture/entry_000001.pt")).unwrap();
    std::fs::copy(scene.entry(0), out.join("capture/entry_000007.pt")).unwrap();
    let (code, text, _) = run(plimsoll().arg("verify").arg(&store).arg("--against").arg(&out));
    assert_eq!(code, 1);
    for words in [
        "the folder has no capture/entry_000001.pt",
        "out/other/entry_000000.pt",
        "entry_000007.pt: the file is not in the store",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn every_command_speaks_json() {
    let scene = Scene::new(2);
    let (capture, store, out) = (scene.capture(), scene.path("store"), scene.path("out"));
    let path = Path::new;
    let json = |words: &[&Path]| -> serde_json::Value {
        let text = ok(&[words, &[path("--json")]].concat());
        serde_json::from_str(&text).unwrap()
    };
    let packed = json(&[path("pack"), &capture, path("--out"), &store]);
    assert_eq!((packed["capture"].as_str(), packed["entries"][0]["status"].as_str()), (Some("capture"), Some("new")));
    assert!(packed["added_bytes"].as_u64() < packed["bytes"].as_u64());
    assert_eq!(json(&[path("unpack"), &store, path("--out"), &out])["files"].as_array().unwrap().len(), 2);
    assert_eq!(json(&[path("verify"), &store])["problems"], serde_json::json!([]));
    assert_eq!(json(&[path("store"), path("ls"), &store])[0]["entries"][1]["name"], "entry_000001.pt");
    assert_eq!(json(&[path("store"), path("stat"), &store])["file_bytes"], packed["bytes"]);
    assert_eq!(json(&[path("store"), path("gc"), &store])["objects"], 0);
    let (plain, packed) = (json(&[path("inspect"), &capture]), json(&[path("inspect"), &store]));
    assert_eq!((&plain["totals"], &plain["repeats"]), (&packed["totals"], &packed["repeats"]));
    assert_eq!(plain["entries"][1]["tensors"], packed["entries"][1]["tensors"]);
}

#[test]
fn a_run_from_the_store_means_the_same_as_one_from_the_folder() {
    let scene = Scene::new(4);
    let store = pack(&scene);
    let mut command = scene.command("check");
    let (code, plain) = scene.run(command.args(["--kernel", "builtin:embedding", "--launches", "2"]));
    assert_eq!(code, 0);
    let record = scene.path("from-store.json");
    let mut command = plimsoll();
    command.arg("check").arg(&store).args(["--kernel", "builtin:embedding", "--launches", "2", "--verify", "always"]);
    let (code, out, err) = run(command.arg("--record").arg(&record));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let packed = Record::read(&record).unwrap();
    assert_eq!((&plain.semantics, &plain.semantics_digest), (&packed.semantics, &packed.semantics_digest));
    let (a, b) = (plain.policy.capture().unwrap(), packed.policy.capture().unwrap());
    assert_eq!((a.source.kind, b.source.kind), (SourceKind::Folder, SourceKind::Store));
    let resident =
        |policy: &plimsoll::record::CapturePolicy| policy.batching.as_ref().unwrap().batches[0].bytes.bytes();
    let table = 512 * 64 * 2;
    assert_eq!(resident(a) - resident(b), 3 * table, "four entries of one table count it once");

    let differences = plimsoll::record::compare_records(&plain, &packed);
    assert!(!differences.semantics_changed());
    insta::with_settings!({snapshot_path => "../../snapshots", prepend_module_to_snapshot => false}, {
        let source = serde_json::to_value(&b.source).unwrap();
        let source = serde_json::json!({"kind": source["kind"], "verify": source["verify"]});
        insta::assert_json_snapshot!("cli_store_semantics", serde_json::json!({
            "semantics_digest": { "folder": plain.semantics_digest, "store": packed.semantics_digest },
            "policy_source": source,
        }));
    });
}

#[test]
fn a_store_remembers_what_runs_have_verified() {
    let scene = Scene::new(2);
    let store = pack(&scene);
    let validate = |verify: &str| {
        let mut command = plimsoll();
        command.arg("validate").arg(&store).args(["--kernel", "builtin:embedding", "--no-record", "--verify", verify]);
        run(&mut command)
    };
    // An object is remembered if it was written some time ago.
    let remembered = store.join("verified-1");
    for verify in ["always", "never"] {
        assert_eq!(validate(verify).0, 0);
    }
    for _ in 0..200 {
        assert!(!remembered.exists() || std::fs::metadata(&remembered).unwrap().is_file());
        assert_eq!(validate("once").0, 0);
        if remembered.exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let text = std::fs::read_to_string(&remembered).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!((lines[0], lines.len()), ("plimsoll.verified/1", 2), "the table alone is worth it: {text}");
    assert_eq!(validate("once").0, 0);
    assert_eq!(std::fs::read_to_string(&remembered).unwrap(), text);

    let table = &lines[1][..64];
    let path = store.join("objects").join(&table[..2]).join(table);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[5] ^= 1;
    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o644);
    std::fs::set_permissions(&path, permissions).unwrap();
    std::fs::write(&path, bytes).unwrap();
    let (code, out, _) = validate("once");
    assert!(code == 1 && out.contains(table), "{out}");
    assert_eq!(std::fs::read_to_string(&remembered).unwrap(), text, "what is damaged is not remembered");
    let (code, out, err) = run(plimsoll().args(["store", "gc"]).arg(&store));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert_eq!(run(plimsoll().arg("verify").arg(&store)).0, 1);
}

#[test]
fn python_kernels_run_from_a_store_and_cannot_change_it() {
    let Some(python) = torch_python() else { return };
    let scene = Scene::new(3);
    let store = pack(&scene);
    let check = |name: &str| {
        let mut command = plimsoll();
        command.arg("check").arg(&store).args(["--kernel", &kernel(name), "--no-record", "--launches", "2"]);
        run(command.arg("--python").arg(&python))
    };
    let (code, out, err) = check("torch_embedding");
    assert_eq!(code, 0, "{out}{err}");
    check("mutates_inputs");
    ok(&[Path::new("verify"), &store, Path::new("--against"), &scene.capture()]);
}

#[test]
fn a_damaged_object_fails_the_entries_that_it_hurts_and_no_other() {
    let scene = Scene::new(3);
    let store = pack(&scene);
    let (_, text, _) = run(plimsoll().arg("inspect").arg(store.join("captures/capture/entry_000001.pt")).arg("--json"));
    assert!(text.contains("\"storages\""), "{text}");
    let reference = std::fs::read_to_string(store.join("captures/capture/entry_000001.pt")).unwrap();
    let recipe = reference.split_whitespace().nth(1).unwrap();
    let recipe = std::fs::read(store.join("objects").join(&recipe[..2]).join(recipe)).unwrap();
    let recipe: serde_json::Value = serde_json::from_slice(&recipe).unwrap();
    // The table is shared; the other storages belong to one entry.
    let table =
        recipe["payloads"].as_array().unwrap().iter().max_by_key(|p| p["bytes"].as_u64()).unwrap()["object"].clone();
    let own = recipe["payloads"].as_array().unwrap().iter().find(|p| p["object"] != table).unwrap()["object"].clone();
    let own = own.as_str().unwrap();
    let path = store.join("objects").join(&own[..2]).join(own);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[7] ^= 1;
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, bytes).unwrap();

    let (code, out, _) = run(plimsoll().arg("verify").arg(&store));
    assert_eq!(code, 1);
    assert!(
        out.contains(own) && out.contains("hurts capture/entry_000001.pt") && !out.contains("entry_000000"),
        "{out}"
    );
    let mut command = plimsoll();
    command.arg("validate").arg(&store).args(["--kernel", "builtin:embedding", "--json"]);
    let (code, out, _) = run(&mut command);
    assert_eq!(code, 1);
    let record: Record = serde_json::from_str(&out).unwrap();
    let failed: Vec<_> = record.results.entries.iter().filter(|e| !e.validation.as_ref().unwrap().passed()).collect();
    assert_eq!(failed.len(), 1);
    let error = failed[0].validation.as_ref().unwrap().error.as_ref().unwrap();
    assert!(failed[0].name == "entry_000001.pt" && error.message.contains(own), "{}", error.message);
}

#[test]
fn what_is_no_store_or_cannot_be_written_is_said() {
    let scene = Scene::new(1);
    for command in [["verify"].as_slice(), &["store", "stat"], &["store", "gc"], &["store", "ls"]] {
        let (code, _, err) = run(plimsoll().args(command).arg(scene.capture()));
        assert_eq!(code, 2);
        assert!(err.contains("not a store: it has no"), "{err}");
    }
    let (code, _, err) = run(plimsoll().arg("pack").arg(scene.capture()).arg("--out").arg("/proc/store"));
    assert_eq!(code, 2);
    assert!(err.contains("/proc/store"), "{err}");
    let (code, _, err) = run(plimsoll().arg("pack").arg(scene.path("none")).arg("--out").arg(scene.path("store")));
    assert_eq!(code, 2);
    assert!(err.contains("none"), "{err}");
}

/// A file system of a few MiB, unmounted on drop; `None` if the process may not mount one.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn new(path: &Path, options: &str) -> Option<Self> {
        std::fs::create_dir(path).unwrap();
        let mount =
            std::process::Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(path).output();
        if mount.is_ok_and(|output| output.status.success()) {
            return Some(Self(path.to_owned()));
        }
        eprintln!("not run: it needs the right to mount a file system");
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_and_a_read_only_one_end_clean() {
    let scene = Scene::new(4);
    let Some(disk) = SmallDisk::new(&scene.path("disk"), "size=96k") else { return };
    let store = disk.0.join("store");
    let (code, _, err) = run(plimsoll().arg("pack").arg(scene.capture()).arg("--out").arg(&store));
    assert_eq!(code, 2);
    assert!(err.contains("No space left on device"), "{err}");
    assert_eq!(std::fs::read_dir(store.join("tmp")).unwrap().count(), 0, "nothing unfinished is left");
    let (code, out, err) = run(plimsoll().arg("verify").arg(&store));
    assert_eq!(code, 0, "{out}{err}");

    let options = "remount,size=16m";
    assert!(std::process::Command::new("mount").args(["-o", options]).arg(&disk.0).status().unwrap().success());
    ok(&[Path::new("pack"), &scene.capture(), Path::new("--out"), &store]);
    assert!(std::process::Command::new("mount").args(["-o", "remount,ro"]).arg(&disk.0).status().unwrap().success());
    let (code, _, err) = run(plimsoll().arg("pack").arg(scene.capture()).arg("--out").arg(&store));
    assert_eq!(code, 2);
    assert!(err.contains("Read-only file system"), "{err}");
    ok(&[Path::new("verify"), &store]);
    let mut command = plimsoll();
    let (code, out, err) =
        run(command.arg("validate").arg(&store).args(["--kernel", "builtin:embedding", "--no-record"]));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    ok(&[Path::new("unpack"), &store, Path::new("--out"), &scene.path("out")]);
    same(&scene.capture(), &scene.path("out"));
}

/// A simple random number generator suffices for the moments of kills.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    *state >> 33
}

fn kill_at(mut child: Child, after: Duration) -> bool {
    std::thread::sleep(after);
    let killed = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    child.wait().unwrap();
    killed
}

/// Kills packing, unpacking and collecting at random moments: the store restores everything that it claims to have.
fn kills(count: u64) {
    let scene = Scene::new(6);
    let (capture, store) = (scene.capture(), scene.path("store"));
    let spawn = |words: &[&Path]| plimsoll().args(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let path = Path::new;
    let (mut state, mut killed) = (count, 0);
    for round in 0..count {
        let name = format!("capture-{}", next(&mut state) % 3);
        let out = scene.path(&format!("out-{round}"));
        let words: Vec<&Path> = match next(&mut state) % 4 {
            0 => vec![path("unpack"), &store, path("--out"), &out],
            1 => {
                // Creates something to collect.
                let _ = std::fs::remove_file(store.join("captures").join(&name).join("entry_000001.pt"));
                vec![path("store"), path("gc"), &store]
            }
            _ => vec![path("pack"), &capture, path("--out"), &store, path("--name"), path(&name)],
        };
        let moment = Duration::from_micros(next(&mut state) % 12_000);
        killed += u64::from(kill_at(spawn(&words), moment));
        if store.join("plimsoll-store.json").exists() {
            let (code, text, err) = run(plimsoll().arg("verify").arg(&store));
            assert_eq!(code, 0, "round {round}, {words:?}: {text}{err}");
        }
        // Files for a single capture, one folder each for several.
        let items = std::fs::read_dir(&out).into_iter().flatten().map(|item| item.unwrap().path());
        let folders: Vec<_> = items.filter(|path| path.is_dir()).chain(out.exists().then(|| out.clone())).collect();
        folders.iter().for_each(|folder| complete(folder, &capture));
        let _ = std::fs::remove_dir_all(&out);
    }
    assert!(killed > count / 4, "{killed} of {count} were still at work");
    for name in ["capture-0", "capture-1", "capture-2"] {
        ok(&[path("pack"), &capture, path("--out"), &store, path("--name"), path(name)]);
        ok(&[path("verify"), &store, path(name), path("--against"), &capture]);
    }
    ok(&[path("store"), path("gc"), &store]);
    assert_eq!(std::fs::read_dir(store.join("tmp")).unwrap().count(), 0);
    ok(&[path("verify"), &store]);
}

/// Files with their final name are complete.
fn complete(folder: &Path, capture: &Path) {
    for file in std::fs::read_dir(folder).unwrap().map(|file| file.unwrap()) {
        if file.file_name().to_str().unwrap().starts_with("entry_") {
            assert!(std::fs::read(file.path()).unwrap() == std::fs::read(capture.join(file.file_name())).unwrap());
        }
    }
}

#[test]
fn a_kill_at_any_moment_loses_nothing() {
    kills(30);
}

#[test]
#[ignore = "takes minutes: cargo test --test cli -- --ignored a_thousand_kills"]
fn a_thousand_kills_lose_nothing() {
    kills(1000);
}

#[test]
fn a_name_forges_no_line_and_moves_no_cursor() {
    let scene = Scene::new(1);
    let store = scene.path("store");
    let (code, _, err) = run(plimsoll().arg("pack").arg(scene.capture()).arg("--out").arg(&store));
    assert_eq!(code, 0, "{err}");
    let forged = "a\n  1.00 KiB  forged\x1b[2J\x1b[31m\u{202e}";
    std::fs::rename(store.join("captures/capture"), store.join("captures").join(forged)).unwrap();
    for command in [["store", "ls"].as_slice(), &["store", "stat"], &["verify"]] {
        let mut forced = plimsoll();
        // As on a terminal: elsewhere every escape is removed.
        forced.env_remove("NO_COLOR").env("CLICOLOR_FORCE", "1").args(command).arg(&store);
        let (code, out, err) = run(&mut forced);
        assert_eq!(code, 0, "{err}");
        assert!(!out.contains("[2J\n") && !out.contains('\x1b') && !out.contains('\u{202e}'), "{out:?}");
        assert!(!out.lines().any(|line| line.trim_start().starts_with("1.00 KiB  forged")), "{out}");
    }
    // An error has one line, whatever name it has.
    let missing = scene.path("x\nHOLDS every verdict passed\x1b[2J");
    let (code, _, err) = run(plimsoll().env("CLICOLOR_FORCE", "1").args(["store", "ls"]).arg(&missing));
    assert!(code == 2 && err.trim_end().lines().count() == 1 && !err.contains("\x1b[2J"), "{err:?}");
}
