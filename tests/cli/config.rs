//! `plimsoll.toml`: settings, their precedence, and mistakes; `config show` and `init`.

use std::fs;
use std::path::Path;

use plimsoll::ByteSize;
use plimsoll::meter::Metric;
use plimsoll::record::{Policy, Record};
use tempfile::TempDir;

use crate::support::{plimsoll, run};

const SETTINGS: &str = r#"
[ceilings]
peak_rss = "3 GiB"

[ceilings.small]
peak_rss = "1 KiB"

[gate.limits]
peak_rss = "5% | 64 MiB"

[run]
repeat = 2

[profile.ci.run]
repeat = 3
"#;

fn scene() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join(".git")).unwrap();
    fs::write(dir.path().join("plimsoll.toml"), SETTINGS).unwrap();
    fs::create_dir(dir.path().join("below")).unwrap();
    dir
}

/// Runs `true` below the folder of the configuration; returns the record and the messages.
fn record(dir: &Path, flags: &[&str], variable: Option<(&str, &str)>) -> (i32, Record, String) {
    let mut command = plimsoll();
    command.current_dir(dir.join("below")).args(["run", "--record", "run.json"]).args(flags).args(["--", "true"]);
    let (code, _, err) = run(command.envs(variable));
    (code, Record::read(&dir.join("below/run.json")).unwrap_or_else(|error| panic!("{error}: {err}")), err)
}

fn ceiling(record: &Record) -> Option<ByteSize> {
    let Policy::Process(policy) = &record.policy else { panic!("it is of a command") };
    policy.ceilings.get(Metric::PeakRss)
}

#[test]
fn a_flag_goes_before_a_variable_and_that_before_the_file() {
    let dir = scene();
    let runs = |flags: &[&str], variable| {
        let (code, record, err) = record(dir.path(), flags, variable);
        assert_eq!(code, 0, "{err}");
        (record.runs.len().max(1), ceiling(&record))
    };
    let gib = |gib| Some(ByteSize::gib(gib));
    assert_eq!(runs(&[], None), (2, gib(3)));
    assert_eq!(runs(&["--profile", "ci"], None), (3, gib(3)));
    assert_eq!(runs(&["--profile", "ci"], Some(("PLIMSOLL_REPEAT", "4"))), (4, gib(3)));
    assert_eq!(runs(&["--repeat", "1"], Some(("PLIMSOLL_PEAK_RSS", "2GiB"))), (1, gib(2)));
    assert_eq!(runs(&["--repeat", "1", "--peak-rss", "1GiB"], Some(("PLIMSOLL_PEAK_RSS", "2GiB"))), (1, gib(1)));
    assert_eq!(runs(&["--no-config"], None), (1, None));
    let (code, record, _) = record(dir.path(), &["--label", "small"], None);
    assert_eq!((code, ceiling(&record)), (1, Some(ByteSize::new(1024))), "its label has a ceiling of its own");
}

#[test]
fn the_gate_judges_by_the_settings_of_each_label() {
    let dir = scene();
    let mut paths = Vec::new();
    for label in ["load", "small"] {
        let (_, record, _) = record(dir.path(), &["--no-config", "--repeat", "5", "--label", label], None);
        let path = dir.path().join(format!("below/{label}.json"));
        plimsoll::record::write_record(&path, &record).unwrap();
        paths.push(path);
    }
    let gate = |flags: &[&str]| {
        let mut command = plimsoll();
        run(command.current_dir(dir.path()).arg("gate").args(&paths).args(flags))
    };
    let (code, out, err) = gate(&[]);
    assert!(code == 1 && out.contains("1 ceiling broken: small"), "{out}{err}");
    let (code, out, _) = gate(&["--peak-rss", "2GiB"]);
    assert!(code == 0 && out.contains("peak_rss <= 2.00 GiB holds"), "{out}");
    let (code, out, _) = gate(&["--peak-rss", "2GiB", "--baseline", "below/load.json"]);
    assert!(code == 3 && out.contains("5% | 64 MiB") && !out.contains("peak_anon"), "{out}");
}

