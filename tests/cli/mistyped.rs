//! An unknown name is answered with the one that was probably meant.

use std::fs;
use std::process::Command;

use crate::support::{Scene, plimsoll, run};

/// Asserts that `command` answers a mistyped name with `meant`.
fn suggests(command: &mut Command, meant: &str) {
    let (code, out, err) = run(command);
    assert_eq!((code, out.as_str()), (2, ""), "{command:?}: {err}");
    assert!(err.contains(meant), "{command:?} does not suggest {meant}: {err}");
}

#[test]
fn a_command() {
    for (wrong, meant) in [("chek", "'check'"), ("diagnos", "'diagnose'"), ("estimat", "'estimate'")] {
        suggests(plimsoll().arg(wrong), meant);
    }
    suggests(plimsoll().args(["history", "shwo"]), "'show'");
    suggests(plimsoll().args(["man", "chekc"]), "did you mean `check`?");
    suggests(plimsoll().args(["schema", "recrod"]), "'record'");
}

#[test]
fn a_flag() {
    suggests(plimsoll().args(["run", "--peak-rs", "1GiB", "--", "true"]), "'--peak-rss'");
    suggests(plimsoll().args(["check", "cap", "--kernal", "builtin:embedding"]), "'--kernel'");
    suggests(plimsoll().args(["check", "cap", "--protocol", "sample"]), "'samples'");
}

#[test]
fn a_metric_and_a_figure() {
    suggests(plimsoll().args(["calibrate", "--metric", "peek_rss", "--", "true"]), "did you mean `peak_rss`?");
    let scene = Scene::new(1);
    fs::write(scene.path("plimsoll.toml"), "[ceilings]\npeek_rss = \"1 GiB\"\n").unwrap();
    suggests(plimsoll().current_dir(scene.path("")).args(["run", "--", "true"]), "did you mean `peak_rss`?");
}

#[test]
fn a_verdict() {
    let scene = Scene::new(1);
    fs::write(scene.path("log"), "nothing\n").unwrap();
    suggests(plimsoll().arg("diagnose").arg(scene.path("log")).args(["--fail-on", "fragmentatoin"]), "fragmentation");
}

#[test]
fn a_kernel() {
    let scene = Scene::new(1);
    suggests(scene.command("check").args(["--kernel", "builtin:embeding"]), "embedding");
    suggests(scene.command("check").args(["--kernel", "biultin:embedding"]), "builtin:NAME");
}
