//! What each package may depend on: users take in what they use, and floors point down.

mod circles;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// The packages of the project, and which of the others each may use.
const MAY_USE: [(&str, &[&str]); 8] = [
    ("plimsoll-statistics", &[]),
    ("plimsoll-memory", &[]),
    ("plimsoll-attribute", &[]),
    ("plimsoll-capture", &["plimsoll-memory", "plimsoll-statistics"]),
    ("plimsoll-diagnose", &["plimsoll-memory", "plimsoll-statistics"]),
    (
        "plimsoll",
        &["plimsoll-attribute", "plimsoll-capture", "plimsoll-diagnose", "plimsoll-memory", "plimsoll-statistics"],
    ),
    ("plimsoll-harness", &["plimsoll"]),
    ("plimsoll-torch", &["plimsoll", "plimsoll-harness"]),
];

/// The most packages that a test compiles which depends on `plimsoll` alone, itself included.
const MOST_PACKAGES: usize = 45;

fn metadata(arguments: &[&str]) -> Value {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--offline", "--locked", "--manifest-path", manifest])
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[test]
fn packages_use_only_what_stands_below_them() {
    let metadata = metadata(&["--no-deps"]);
    let mut seen = BTreeSet::new();
    for package in metadata["packages"].as_array().unwrap() {
        let name = text(&package["name"]);
        let (_, allowed) = MAY_USE.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("{name} is new"));
        for dependency in package["dependencies"].as_array().unwrap() {
            let used = text(&dependency["name"]);
            let is_ours = MAY_USE.iter().any(|(known, _)| *known == used);
            // Tests may use more of a package that theirs uses already.
            assert!(!is_ours || used == name || allowed.contains(&used), "{name} must not use {used}");
        }
        seen.insert(name.to_owned());
    }
    assert_eq!(seen.len(), MAY_USE.len(), "{seen:?}");
}

#[test]
fn a_test_takes_in_few_packages() {
    // The packages of the default features, without those of tests and benchmarks.
    let metadata = metadata(&[]);
    let nodes: BTreeMap<&str, &Value> =
        metadata["resolve"]["nodes"].as_array().unwrap().iter().map(|node| (text(&node["id"]), node)).collect();
    let packages: BTreeMap<&str, &Value> =
        metadata["packages"].as_array().unwrap().iter().map(|package| (text(&package["id"]), package)).collect();
    let optional = |package: &Value, name: &str| {
        let dependencies = package["dependencies"].as_array().unwrap().iter();
        let mut named =
            dependencies.filter(|dependency| text(&dependency["name"]) == name && dependency["kind"].is_null());
        named.all(|dependency| dependency["optional"] == true)
    };
    let root = packages.values().find(|package| package["name"] == "plimsoll").unwrap();
    let (mut taken, mut left) = (BTreeSet::new(), vec![text(&root["id"])]);
    while let Some(id) = left.pop() {
        if !taken.insert(id) {
            continue;
        }
        for dependency in nodes[id]["deps"].as_array().unwrap() {
            let linux = |kind: &&Value| kind["target"].is_null() || text(&kind["target"]).contains("linux");
            let kinds = dependency["dep_kinds"].as_array().unwrap();
            let built = kinds.iter().filter(|kind| kind["kind"] != "dev").any(|kind| linux(&kind));
            let name = text(&packages[text(&dependency["pkg"])]["name"]);
            // Of our own packages nothing optional is on by default; of others what is resolved may be.
            let ours = name_of(packages[id]).starts_with("plimsoll");
            if built && !(ours && optional(packages[id], name)) {
                left.push(text(&dependency["pkg"]));
            }
        }
    }
    let names: BTreeSet<&str> = taken.iter().map(|id| name_of(packages[*id])).collect();
    assert!(names.contains("plimsoll-memory") && names.len() <= MOST_PACKAGES, "{}: {names:?}", names.len());
    for heavy in ["plimsoll-capture", "plimsoll-diagnose", "nvml-wrapper", "cudarc", "regex", "schemars", "zstd"] {
        assert!(!names.contains(heavy), "{heavy} is among {names:?}");
    }
}

fn name_of(package: &Value) -> &str {
    text(&package["name"])
}
