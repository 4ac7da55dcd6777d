//! Likely mistakes on a first look at a new project.

use plimsoll::meter::Cgroup;

use crate::support::{plimsoll, run};

#[test]
fn short_processes_side_by_side_do_not_hide() {
    if Cgroup::create("probe").is_err() {
        return println!("not possible here: a control group");
    }
    let four = "for n in 1 2 3 4; do (head -c 52428800 /dev/zero | tail -c 52428800 >/dev/null) & done; wait";
    for _ in 0..3 {
        let (code, _, err) =
            run(plimsoll().args(["run", "--no-config", "--peak-rss", "100MiB", "--", "sh", "-c", four]));
        assert!(code == 1 || code == 3, "they held 200 MiB together: {err}");
    }
    let in_turn = "for n in 1 2 3 4; do head -c 20971520 /dev/zero | tail -c 20971520 >/dev/null; done";
    let (code, _, err) =
        run(plimsoll().args(["run", "--no-config", "--peak-rss", "100MiB", "--", "sh", "-c", in_turn]));
    assert_eq!(code, 0, "{err}");
}

#[test]
fn the_group_holds_the_ceiling_on_it() {
    if Cgroup::create("probe").is_err() {
        return println!("not possible here: a control group");
    }
    let holds = "head -c 200M /dev/zero | tail -c 200M >/dev/null";
    let flags = ["run", "--no-config", "--enforce", "--peak-cgroup", "64MiB", "--", "sh", "-c", holds];
    let (code, _, err) = run(plimsoll().args(flags));
    let words = err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        code == 1 && words.contains("peak_cgroup <= 64.00 MiB by the limit of 64.00 MiB of a control group"),
        "{err}"
    );
}

#[test]
fn a_command_that_failed_has_no_tick() {
    let (code, _, err) = run(plimsoll().args(["run", "--no-config", "--", "sh", "-c", "exit 3"]));
    assert!(code == 3 && err.contains("✗ command") && !err.contains("✓ command"), "{err}");
}

#[test]
fn quiet_says_nothing_of_what_holds() {
    let (code, out, err) = run(plimsoll().args(["run", "--no-config", "--quiet", "--peak-rss", "1GiB", "--", "true"]));
    assert_eq!((code, out.as_str(), err.as_str()), (0, "", ""));
    let (code, _, err) = run(plimsoll().args(["run", "--no-config", "-q", "--peak-rss", "1B", "--", "true"]));
    assert!(code == 1 && err.contains("✗ ceiling peak_rss"), "{err}");
}

#[test]
fn numbers_without_a_unit_are_refused() {
    let (code, _, err) = run(plimsoll().args(["run", "--no-config", "--peak-rss", "100", "--", "true"]));
    assert!(code == 2 && err.contains("`100` is not an amount of bytes: write a number and its unit"), "{err}");
    let (code, _, err) = run(plimsoll().args(["run", "--no-config", "--swap-growth", "0", "--", "true"]));
    assert_eq!(code, 0, "{err}");
}

#[test]
fn commands_for_programs_are_not_suggested() {
    for (wrong, hidden) in [("workr", "worker"), ("isolat", "isolate")] {
        let (code, _, err) = run(plimsoll().arg(wrong));
        assert!(code == 2 && err.contains("unrecognized subcommand") && !err.contains(hidden), "{err}");
    }
    for (wrong, meant) in [("chek", "check"), ("rnu", "run"), ("gaet", "gate")] {
        let (_, _, err) = run(plimsoll().arg(wrong));
        assert!(err.contains(&format!("a similar subcommand exists: '{meant}'")), "{err}");
    }
}

#[test]
fn a_label_without_ceilings_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("plimsoll.toml"), "[ceilings.load]\npeak_rss = \"1 GiB\"\n").unwrap();
    let noted = |flags: &[&str]| {
        let (code, _, err) = run(plimsoll().current_dir(folder.path()).arg("run").args(flags).args(["--", "true"]));
        assert_eq!(code, 0, "{err}");
        err.contains("has ceilings for `load`; choose them by --label load")
    };
    assert!(noted(&["--label", "lod"]) && noted(&[]));
    assert!(!noted(&["--label", "load"]) && !noted(&["--peak-rss", "1GiB"]) && !noted(&["--quiet"]));
}

#[test]
fn colours_are_as_they_are_asked_for() {
    for (when, has) in [("always", true), ("never", false), ("auto", false)] {
        let (_, _, err) = run(plimsoll().args(["--color", when, "run", "--no-config", "--", "true"]));
        assert_eq!(err.contains("\x1b["), has, "{when}: {err:?}");
    }
}

#[test]
fn what_a_terminal_obeys_in_an_argument_is_not_printed() {
    let hostile = "a\x1b[35mb\x1b]0;t\x07\nFORGED\u{9b}31m\u{202e}";
    let py = format!("py:{hostile}.py");
    for arguments in [
        &[hostile][..],
        &["run", "--timeout", hostile, "--", "true"],
        &["check", "capture", "--kernel", &py],
        &["schema", hostile],
        &["kernel", hostile],
    ] {
        let (code, out, err) = run(plimsoll().args(["--color", "always"]).args(arguments));
        assert!(code == 2 && out.is_empty() && err.trim_end().lines().count() == 1, "{arguments:?} {err:?}");
        let obeyed = ["\x1b[35m", "\x1b]", "\x07", "\u{9b}", "\u{202e}"];
        assert!(!obeyed.iter().any(|obeyed| err.contains(obeyed)), "{arguments:?} {err:?}");
    }
}

#[test]
fn the_ceilings_of_init_are_judged_by_run() {
    let dir = tempfile::tempdir().unwrap();
    let mut init = plimsoll();
    let (code, _, err) = run(init.args(["init", "--runs", "2", "--", "true"]).current_dir(dir.path()));
    assert_eq!(code, 0, "{err}");
    let (code, _, err) = run(plimsoll().args(["run", "--", "true"]).current_dir(dir.path()));
    assert!(code == 0 && !err.contains("is not a ceiling of run"), "{err}");
}
