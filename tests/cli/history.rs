//! `history`: records by commit, shown, and as a baseline.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;

use plimsoll::ByteSize;
use plimsoll::gate::history::HistoryReport;
use plimsoll::meter::Metric;
use plimsoll::record::{Record, write_record};
use tempfile::TempDir;

use crate::support::{git, measured, plimsoll, run};

/// A repository in which `load.json` is the record of five runs.
fn scene() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "--quiet", "--initial-branch", "main"]);
    let mut command = plimsoll();
    command.current_dir(dir.path()).args(["run", "--repeat", "5", "--label", "load", "--record", "load.json"]);
    let (code, _, err) = run(command.args(["--", "true"]));
    assert_eq!(code, 0, "{err}");
    dir
}

/// Turns the record into one of runs that took this many MiB.
fn takes(dir: &Path, mib: u64, commit: usize) {
    let path = dir.join("load.json");
    let mut record = Record::read(&path).unwrap();
    for (number, run) in record.runs.iter_mut().enumerate() {
        let reading = run.phases[0].readings.get_mut(&Metric::PeakRss).expect("it is read of every run");
        reading.bytes = ByteSize::new((mib << 20) + 4096 * ((number + commit * 3) % 7) as u64);
    }
    write_record(&path, &record).unwrap();
}

fn history(dir: &Path, arguments: &[&str]) -> (i32, String, String) {
    run(plimsoll().current_dir(dir).arg("history").args(arguments))
}

#[test]
fn a_step_is_found_at_its_commit_and_the_latest_is_a_baseline() {
    let dir = scene();
    for commit in 0..14 {
        takes(dir.path(), if commit < 8 { 100 } else { 120 }, commit);
        let title = format!("change {commit}");
        git(dir.path(), &["commit", "--quiet", "--allow-empty", "--message", &title]);
        // Commits of the same second keep the order in which they were added.
        let (code, _, err) = history(dir.path(), &["add", "load.json"]);
        assert!(code == 0 && err.contains(".plimsoll/history.sqlite: 1 added at") && err.contains("of main"), "{err}");
    }
    let (_, _, err) = history(dir.path(), &["add", "load.json"]);
    assert!(err.contains("0 added") && err.contains("1 were there before"), "{err}");

    let (code, out, err) = history(dir.path(), &["show", "--figure", "peak_rss"]);
    assert!(code == 0 && out.contains("◆ step") && out.contains("(change 8)"), "{out}{err}");
    let (code, out, err) = history(dir.path(), &["show", "--html", "page.html"]);
    let page = fs::read_to_string(dir.path().join("page.html")).unwrap();
    assert!(code == 0 && out.contains("◆ step") && page.contains("class=\"step-line bad"), "{out}{err}");
    let (code, out, _) = history(dir.path(), &["show", "load", "--html", "-"]);
    assert_eq!((code, out == page), (0, true), "a page on standard output stands there alone");
    let (code, _, err) = history(dir.path(), &["show", "--html", "missing/page.html"]);
    assert!(code == 2 && err.contains("missing/page.html"), "{err}");
    let (_, out, _) = history(dir.path(), &["show", "load", "--figure", "peak_rss", "--last", "3", "--json"]);
    let report: HistoryReport = serde_json::from_str(&out).unwrap();
    assert_eq!((report.series[0].points.len(), &report.series[0].steps[..]), (3, &[][..]));

    let gate = |baseline| {
        let mut command = plimsoll();
        run(command.current_dir(dir.path()).args([
            "gate",
            "load.json",
            "--limit",
            "peak_rss=5%",
            "--baseline",
            baseline,
        ]))
    };
    let (code, out, err) = gate("history");
    assert!(code == 0 && out.contains("5 runs against 5 runs"), "{out}{err}");
    takes(dir.path(), 140, 0);
    assert_eq!(gate("history:main").0, 1);
    let (code, out, _) = gate("history:other");
    assert!(code == 3 && out.contains("plimsoll history add load.json"), "{out}");
}

