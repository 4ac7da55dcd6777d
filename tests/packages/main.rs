//! Allowed dependencies of each package: users get only what they use, and dependencies point downwards.

mod circles;
mod errors;
mod pages;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The packages of the project, and which others each may use.
const MAY_USE: [(&str, &[&str]); 10] = [
    ("plimsoll-statistics", &[]),
    ("plimsoll-memory", &[]),
    ("plimsoll-attribute", &[]),
    ("plimsoll-capture", &["plimsoll-memory", "plimsoll-statistics"]),
    ("plimsoll-diagnose", &["plimsoll-memory", "plimsoll-statistics"]),
    ("plimsoll-remote", &["plimsoll-capture", "plimsoll-memory"]),
    (
        "plimsoll",
        &[
            "plimsoll-attribute",
            "plimsoll-capture",
            "plimsoll-diagnose",
            "plimsoll-memory",
            "plimsoll-remote",
            "plimsoll-statistics",
        ],
    ),
    ("plimsoll-harness", &["plimsoll"]),
    ("plimsoll-torch", &["plimsoll", "plimsoll-harness"]),
    ("plimsoll-workspace-hack", &[]),
];

/// The maximum number of packages compiled for a test that depends only on `plimsoll`, including itself.
const MOST_PACKAGES: usize = 20;

/// The standard output of a cargo command.
fn cargo(arguments: &[&str]) -> Vec<u8> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo).args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// The packages that `cargo tree` lists, each once, in this format.
fn tree(format: &str, arguments: &[&str]) -> BTreeSet<String> {
    let flat = ["tree", "--prefix", "none", "--format", format, "--offline", "--locked"];
    let text = String::from_utf8(cargo(&[&flat, arguments].concat())).unwrap();
    text.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
}

