//! `diagnose` on memory snapshots, compared with torch's own script.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{plimsoll, run, torch_python};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures").join(name)
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn an_oom_in_a_snapshot_is_diagnosed_with_its_numbers() {
    let (code, out, err) = run(plimsoll().arg("diagnose").arg(fixture("snapshot.pickle")).arg("--json"));
    assert_eq!((code, err.as_str()), (1, ""));
    let document = json(&out);
    assert_eq!(document["kind"], "vram-oom");
    assert_eq!(document["events"][0]["numbers"]["tried"], 500 << 20);
    assert_eq!(document["snapshots"][0]["devices"][0]["trace"]["oom_count"], 1);
    let (code, out, _) = run(plimsoll().arg("diagnose").arg(fixture("snapshot_earlier.pickle")));
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("adamw.py:150 _init_group"), "{out}");
}

#[test]
fn a_snapshot_on_standard_input_is_a_snapshot() {
    let mut child = plimsoll()
        .args(["diagnose", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let bytes = std::fs::read(fixture("snapshot.pickle")).unwrap();
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let document = json(std::str::from_utf8(&output.stdout).unwrap());
    assert_eq!(document["inputs"][0]["bytes"], bytes.len());
}

#[test]
fn pictures_are_written_whole() {
    let dir = tempfile::tempdir().unwrap();
    let (html, svg) = (dir.path().join("timeline.html"), dir.path().join("flame.svg"));
    let mut command = plimsoll();
    command.arg("diagnose").arg(fixture("snapshot.pickle")).arg("--html").arg(&html).arg("--flamegraph").arg(&svg);
    command.arg("--baseline").arg(fixture("snapshot_earlier.pickle"));
    let (code, out, err) = run(&mut command);
    assert_eq!(code, 1, "{err}");
    assert!(out.contains("metrics.py:7 append_loss  +128.00 KiB"), "{out}");
    assert!(std::fs::read_to_string(html).unwrap().ends_with("</html>\n"));
    assert!(std::fs::read_to_string(svg).unwrap().ends_with("</svg>\n"));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);

    let mut command = plimsoll();
    command.arg("diagnose").arg(fixture("snapshot.pickle")).arg("--html").arg(dir.path().join("nowhere/page.html"));
    let (code, _, err) = run(&mut command);
    assert_eq!(code, 2);
    assert!(err.contains("nowhere/page.html"), "{err}");
}

#[test]
fn a_damaged_snapshot_is_unreadable() {
    let dir = tempfile::tempdir().unwrap();
    let (cut, html) = (dir.path().join("cut.pickle"), dir.path().join("page.html"));
    std::fs::write(&cut, &std::fs::read(fixture("snapshot.pickle")).unwrap()[..1000]).unwrap();
    let (code, _, err) = run(plimsoll().arg("diagnose").arg(&cut));
    assert_eq!(code, 2);
    assert!(err.contains("cut.pickle: byte") && err.contains("truncated"), "{err}");
    let (code, _, err) = run(plimsoll().arg("diagnose").arg(&cut).arg("--html").arg(&html));
    assert_eq!(code, 2);
    assert!(err.contains("take one readable memory snapshot"), "{err}");
    assert!(!html.exists());
}

/// `1.5GiB` as torch's script prints it: to a tenth of its unit.
fn close(text: &str, bytes: u64) -> bool {
    let at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap();
    let unit = match &text[at..] {
        "B" => 1u64,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        other => panic!("{other}"),
    };
    (text[..at].parse::<f64>().unwrap() - bytes as f64 / unit as f64).abs() <= 0.051
}

/// torch's own `_memory_viz` on snapshots in every form that torch writes: its sums equal ours, except for its known
/// errors, which are asserted too so that a fix gets noticed.
#[test]
fn torchs_own_script_agrees_where_it_is_right() {
    let Some(python) = torch_python() else { return };
    let dir = tempfile::tempdir().unwrap();
    let generator = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/python/make_snapshot.py");
    let (code, out, err) = run(Command::new(&python).arg(&generator).arg("--check"));
    assert_eq!(code, 0, "{out}{err}");
    let mut documents = Vec::new();
    for form in [&["--protocol", "2"][..], &["--protocol", "4"], &["--protocol", "5"], &["--torch"]] {
        let file = dir.path().join("snapshot.pickle");
        let mut generate = Command::new(&python);
        generate.arg(&generator).arg(&file).args(form).args(["--entries", "3000", "--oom"]);
        assert_eq!(run(&mut generate).0, 0);
        let (_, out, err) = run(plimsoll().arg("diagnose").arg(&file).arg("--json"));
        let document = json(&out)["snapshots"][0]["devices"][0].clone();
        assert!(document.is_object(), "{form:?}: {err}");
        documents.push(document);
    }
    assert!(documents.windows(2).all(|pair| pair[0] == pair[1]), "every form says the same");

    let file = dir.path().join("snapshot.pickle");
    let viz = |part: &str| {
        let mut command = Command::new(&python);
        command.args(["-W", "ignore", "-m", "torch.cuda._memory_viz", part]).arg(&file);
        run(&mut command)
    };
    let (code, stats, err) = viz("stats");
    assert_eq!(code, 0, "{err}");
    let stated = |name: &str| {
        let line = stats.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{stats}"));
        line[name.len()..].split_whitespace().next().unwrap().to_owned()
    };
    let state = &documents[0]["state"];
    let bytes = |name: &str| state[name].as_u64().unwrap();
    assert!(close(&stated("total_reserved:"), bytes("reserved")), "{stats}");
    let pending = bytes("pending_free");
    assert_eq!(pending, 3 << 20);
    // The script's "allocated" is the requested size of allocated blocks; its "free" counts only pending ones.
    assert!(close(&stated("total_allocated:"), bytes("requested") - pending), "{stats}");
    assert!(close(&stated("total_free:"), bytes("free") + bytes("rounding") + pending), "{stats}");

    let (_, trace, _) = viz("trace");
    let total = trace.lines().find_map(|line| line.strip_prefix("TOTAL MEM: ")).unwrap();
    let at_end = documents[0]["trace"]["ooms"][0]["moment"]["point"]["allocated"].as_u64().unwrap();
    assert_eq!(at_end, bytes("requested") - pending);
    assert!(!close(total, at_end), "the script's total is right now: {total}");
    let (code, _, err) = {
        let mut command = Command::new(&python);
        command.args(["-W", "ignore", "-m", "torch.cuda._memory_viz", "compare"]).arg(&file).arg(&file);
        run(&mut command)
    };
    assert!(code != 0 && err.contains("TypeError"), "the script's comparison works now: {err}");
    let (code, out, _) = run(plimsoll().arg("diagnose").arg(&file).arg("--baseline").arg(&file));
    assert_eq!(code, 1);
    assert!(out.contains("no stack holds more or less than before"), "{out}");
}
