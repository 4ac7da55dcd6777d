//! `gate`: judges records by ceilings and a baseline, in files, folders and commits.

use std::fs;
use std::path::Path;
use std::process::Command;

use plimsoll::ByteSize;
use plimsoll::gate::{GateReport, Outcome};
use plimsoll::meter::Metric;
use plimsoll::record::{Record, write_record};
use tempfile::TempDir;

use crate::support::{plimsoll, run};

/// A folder with the record of five runs of a command: `before.json` as if it took 200 MiB, and `after.json` as if it
/// took `mib` MiB.
fn scene(mib: u64) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut command = plimsoll();
    command.current_dir(dir.path()).args(["run", "--repeat", "5", "--label", "load", "--record", "run.json"]);
    let (code, _, err) = run(command.args(["--", "true"]));
    assert_eq!(code, 0, "{err}");
    let record = Record::read(&dir.path().join("run.json")).unwrap();
    fs::remove_file(dir.path().join("run.json")).unwrap();
    for (file, mib) in [("before.json", 200), ("after.json", mib)] {
        let mut record = record.clone();
        // The runs differ a little, as runs do.
        for (number, run) in record.runs.iter_mut().enumerate() {
            let reading = run.phases[0].readings.get_mut(&Metric::PeakRss).expect("it is read of every run");
            reading.bytes = ByteSize::new((mib << 20) + 4096 * number as u64);
        }
        write_record(&dir.path().join(file), &record).unwrap();
    }
    dir
}

fn gate(dir: &Path, arguments: &[&str]) -> (i32, String, String) {
    run(plimsoll().current_dir(dir).arg("gate").args(arguments))
}

#[test]
fn growth_beyond_both_parts_of_the_limit_fails() {
    let dir = scene(230);
    let against =
        |flags: &[&str]| gate(dir.path(), &[&["after.json", "--baseline", "before.json"][..], flags].concat());
    let (code, out, err) = against(&["--limit", "peak_rss=5% | 16 MiB"]);
    assert!(
        code == 1 && out.contains("✗ fail") && out.contains("FAILS  1 figure got worse: load (exit 1)"),
        "{out}{err}"
    );
    let (code, out, _) = against(&["--limit", "peak_rss=5% | 64 MiB"]);
    assert!(code == 0 && out.contains("HOLDS"), "one part is not exceeded: {out}");
    let (code, out, _) = against(&["--limit", "peak_rss=5%", "--json"]);
    let report: GateReport = serde_json::from_str(&out).unwrap();
    assert_eq!((code, report.outcome, report.subjects[0].runs), (1, Outcome::Fail, 5));
    assert_eq!(report.subjects[0].figures[0].comparison.as_ref().unwrap().shift, Some(30.0 * 1024.0 * 1024.0));
}

#[test]
fn ceilings_hold_or_break_without_a_baseline() {
    let dir = scene(230);
    assert_eq!(gate(dir.path(), &["before.json", "after.json", "--peak-rss", "240MiB"]).0, 0);
    let (code, out, _) = gate(dir.path(), &["after.json", "--peak-rss", "210MiB"]);
    assert!(code == 1 && out.contains("(run 5 of 5)") && out.contains("1 ceiling broken: load"), "{out}");
    let (code, out, _) = gate(dir.path(), &["after.json"]);
    assert!(code == 3 && out.contains("nothing was judged"), "{out}");
}

#[test]
fn a_folder_of_baselines_is_made_committed_and_read_from_a_commit() {
    let dir = scene(200);
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(dir.path()).args(["-c", "user.name=t", "-c", "user.email=t@example.com"]);
        let (code, out, err) = run(git.env("GIT_CONFIG_GLOBAL", "/dev/null").args(arguments));
        assert_eq!(code, 0, "{arguments:?}: {out}{err}");
    };
    // Nothing is there yet; the message names the command that creates it, and the command works.
    let (code, out, _) = gate(dir.path(), &["before.json", "--baseline", "perf"]);
    let remedy = "make one with `plimsoll gate before.json --baseline perf --update-baseline`";
    assert!(code == 3 && out.replace("\n   ", " ").contains(remedy), "{out}");
    let (code, _, err) = gate(dir.path(), &["before.json", "--baseline", "perf", "--update-baseline"]);
    assert!(code == 0 && err.contains("wrote perf/load.json"), "{err}");
    assert_eq!(gate(dir.path(), &["after.json", "--baseline", "perf"]).0, 0);

    git(&["init", "--quiet", "--initial-branch", "main"]);
    git(&["add", "perf"]);
    git(&["commit", "--quiet", "--message", "baselines"]);
    fs::remove_dir_all(dir.path().join("perf")).unwrap();
    for source in ["git:main:perf", "git:HEAD:perf/", "git:main:perf/load.json"] {
        let (code, out, err) = gate(dir.path(), &["after.json", "--baseline", source]);
        assert!(code == 0 && out.contains(&format!("against {source}")), "{out}{err}");
    }
    // Run from a folder below, which git's own paths allow.
    let below = dir.path().join("crates/load");
    fs::create_dir_all(&below).unwrap();
    let (code, out, err) = gate(&below, &["../../after.json", "--baseline", "git:main:perf"]);
    assert!(code == 0 && out.contains("against git:main:perf"), "{out}{err}");
    let (code, out, _) = gate(dir.path(), &["after.json", "--baseline", "git:main"]);
    assert!(code == 3 && out.contains("there is no baseline in git:main:plimsoll-baselines"), "{out}");
    let (code, _, err) = gate(dir.path(), &["after.json", "--baseline", "git:nowhere"]);
    assert!(
        code == 2 && err.contains("nowhere is not a commit of this repository") && err.contains("fetch-depth"),
        "{err}"
    );
    let (code, _, err) = gate(dir.path(), &["after.json", "--baseline", "git:main:perf", "--update-baseline"]);
    assert!(code == 2 && err.contains("git:main:perf is history"), "{err}");
}