#[test]
fn where_each_value_comes_from_is_shown() {
    let dir = scene();
    let show = |flags: &[&str], variable: Option<(&str, &str)>| {
        let mut command = plimsoll();
        let (code, out, err) = run(command.current_dir(dir.path()).args(["config", "show"]).args(flags).envs(variable));
        assert_eq!(code, 0, "{err}");
        out
    };
    let line = |text: &str, key: &str| {
        let line = text.lines().find(|line| line.split_whitespace().next() == Some(key));
        let line = line.unwrap_or_else(|| panic!("no {key} in {text}"));
        line.split_whitespace().collect::<Vec<_>>().join(" ").replace(&format!("{}/", dir.path().display()), "")
    };
    let plain = show(&[], None);
    assert_eq!(line(&plain, "run.repeat"), "run.repeat 2 plimsoll.toml:12:1");
    assert_eq!(line(&plain, "run.warmup"), "run.warmup 0 default");
    assert_eq!(line(&plain, "ceilings.peak_rss"), "ceilings.peak_rss 3 GiB plimsoll.toml:3:1");
    assert_eq!(line(&plain, "gate.limits.peak_rss"), "gate.limits.peak_rss 5% | 64 MiB plimsoll.toml:9:1");
    let ci = show(&["--profile", "ci", "--label", "small"], Some(("PLIMSOLL_WARMUP", "7")));
    assert_eq!(line(&ci, "run.repeat"), "run.repeat 3 plimsoll.toml:15:1 of profile ci");
    assert_eq!(line(&ci, "ceilings.peak_rss"), "ceilings.peak_rss 1 KiB plimsoll.toml:6:1 for label small");
    assert_eq!(line(&ci, "run.warmup"), "run.warmup 7 the environment, PLIMSOLL_WARMUP");
    let none = run(plimsoll().current_dir(dir.path()).args(["config", "show", "--no-config"]));
    assert!(none.0 == 1 && none.1.contains("there is no plimsoll.toml here or above"), "{}", none.1);
}

#[test]
fn what_is_shown_and_the_file_of_init_are_as_they_were_approved() {
    let dir = scene();
    let below = dir.path().join("below");
    let mut show = plimsoll();
    show.current_dir(&below)
        .args(["config", "show", "--profile", "ci", "--label", "small"])
        .env("PLIMSOLL_WARMUP", "7");
    let (code, out, err) = run(&mut show);
    assert_eq!(code, 0, "{err}");
    let folder = regex::escape(&dir.path().canonicalize().unwrap().display().to_string());
    insta::with_settings!({
        snapshot_path => "../../snapshots",
        prepend_module_to_snapshot => false,
        // The rule below the titles is as wide as the folder's name.
        filters => vec![(&*folder, "[folder]"), (r"─+", "─")],
    }, {
        insta::assert_snapshot!("cli_config_show", out);
    });

    let (code, _, err) = run(plimsoll().current_dir(&below).arg("init"));
    assert_eq!(code, 0, "{err}");
    insta::with_settings!({ snapshot_path => "../../snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("cli_init", fs::read_to_string(below.join("plimsoll.toml")).unwrap());
    });
}

#[test]
fn what_is_wrong_is_2_before_anything_is_run() {
    let dir = scene();
    let marker = dir.path().join("ran");
    let with = |text: &str, flags: &[&str]| {
        fs::write(dir.path().join("plimsoll.toml"), text).unwrap();
        let mut command = plimsoll();
        command.current_dir(dir.path()).arg("run").args(flags).args(["--", "touch"]).arg(&marker);
        let (code, _, err) = run(&mut command);
        assert_eq!(code, 2, "{err}");
        assert!(!marker.exists());
        err
    };
    let err = with("[run]\nrepeet = 5\n", &[]);
    assert!(err.contains("plimsoll.toml:2:1: there is no setting `repeet` in [run]; did you mean `repeat`?"), "{err}");
    let err = with(SETTINGS, &["--profile", "cj"]);
    assert!(err.contains("has no profile `cj`; there are `ci`"), "{err}");
    let err = with("", &["--config", "missing.toml"]);
    assert!(err.contains("cannot read the configuration missing.toml"), "{err}");
    fs::remove_file(dir.path().join("plimsoll.toml")).unwrap();
    let (code, _, err) = run(plimsoll().current_dir(dir.path()).args(["run", "--profile", "ci", "--", "true"]));
    assert!(code == 2 && err.contains("`plimsoll init` makes one"), "{err}");
}