fn metadata(arguments: &[&str]) -> Value {
    let output = cargo(&[&["metadata", "--format-version", "1", "--offline", "--locked"], arguments].concat());
    serde_json::from_slice(&output).unwrap()
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
            // Tests may depend on more than their package does.
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
            // Of our own packages, no optional one is enabled by default; of others, any resolved one may be.
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

#[test]
fn the_command_builds_nothing_of_tests_and_a_worker_nothing_of_the_command() {
    let built = |arguments: &[&str]| tree("{lib}", &[&["--edges", "normal,build"], arguments].concat());
    let command = built(&["--package", "plimsoll-harness"]);
    assert!(command.contains("clap") && command.contains("rusqlite"), "{command:?}");
    let of_tests: Vec<_> =
        ["criterion", "insta", "proptest"].into_iter().filter(|name| command.contains(*name)).collect();
    assert!(of_tests.is_empty(), "{of_tests:?}");
    let worker = built(&["--package", "plimsoll-torch", "--features", "tch"]);
    assert!(worker.contains("tch") && worker.contains("plimsoll_harness"), "{worker:?}");
    let of_command: Vec<_> =
        ["clap", "criterion", "indicatif", "nix", "proptest", "rusqlite", "signal_hook", "toml_edit"]
            .into_iter()
            .filter(|name| worker.contains(*name))
            .collect();
    assert!(of_command.is_empty(), "{of_command:?}");
}

/// The maximum size of a published package in bytes.
const LARGEST: u64 = 2 << 20;

#[test]
fn packages_are_published_whole_and_without_the_files_of_tests() {
    let metadata = metadata(&["--no-deps"]);
    // `publish = false` is an empty list of registries.
    let is_published = |package: &&Value| package["publish"].is_null();
    for package in metadata["packages"].as_array().unwrap().iter().filter(is_published) {
        let (name, manifest) = (name_of(package), Path::new(text(&package["manifest_path"])));
        assert!(package["description"].is_string() && package["license"].is_string(), "{name}");
        let folder = manifest.parent().unwrap();
        let listed = cargo(&["package", "--list", "--allow-dirty", "--offline", "--quiet", "--package", name]);
        let listed = String::from_utf8(listed).unwrap();
        let listed: BTreeSet<&Path> = listed.lines().map(Path::new).collect();
        for needed in ["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT"] {
            assert!(listed.contains(Path::new(needed)), "{name} lacks {needed}");
        }
        let mut bytes = 0;
        for file in &listed {
            assert!(
                !["benches", "docs", "snapshots", "tests"].iter().any(|of| file.starts_with(of)),
                "{name}: {file:?}"
            );
            bytes += std::fs::metadata(folder.join(file)).map_or(0, |facts| facts.len());
            let is_of_tests = file.ends_with("tests.rs") || file.components().any(|part| part.as_os_str() == "tests");
            if !is_of_tests && file.extension().is_some_and(|extension| extension == "rs") {
                for included in included(&std::fs::read_to_string(folder.join(file)).unwrap()) {
                    let included = file.parent().unwrap().join(included);
                    let there = folder.join(&included).canonicalize().unwrap();
                    let inside = there.strip_prefix(folder.canonicalize().unwrap());
                    assert!(
                        inside.is_ok_and(|inside| listed.contains(inside)),
                        "{name}: {file:?} includes {included:?}"
                    );
                }
            }
        }
        assert!(bytes <= LARGEST, "{name} has {bytes} bytes");
    }
}

/// The files that a module includes at compile time, outside of tests.
fn included(text: &str) -> impl Iterator<Item = &str> {
    // Test modules are files of their own with a matching name, or come last.
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let arguments = text.split("include_str!(").skip(1).chain(text.split("include_bytes!(").skip(1));
    arguments.filter_map(|rest| rest.strip_prefix('"')?.split('"').next())
}

fn name_of(package: &Value) -> &str {
    text(&package["name"])
}

/// The packages that a command on the workspace compiles, each with its version and its features.
fn compiled(arguments: &[&str]) -> BTreeSet<String> {
    let lines = tree("{p} {f}", &[&["--workspace", "--all-features"], arguments].concat());
    // The project's own packages have their folder in the line.
    let foreign = lines.iter().filter(|line| !line.is_empty() && !line.contains(" (/"));
    foreign.map(|line| line.replace(" (proc-macro)", "")).collect()
}

#[test]
fn every_command_compiles_a_package_with_the_same_features() {
    let without_torch = ["--exclude", "plimsoll-torch"];
    let built = compiled(&[&without_torch[..], &["--edges", "normal,build"]].concat());
    let tested = compiled(&[&without_torch[..], &["--edges", "normal,build,dev"]].concat());
    let with_torch = compiled(&["--edges", "normal,build,dev"]);
    assert!(built.len() > 100, "{built:?}");
    for (fewer, more, what) in [(&built, &tested, "tests"), (&tested, &with_torch, "the worker of libtorch")] {
        let again: Vec<&String> = fewer.difference(more).collect();
        assert!(
            again.is_empty(),
            "{what} ask for more features of packages than these, which are compiled again:\n{again:#?}\n\
             add the features to harness/workspace-hack/Cargo.toml"
        );
    }
}

/// The parts of rustix that are behind a feature of the same name.
const OF_RUSTIX: [&str; 14] = [
    "event", "fs", "mm", "mount", "net", "param", "pipe", "process", "pty", "stdio", "system", "termios", "thread",
    "time",
];

/// Every package of the workspace is built with the features that all ask for; a user's crate has those of one alone.
#[test]
fn each_package_asks_for_the_parts_of_rustix_that_it_uses() {
    let sources = words::sources();
    if sources.is_empty() {
        return; // an archive without git
    }
    let metadata = metadata(&["--no-deps"]);
    let packages = metadata["packages"].as_array().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = |package: &Value| Path::new(text(&package["manifest_path"])).strip_prefix(root).unwrap().to_owned();
    let folder = |package: &Value| manifest(package).parent().unwrap().to_owned();
    let mut used_by_any = 0;
    for (name, code) in &sources {
        let above = packages.iter().filter(|package| Path::new(name).starts_with(folder(package)));
        let package = above.max_by_key(|package| folder(package).components().count()).unwrap();
        let within = Path::new(name).strip_prefix(folder(package)).unwrap();
        let in_library = within.starts_with("src") || !root.join(folder(package)).join("src").is_dir();
        let of_tests = |part: &str| part.starts_with("test") || part == "fixtures.rs";
        if !in_library || within.iter().any(|part| of_tests(part.to_str().unwrap())) {
            continue;
        }
        let is_rustix = |dependency: &&Value| dependency["name"] == "rustix" && dependency["kind"].is_null();
        let declared = package["dependencies"].as_array().unwrap().iter().filter(is_rustix);
        let declared = declared.flat_map(|dependency| dependency["features"].as_array().unwrap()).map(text);
        let of_features = package["features"].as_object().unwrap().values().flat_map(|list| list.as_array().unwrap());
        let declared: BTreeSet<&str> =
            declared.chain(of_features.filter_map(|feature| text(feature).strip_prefix("rustix/"))).collect();
        let code = code.split("#[cfg(test)]").next().unwrap();
        for part in OF_RUSTIX.iter().filter(|part| code.contains(&format!("rustix::{part}::"))) {
            used_by_any += 1;
            assert!(declared.contains(part), "{name} uses rustix::{part}, and its package asks for {declared:?}");
        }
    }
    assert!(used_by_any > 50, "{used_by_any}");
}