#[test]
fn a_run_that_broke_a_ceiling_is_no_new_baseline() {
    let dir = scene(230);
    let update = ["after.json", "--baseline", "perf", "--update-baseline", "--peak-rss", "210MiB"];
    let (code, _, err) = gate(dir.path(), &update);
    assert!(code == 1 && err.contains("the baseline perf was not changed: load failed or broke a ceiling"), "{err}");
    assert!(!dir.path().join("perf").exists());
    // Intended growth is accepted: the new baseline becomes the limit.
    let written = gate(dir.path(), &["before.json", "--baseline", "perf", "--update-baseline"]);
    assert_eq!(written.0, 0, "{written:?}");
    let (code, out, err) = gate(dir.path(), &["after.json", "--baseline", "perf", "--update-baseline"]);
    assert!(code == 0 && out.contains("1 figure got worse") && err.contains("wrote perf/load.json"), "{out}{err}");
    assert_eq!(gate(dir.path(), &["after.json", "--baseline", "perf"]).0, 0);
}

#[test]
fn other_conditions_are_not_compared_until_they_are_allowed() {
    let dir = scene(200);
    let mut record = Record::read(&dir.path().join("after.json")).unwrap();
    record.environment.system.as_mut().unwrap().page = ByteSize::new(65536);
    write_record(&dir.path().join("after.json"), &record).unwrap();
    let against =
        |flags: &[&str]| gate(dir.path(), &[&["after.json", "--baseline", "before.json"][..], flags].concat());
    let (code, out, _) = against(&["--limit", "peak_rss=5%"]);
    assert!(code == 3 && out.contains("≠ page: 4.00 KiB before, 64.00 KiB now"), "{out}");
    assert!(out.contains("--allow page") && out.contains("NOT COMPARABLE"), "{out}");
    assert_eq!(against(&["--limit", "peak_rss=5%", "--allow", "page,kernel"]).0, 0);
    let (code, _, err) = against(&["--allow", "pages"]);
    assert!(code == 2 && err.contains("`pages` is not a condition of a comparison"), "{err}");
}

#[test]
fn the_judgement_is_written_in_every_format() {
    let dir = scene(230);
    let read = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
    fs::write(dir.path().join("plimsoll.toml"), "[report]\ncsv = \"figures.csv\"\n").unwrap();
    let flags = ["after.json", "--baseline", "before.json", "--limit", "peak_rss=5%", "--peak-rss", "300MiB"];
    let documents = [
        ("--html", "gate.html", "<h1>Memory gate</h1>"),
        ("--markdown", "gate.md", "| ❌ | `peak_rss` | 200.01 MiB | 230.01 MiB"),
        ("--junit", "gate.xml", "<testcase name=\"limit peak_rss\" classname=\"load\">\n      <failure "),
        ("--gitlab", "quality.json", "\"check_name\": \"plimsoll limit peak_rss\""),
        ("--openmetrics", "metrics.txt", "plimsoll_limit{subject=\"load\",figure=\"peak_rss\",outcome=\"fail\"} 1"),
        ("--bencher", "bencher.json", "\"peak-rss\""),
        ("--github-benchmark", "benchmark.json", "load: peak_rss"),
    ];
    let flags = documents.iter().fold(flags.to_vec(), |flags, (flag, file, _)| [&flags[..], &[flag, file]].concat());
    let (code, out, err) = gate(dir.path(), &[&flags[..], &["--annotations", "-"]].concat());
    assert_eq!(code, 1, "{err}");
    assert!(
        out.contains("FAILS") && out.contains("::error title=load%3A limit peak_rss failed::peak_rss is 230"),
        "{out}"
    );
    for (_, file, holds) in documents {
        assert!(read(file).contains(holds), "{file}: {}", read(file));
    }
    assert!(read("figures.csv").contains("peak_rss"), "what is set is written as well");

    let (code, out, err) = gate(dir.path(), &["after.json", "--html", "missing/gate.html"]);
    assert!(code == 2 && out.is_empty() && err.contains("missing/gate.html"), "{out}{err}");
}

#[test]
fn what_cannot_be_used_is_2() {
    let dir = scene(200);
    for (arguments, says) in [
        (&["missing.json"][..], "missing.json"),
        (&["after.json", "--limit", "peak_rss=five"], "`five` is not part of an allowance"),
        (&["after.json", "--confidence", "99"], "a confidence is a number from 0.5 to below 1"),
        (&["after.json", "--baseline", "git:"], "is not a revision of git"),
    ] {
        let (code, _, err) = gate(dir.path(), arguments);
        assert!(code == 2 && err.contains(says), "{err}");
    }
    fs::create_dir(dir.path().join("empty")).unwrap();
    let (code, _, err) = gate(dir.path(), &["empty"]);
    assert!(code == 2 && err.contains("there is no record in empty"), "{err}");
    fs::write(dir.path().join("empty/x.json"), "{}").unwrap();
    let (code, _, err) = gate(dir.path(), &["after.json", "--baseline", "empty"]);
    assert!(code == 2 && err.contains("x.json is not a record"), "{err}");
}
