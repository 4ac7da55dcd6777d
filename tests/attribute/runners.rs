//! The attribute under other runners.

use std::process::Command;

#[test]
fn nextest_runs_them_too() {
    let found = Command::new("cargo-nextest").args(["nextest", "--version"]).output();
    if !found.is_ok_and(|output| output.status.success()) {
        println!("cargo-nextest is not installed: this was not tried");
        return;
    }
    // nextest gets this very binary, so that it builds nothing.
    let folder = tempfile::tempdir().unwrap();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let metadata = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()
        .unwrap();
    let known: serde_json::Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let packages = known["packages"].as_array().unwrap();
    let package = packages.iter().find(|package| package["name"] == "plimsoll").unwrap();
    let binaries = serde_json::json!({
        "rust-build-meta": {
            "target-directory": known["target_directory"],
            "base-output-directories": [],
            "non-test-binaries": {},
            "linked-paths": [],
        },
        "rust-binaries": {
            "plimsoll::attribute": {
                "binary-id": "plimsoll::attribute",
                "binary-name": "attribute",
                "package-id": package["id"],
                "kind": "test",
                "binary-path": std::env::current_exe().unwrap(),
                "build-platform": "target",
            },
        },
    });
    let [cargo_file, binaries_file] = ["cargo.json", "binaries.json"].map(|name| folder.path().join(name));
    std::fs::write(&cargo_file, &metadata.stdout).unwrap();
    std::fs::write(&binaries_file, binaries.to_string()).unwrap();
    let run = |filter: &str| {
        let mut command = Command::new("cargo-nextest");
        command.args(["nextest", "run", "--run-ignored", "all", "--no-fail-fast", "-E", filter]).env("NO_COLOR", "1");
        // The surrounding run has chosen a profile and a subset of the tests for itself.
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("NEXTEST")) {
            command.env_remove(name);
        }
        command.arg("--cargo-metadata").arg(&cargo_file).arg("--binaries-metadata").arg(&binaries_file);
        super::fixture::ran(command.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap())
    };
    run("test(=fixtures::holds) + test(=fixtures::panics_as_expected) + test(/^usage::an_async/)")
        .passes()
        .says("4 passed");
    run("test(=fixtures::breaks_ceilings)").fails().says("above its ceiling of 48.00 MiB");
}
