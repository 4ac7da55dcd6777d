//! Records, their proofs, and changes between two of them.

use std::fs;

use plimsoll::record::Record;
use serde_json::Value;

use crate::support::{Scene, plimsoll, run};

fn record(scene: &Scene, flags: &[&str]) -> Record {
    scene.run(scene.command("check").args(["--kernel", "builtin:embedding", "--launches", "5"]).args(flags)).1
}

#[test]
fn memory_policy_never_changes_the_semantics() {
    let scene = Scene::new(3);
    let digest = record(&scene, &[]).semantics_digest;
    for flags in [
        ["--batch-bytes", "70KiB"],
        ["--recycle-after", "1B"],
        ["--recycle-rss", "1B"],
        ["--over-cap", "refuse"],
        ["--timeout", "1h"],
        ["--sample-interval", "1ms"],
        ["--peak-rss", "10GiB"],
    ] {
        assert_eq!(record(&scene, &flags).semantics_digest, digest, "{flags:?}");
    }
}

#[test]
fn what_is_measured_changes_the_semantics() {
    let scene = Scene::new(3);
    let mut digests = vec![record(&scene, &[]).semantics_digest];
    for flags in [
        ["--launches", "6"],
        ["--warmup", "1"],
        ["--protocol", "samples"],
        ["--compare", "torch"],
        ["--rtol", "0.5"],
        ["--digest", "full"],
    ] {
        let flags = ["--kernel", "builtin:embedding"].into_iter().chain(flags);
        digests.push(scene.run(scene.command("check").args(flags)).1.semantics_digest);
    }
    fs::rename(scene.entry(0), scene.entry(7)).unwrap();
    digests.push(record(&scene, &[]).semantics_digest);
    let count = digests.len();
    digests.sort();
    digests.dedup();
    assert_eq!(digests.len(), count);
}

#[test]
fn compare_names_what_changed_and_exits_1_when_it_is_the_semantics() {
    let scene = Scene::new(2);
    let compare = |a: &str, b: &str| run(plimsoll().arg("compare").arg(scene.path(a)).arg(scene.path(b)));
    let keep = |name: &str, flags: &[&str]| {
        record(&scene, flags);
        fs::rename(scene.record(), scene.path(name)).unwrap();
    };
    keep("a.json", &[]);
    keep("b.json", &["--batch-bytes", "70KiB"]);
    keep("c.json", &["--compare", "torch"]);
    let (code, out, _) = compare("a.json", "b.json");
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("batch"), "{out}");
    let (code, out, _) = compare("a.json", "c.json");
    assert_eq!(code, 1);
    assert!(out.contains("comparison"), "{out}");
    let (code, _, err) = compare("a.json", "missing.json");
    assert_eq!(code, 2);
    assert!(err.contains("missing.json"), "{err}");
    fs::write(scene.path("broken.json"), "{").unwrap();
    assert_eq!(compare("a.json", "broken.json").0, 2);
}

#[test]
fn a_record_is_what_its_schema_says() {
    let scene = Scene::new(1);
    record(&scene, &[]);
    let (_, schema, _) = run(plimsoll().args(["schema", "record"]));
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let document: Value = serde_json::from_slice(&fs::read(scene.record()).unwrap()).unwrap();
    let required = schema["required"].as_array().unwrap();
    for key in required {
        assert!(document.get(key.as_str().unwrap()).is_some(), "{key}");
    }
    let known = schema["properties"].as_object().unwrap();
    for key in document.as_object().unwrap().keys() {
        assert!(known.contains_key(key), "{key}");
    }
}

#[test]
fn the_report_is_what_its_snapshot_shows() {
    let scene = Scene::new(3);
    let (_, out, _) = run(scene.command("check").args(["--kernel", "builtin:embedding", "--batch-bytes", "150KiB"]));
    insta::with_settings!({
        snapshot_path => concat!(env!("CARGO_MANIFEST_DIR"), "/../snapshots"),
        prepend_module_to_snapshot => false,
        // Figures, paths and the machine differ from run to run.
        filters => vec![
            (r"\d+(\.\d+)? ?(ns|µs|ms|s|B|KiB|MiB|GiB)\b", "[figure]"),
            (r"( |^)/\S+", "$1[path]"),
            (r"machine .*", "machine [machine]"),
            (r"blake3:[0-9a-f]+", "[digest]"),
            // Columns are as wide as their figures.
            (r"─+", "─"),
            (r" +", " "),
        ],
    }, {
        insta::assert_snapshot!("cli_check", out.lines().take(12).collect::<Vec<_>>().join("\n"));
    });
}