#[test]
fn a_file_is_made_from_runs_and_an_older_one_stays() {
    let dir = tempfile::tempdir().unwrap();
    let init = |flags: &[&str]| run(plimsoll().current_dir(dir.path()).arg("init").args(flags));
    let (code, _, err) = init(&["--runs", "2", "--label", "load", "--", "true"]);
    assert!(code == 0 && err.contains("wrote plimsoll.toml"), "{err}");
    let text = fs::read_to_string(dir.path().join("plimsoll.toml")).unwrap();
    assert!(text.contains("[ceilings.load]\npeak_rss = ") && text.contains("in 2 runs"), "{text}");
    let (code, _, err) = init(&[]);
    assert!(code == 2 && err.contains("there is a plimsoll.toml already"), "{err}");
    assert_eq!(fs::read_to_string(dir.path().join("plimsoll.toml")).unwrap(), text);
    let (code, _, err) = run(plimsoll().current_dir(dir.path()).args(["run", "--label", "load", "--", "true"]));
    assert!(code == 0 && err.contains("ceiling peak_rss"), "{err}");
    let (code, _, err) = init(&["--force", "--", "false"]);
    assert!(code == 3 && err.contains("run 1 of 10"), "{err}");
    assert_eq!(fs::read_to_string(dir.path().join("plimsoll.toml")).unwrap(), text, "a run that fails changes nothing");
    assert_eq!(init(&["--force"]).0, 0);
}

#[test]
fn the_name_of_a_profile_is_shown_without_what_a_terminal_obeys() {
    let dir = scene();
    let (code, _, err) = run(plimsoll().current_dir(dir.path()).args(["config", "show", "--profile", "c\x1b[2Ji\nx"]));
    assert!(code == 2 && !err.contains("\x1b[2J") && err.trim_end().lines().count() == 1, "{err:?}");
}

#[test]
fn outside_of_a_repository_nothing_above_the_working_directory_counts() {
    let dir = scene();
    fs::remove_dir(dir.path().join(".git")).unwrap();
    let (code, out, err) = run(plimsoll().current_dir(dir.path().join("below")).args(["config", "show"]));
    assert!(code == 1 && out.contains("there is no plimsoll.toml"), "{out}{err}");
    let (code, out, err) = run(plimsoll().current_dir(dir.path()).args(["config", "show"]));
    assert!(code == 0 && out.contains("plimsoll.toml:12:1"), "{out}{err}");
}

#[test]
fn another_users_file_starts_no_program_and_overwrites_nothing() {
    if !rustix::process::geteuid().is_root() || std::env::var_os("SUDO_UID").is_some() {
        return;
    }
    let dir = scene();
    let (file, record) = (dir.path().join("plimsoll.toml"), dir.path().join("mine.json"));
    fs::write(&record, "mine").unwrap();
    fs::write(&file, format!("[run]\nrecord = {:?}\n", record.display())).unwrap();
    std::os::unix::fs::chown(&file, Some(65534), None).unwrap();
    let call = |flags: &[&str]| {
        let mut command = plimsoll();
        run(command.current_dir(dir.path().join("below")).arg("run").args(flags).args(["--", "true"]))
    };
    let (code, _, err) = call(&[]);
    assert!(code == 2 && err.contains("`run.record` is not taken") && err.contains("--config"), "{err}");
    assert_eq!(fs::read_to_string(&record).unwrap(), "mine");
    let (code, _, err) = call(&["--config", file.to_str().unwrap()]);
    assert!(code == 0 && fs::read_to_string(&record).unwrap() != "mine", "{err}");
}