#[test]
fn a_commit_that_is_named_is_in_its_own_place_whichever_is_checked_out() {
    let dir = scene();
    for (at, title) in ["first", "second", "third"].into_iter().enumerate() {
        let date = format!("{} +0000", 1_700_000_000 + at * 100_000);
        let mut git = Command::new("git");
        git.current_dir(dir.path()).args(["-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "--quiet"]);
        git.args(["--allow-empty", "--message", title]).env("GIT_CONFIG_GLOBAL", "/dev/null");
        let (code, _, err) = run(git.env("GIT_COMMITTER_DATE", &date).env("GIT_AUTHOR_DATE", date));
        assert_eq!(code, 0, "{err}");
    }
    // Added out of order: two by git's names, the last by a name that git does not know.
    for name in ["HEAD~1", "main", "HEAD~2", "nightly-7"] {
        takes(dir.path(), 100, 0);
        let (code, _, err) = history(dir.path(), &["add", "load.json", "--commit", name]);
        assert!(code == 0 && err.contains(" of main"), "{err}");
    }
    let (_, out, err) = history(dir.path(), &["show", "--figure", "peak_rss", "--json"]);
    let report: HistoryReport = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}"));
    let told: Vec<&str> = report.series[0].points.iter().map(|point| &*point.title).collect();
    assert_eq!(told, ["first", "second", "third", ""]);
    assert!(report.series[0].points[..3].iter().all(|point| point.commit.len() == 40), "{out}");
}

#[test]
fn what_is_not_there_is_told_and_a_commit_can_be_removed() {
    let dir = scene();
    let (code, _, err) = history(dir.path(), &["show"]);
    assert!(code == 2 && err.contains("`plimsoll history add RECORD` makes one"), "{err}");
    let (code, _, err) = history(dir.path(), &["add", "load.json"]);
    assert!(code == 2 && err.contains("name it with --commit and --branch"), "a repository without a commit: {err}");
    let add = |label: &str| {
        history(dir.path(), &["add", "load.json", "--commit", label, "--branch", "x", "--history", "h.db"])
    };
    assert_eq!((add("one").0, add("two").0), (0, 0));
    let show = |label: &str| history(dir.path(), &["show", label, "--history", "h.db"]);
    assert_eq!(show("load").0, 0);
    let (code, _, err) = show("other");
    assert!(code == 3 && err.contains("no record of other on x"), "{err}");
    let remove = || history(dir.path(), &["remove", "--commit", "two", "--history", "h.db"]);
    assert_eq!((remove().0, remove().0), (0, 3));
    fs::write(dir.path().join("text"), "no database, but long enough to be taken for one by its size").unwrap();
    let (code, _, err) = history(dir.path(), &["show", "--history", "text"]);
    assert!(code == 2 && err.contains("is not a history that this version reads"), "{err}");
}

#[test]
fn a_new_step_for_the_worse_fails_until_it_is_accepted() {
    let dir = scene();
    let (code, _, err) = history(dir.path(), &["check"]);
    assert!(code == 2 && err.contains("history add"), "{err}");
    for commit in 0..14 {
        takes(dir.path(), if commit < 8 { 100 } else { 120 }, commit);
        // One of the commits before the eighth record has none.
        let titles = if commit == 8 { vec!["change unmeasured".to_owned()] } else { vec![] };
        for title in titles.into_iter().chain([format!("change {commit}")]) {
            git(dir.path(), &["commit", "--quiet", "--allow-empty", "--message", &title]);
        }
        let (code, _, err) = history(dir.path(), &["add", "load.json"]);
        assert_eq!(code, 0, "{err}");
    }
    let (code, out, err) = history(dir.path(), &["check", "--figure", "peak_rss"]);
    assert!(code == 1 && err.contains("1 new step for the worse in 1 figure on main"), "{out}{err}");
    assert!(out.contains("peak_rss of load, +20.0 %") && out.contains("(change 8)"), "{out}");
    assert!(out.contains("change unmeasured") && !out.contains("change 7") && !out.contains("change 9"), "{out}");

    let step = out.split("history accept ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    let (code, _, err) = history(dir.path(), &["accept", "ffffffff", "--why", "it caches more"]);
    assert!(code == 3 && err.contains("history check"), "{err}");
    let (code, _, err) = history(dir.path(), &["accept", &step]);
    assert!(code == 2 && err.contains("--why"), "{err}");
    let (code, _, err) = history(dir.path(), &["accept", &step, "--why", "it caches more", "--figure", "peak_rss"]);
    assert!(code == 0 && err.contains("accepted: peak_rss of load at"), "{err}");
    let (code, out, err) = history(dir.path(), &["check", "--figure", "peak_rss"]);
    assert!(code == 0 && out.is_empty() && err.contains("no new step for the worse"), "{out}{err}");
    let (_, out, _) = history(dir.path(), &["show", "--figure", "peak_rss"]);
    assert!(out.contains("accepted: it caches more"), "{out}");

    let (code, _, err) = history(dir.path(), &["check", "other"]);
    assert!(code == 3 && err.contains("no such figure of other"), "{err}");
}

#[test]
fn figures_of_other_tools_are_shown_and_checked_like_records() {
    let dir = scene();
    let mut rows = "build,benchmark,peak (MiB),rate [ops]\n".to_owned();
    for commit in 0..16 {
        git(dir.path(), &["commit", "--quiet", "--allow-empty", "--message", &format!("change {commit}")]);
        let id = git(dir.path(), &["rev-parse", "--short", "HEAD"]);
        let (peak, rate) = if commit < 9 { (100.0, 50.0) } else { (120.0, 30.0) };
        rows += &format!("{},load,{},{rate}\n", id.trim(), peak + f64::from(commit * 7 % 5) / 10.0);
    }
    rows += "never-made,load,1,1\n";
    fs::write(dir.path().join("rows.csv"), &rows).unwrap();
    let import = |words: &[&str]| history(dir.path(), &[&["import"], words].concat());
    let (code, _, err) = import(&["rows.csv"]);
    assert!(code == 2 && err.contains("name it with --column commit=TITLE"), "{err}");
    let (code, _, err) = import(&["rows.csv", "--column", "commit=build"]);
    assert!(code == 2 && err.contains("the commit never-made is not in the repository here"), "{err}");
    assert_eq!(history(dir.path(), &["show"]).0, 3, "all or nothing");

    fs::write(dir.path().join("rows.csv"), rows.replace("never-made,load,1,1\n", "")).unwrap();
    for _ in 0..2 {
        let (code, _, err) = import(&["rows.csv", "--column", "commit=build"]);
        assert!(code == 0 && err.contains("32 figures of CSV from rows.csv on main"), "{err}");
    }
    let (code, out, err) = history(dir.path(), &["show", "load", "--json"]);
    let report: HistoryReport = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}"));
    let [peak, rate] = &report.series[..] else { panic!("{out}") };
    assert!(code == 0 && peak.points.len() == 16 && peak.points[9].title == "change 9", "{out}");
    assert_eq!((peak.steps.len(), rate.steps.len()), (1, 1), "{out}");
    let (code, out, _) = history(dir.path(), &["check"]);
    // Fewer operations in a time are worse.
    assert!(code == 1 && out.contains("peak of load") && out.contains("rate of load, -40.0 %"), "{out}");
    assert_eq!(history(dir.path(), &["accept", &peak.points[9].commit[..10], "--why", "wanted"]).0, 0);
    assert_eq!(history(dir.path(), &["check"]).0, 0);
    assert_eq!(history(dir.path(), &["remove", "--commit", &peak.points[0].commit]).0, 0);
}

#[test]
fn a_folder_without_records_adds_nothing_and_makes_no_history() {
    let dir = scene();
    fs::create_dir(dir.path().join("empty")).unwrap();
    let (code, _, err) = history(dir.path(), &["add", "empty", "--history", "new.sqlite"]);
    assert!(code == 2 && err.contains("there is no record in empty"), "{err}");
    assert!(!dir.path().join("new.sqlite").exists());
}

/// The text of `load.json` up to the value of `field`, and then what `rest` writes.
fn hostile(dir: &Path, field: &str, rest: impl FnOnce(&mut dyn Write)) {
    let text = fs::read_to_string(dir.join("load.json")).unwrap();
    let end = text.find(&format!("\"{field}\": ")).unwrap() + field.len() + 4;
    let mut file = BufWriter::new(fs::File::create(dir.join("hostile.json")).unwrap());
    file.write_all(&text.as_bytes()[..end]).unwrap();
    rest(&mut file);
    file.flush().unwrap();
}

#[test]
fn a_record_of_endless_words_keys_or_verdicts_is_refused_in_little_memory() {
    const MOST: ByteSize = ByteSize::mib(64);
    let dir = scene();
    let refused = |says: &str| {
        let mut command = plimsoll();
        command.args(["history", "add", "hostile.json", "--commit", "a", "--branch", "b"]);
        let (code, err, peak) = measured(&command, dir.path());
        assert!(code == 2 && err.contains(says), "{err}");
        assert!(peak < MOST, "{says}: {peak}");
    };
    hostile(dir.path(), "command", |file| {
        file.write_all(b"[\"a\"").unwrap();
        (0..3_000_000).for_each(|_| file.write_all(b",\"a\"").unwrap());
    });
    refused("a list has more than");
    let key = "k".repeat(1_000_000);
    hostile(dir.path(), "environment", |file| {
        file.write_all(b"{\"versions\": {\"a\": \"\"").unwrap();
        (0..100).for_each(|at| write!(file, ",\"{at}{key}\": \"\"").unwrap());
    });
    refused("its texts are longer than 16.00 MiB in all");
    hostile(dir.path(), "verdicts", |file| {
        let verdict = "{\"subject\": \"a\", \"status\": \"pass\", \"message\": \"\"}";
        file.write_all(b"[").unwrap();
        (0..300_000).for_each(|_| write!(file, "{verdict},").unwrap());
    });
    refused("a list has more than");
}
