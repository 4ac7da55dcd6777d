//! A wrong command line or capture is reported with exit code 2, and nothing is left behind.

use std::fs;

use crate::support::{Scene, plimsoll, run};

fn refused(command: &mut std::process::Command, words: &[&str]) {
    let (code, out, err) = run(command);
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    for word in words {
        assert!(err.contains(word), "`{word}` is not in: {err}");
    }
}

#[test]
fn kernels_that_do_not_exist() {
    let scene = Scene::new(1);
    refused(scene.command("check").args(["--kernel", "builtin:nothing"]), &["not a built-in kernel", "embedding"]);
    refused(scene.command("check").args(["--kernel", "embedding"]), &["builtin:", "lib:", "py:"]);
    refused(scene.command("check").args(["--kernel", "torch:"]), &["torch:NAME"]);
    refused(scene.command("check").args(["--kernel", "py:/nowhere/kernel.py"]), &["/nowhere/kernel.py"]);
    refused(&mut scene.command("check"), &["--kernel"]);
    assert!(!scene.record().exists());
}

#[test]
fn amounts_that_are_none() {
    let scene = Scene::new(1);
    let check = || {
        let mut command = scene.command("check");
        command.args(["--kernel", "builtin:embedding"]);
        command
    };
    refused(check().args(["--batch-bytes", "lots"]), &["lots", "256 MiB"]);
    refused(check().args(["--rtol", "-1"]), &["-1"]);
    refused(check().args(["--timeout", "0s"]), &["greater than zero"]);
    refused(check().args(["--launches", "0"]), &["0"]);
}

#[test]
fn a_flag_that_is_none_is_no_command() {
    refused(plimsoll().args(["run", "--peak-heap", "1B", "--", "true"]), &["--peak-heap"]);
    refused(plimsoll().args(["ab", "--round", "5", "--", "true", "--vs", "true"]), &["--round"]);
    // Flags after the command belong to the command.
    let (code, out, err) = run(plimsoll().args(["run", "echo", "--peak-rss", "-n"]));
    assert!(code == 0 && out.starts_with("--peak-rss -n\n"), "{out}{err}");
}

#[test]
fn captures_that_are_none() {
    let scene = Scene::new(1);
    let check = |capture: &std::path::Path| {
        let mut command = plimsoll();
        command.arg("check").arg(capture).args(["--kernel", "builtin:embedding", "--no-record"]);
        command
    };
    refused(&mut check(&scene.path("nowhere")), &["nowhere"]);
    fs::create_dir(scene.path("empty")).unwrap();
    refused(&mut check(&scene.path("empty")), &["empty", "entry_*.pt"]);
    fs::create_dir(scene.path("broken")).unwrap();
    fs::write(scene.path("broken/entry_000000.pt"), b"not a zip file").unwrap();
    refused(&mut check(&scene.path("broken")), &["entry_000000.pt"]);
}

#[test]
fn other_files_are_named_and_left_alone() {
    let scene = Scene::new(1);
    fs::write(scene.capture().join("notes.txt"), "mine").unwrap();
    let (code, _, err) = run(scene.command("check").args(["--kernel", "builtin:embedding"]));
    assert_eq!(code, 0);
    assert!(err.contains("notes.txt"), "{err}");
    assert_eq!(fs::read_to_string(scene.capture().join("notes.txt")).unwrap(), "mine");
}

#[test]
fn a_record_that_cannot_be_written_is_found_before_the_work() {
    let scene = Scene::new(1);
    let mut command = plimsoll();
    command.arg("check").arg(scene.capture()).args(["--kernel", "builtin:embedding", "--record", "/nowhere/r.json"]);
    refused(&mut command, &["/nowhere"]);
}

#[test]
fn every_flag_has_an_environment_variable() {
    let scene = Scene::new(1);
    let (code, record) = scene.run(
        scene
            .command("check")
            .env("PLIMSOLL_KERNEL", "builtin:embedding")
            .env("PLIMSOLL_LAUNCHES", "3")
            .env("PLIMSOLL_BATCH_BYTES", "5MiB"),
    );
    assert_eq!(code, 0);
    assert_eq!(record.semantics.capture().unwrap().timing.unwrap().launches().get(), 3);
    assert_eq!(
        record.policy.capture().unwrap().batching.as_ref().unwrap().batch_bytes,
        Some(plimsoll::ByteSize::mib(5))
    );
    for part in ["check", "validate", "profile", "generate", "compare"] {
        let (code, help, _) = run(plimsoll().args([part, "--help"]));
        assert_eq!(code, 0);
        let flags = help.lines().filter(|line| line.trim_start().starts_with("--")).count();
        // Narrow help may break lines anywhere.
        let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flags <= words.matches("[env: PLIMSOLL_").count() + 1, "{part} has a flag without a variable:\n{help}");
    }
}

#[test]
fn completions_and_schema_are_printed() {
    for shell in ["bash", "zsh", "fish"] {
        let (code, out, _) = run(plimsoll().args(["completions", shell]));
        assert!(code == 0 && out.contains("plimsoll"));
    }
    let (code, out, _) = run(plimsoll().args(["schema", "record"]));
    assert_eq!(code, 0);
    let schema: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(schema["properties"]["schema"]["const"], "plimsoll.record/1");
}

#[test]
fn programs_are_completed_after_commands_that_run_one() {
    let (_, script, _) = run(plimsoll().args(["completions", "bash"]));
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), script).unwrap();
    let completed = |words: &str| {
        let last = words.rsplit(' ').next().unwrap();
        let ask = format!(
            "source \"$1\"; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); \
             _plimsoll_or_program plimsoll {last} ''; echo \"${{COMPREPLY[@]}}\""
        );
        let out = std::process::Command::new("bash").args(["-c", &ask, "bash"]).arg(file.path()).output().unwrap();
        String::from_utf8(out.stdout).unwrap()
    };
    for words in ["plimsoll run mkfif", "plimsoll ab --repeat 9 -- mkfif"] {
        let found = completed(words);
        assert!(found.contains("mkfifo") && found.split_whitespace().all(|word| word == "mkfifo"), "{found}");
    }
    assert!(completed("plimsoll run --peak-r").contains("--peak-rss"));
    assert_eq!(completed("plimsoll report mkfif").trim(), "");
    assert_eq!(completed("plimsoll run -- cat mkfif").trim(), "", "arguments are files");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure_and_a_full_disk_is() {
    let scene = Scene::new(2);
    let check = || {
        let mut command = scene.command("check");
        command.args(["--kernel", "builtin:embedding", "--launches", "2"]);
        command
    };
    let completions = || {
        let mut command = plimsoll();
        command.args(["completions", "bash"]);
        command
    };
    for mut command in [check(), completions()] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        assert_eq!(command.stdout(writer).status().unwrap().code(), Some(0));
    }
    for mut command in [check(), completions()] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = command.stdout(full).stderr(std::process::Stdio::piped()).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(err.contains("standard output") && !err.contains("panicked"), "{err}");
    }
}
