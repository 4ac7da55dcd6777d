//! The settings of configurations, and which of them are refused.

use proptest::prelude::*;

use super::*;

const WHOLE: &str = r#"
[ceilings]
peak_rss = "2 GiB"
swap-growth = 0

[ceilings.train]
peak_rss = "8 GiB"

[gate]
baseline = "git:main"
allow = ["kernel", "machine"]
confidence = 0.95
limits = { default = "10%", peak_rss = "5% | 64 MiB", "epoch*.peak_rss" = "7%" }

[run]
repeat = 5
sample_interval = "5ms"

[[overrides]]
label = "^train-"
run = { repeat = 3 }

[profile.ci.run]
repeat = 10
enforce = true

[[profile.ci.overrides]]
label = "large$"
ceilings = { peak_rss = "16 GiB" }
"#;

fn config(text: &str) -> Config {
    Config::parse(Path::new("plimsoll.toml"), text).unwrap_or_else(|error| panic!("{error}"))
}

fn value(config: &Config, profile: Option<&str>, label: Option<&str>, key: &str) -> (String, String) {
    let resolved = config.resolve(profile, label).unwrap();
    let set = resolved.get(key).unwrap_or_else(|| panic!("{key} is not set"));
    (set.value.text(), set.origin.to_string())
}

#[test]
fn the_nearest_place_counts() {
    let config = config(WHOLE);
    let of = |profile, label, key| {
        let (value, origin) = value(&config, profile, label, key);
        format!("{value} from {origin}")
    };
    assert_eq!(of(None, None, "run.repeat"), "5 from plimsoll.toml:16:1");
    assert_eq!(of(Some("ci"), None, "run.repeat"), "10 from plimsoll.toml:24:1 of profile ci");
    assert_eq!(of(Some("ci"), Some("train-x"), "run.repeat"), "3 from plimsoll.toml:21:9 for label ^train-");
    assert_eq!(of(None, Some("train"), "ceilings.peak_rss"), "8 GiB from plimsoll.toml:7:1 for label train");
    assert_eq!(of(None, Some("trains"), "ceilings.peak_rss"), "2 GiB from plimsoll.toml:3:1");
    let large = "16 GiB from plimsoll.toml:29:14 of profile ci for label large$";
    assert_eq!(of(Some("ci"), Some("train-large"), "ceilings.peak_rss"), large);
    assert_eq!(of(None, None, "ceilings.swap_growth"), "0 B from plimsoll.toml:4:1");
}

#[test]
fn settings_are_what_commands_use() {
    let resolved = config(WHOLE).resolve(None, None).unwrap();
    let ceilings: Vec<String> = resolved.ceilings().iter().map(|ceiling| ceiling.to_string()).collect();
    assert_eq!(ceilings, ["peak_rss <= 2.00 GiB", "swap_growth <= 0 B"]);
    assert_eq!(resolved.confidence("gate"), Some(0.95));
    assert_eq!(resolved.baseline().unwrap().to_string(), "git:main");
    assert_eq!(resolved.allow().len(), 4);
    let limits = crate::gate::Limits::new(resolved.limits("gate"), "50%".parse().unwrap());
    for (figure, allowance) in [("peak_rss", "5% | 64 MiB"), ("epoch 3.peak_rss", "7%"), ("wall", "10%")] {
        assert_eq!(limits.of(figure).to_string(), allowance, "{figure}");
    }
    assert!(resolved.limits("bench_gate").is_empty());
}

#[test]
fn what_is_wrong_says_where_and_what_was_meant() {
    for (text, says) in [
        (
            "[ceilings]\npeek_rss = 1",
            "plimsoll.toml:2:1: there is no setting `peek_rss` in [ceilings]; did you mean `peak_rss`?",
        ),
        ("[gates]", "plimsoll.toml:1:2: there is no setting `gates` at the top; did you mean `gate`?"),
        ("x = 1", "plimsoll.toml:1:1: there is no setting `x` at the top; there are `ceilings`, `gate`,"),
        ("[profile.ci.rum]", "plimsoll.toml:1:13: there is no setting `rum` in [profile.ci]; did you mean `run`?"),
        ("[run]\nrepeat = \"5\"", "plimsoll.toml:2:10: `run.repeat` is a whole number, and not \"5\""),
        ("[run]\nrepeat = -5", "plimsoll.toml:2:10: `run.repeat` is a whole number, and not -5"),
        (
            "[run]\ntimeout = \"soon\"",
            "plimsoll.toml:2:11: `run.timeout` is a time such as \"10ms\", and not \"soon\" (",
        ),
        ("[gate]\nconfidence = 99.0", "plimsoll.toml:2:14: `gate.confidence` is a number from 0.5 to below 1"),
        ("[gate]\nallow = [\"mood\"]", "plimsoll.toml:2:9: `gate.allow` is a list of conditions"),
        ("[gate.limits]\npeak_rss = \"five\"", "plimsoll.toml:2:12: `gate.limits.peak_rss` is an allowance such as"),
        (
            "[ceilings]\npeak_rss = \"2 GB of it\"",
            "plimsoll.toml:2:12: `ceilings.peak_rss` is an amount such as \"2 GiB\"",
        ),
        ("[run]\nkeep_going = true\nkeep-going = true", "`run.keep_going` is set twice: keep one of them"),
        (
            "[run]\nfail_on = [\"leek\"]",
            "plimsoll.toml:2:11: `run.fail_on` is a list of verdicts, such as [\"leak\", \"fragmentation\"]",
        ),
        ("[[overrides]]\nrun = {}", "an override needs `label`, a pattern of the labels that it is for"),
        ("[[overrides]]\nlabel = \"(\"", "plimsoll.toml:2:9: `label` is a regular expression, and not `(` ("),
        ("run = 1", "plimsoll.toml:1:7: `run` is a table, and not a integer"),
        ("[run", "plimsoll.toml:1:"),
    ] {
        let error = Config::parse(Path::new("plimsoll.toml"), text).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    let error = config(WHOLE).resolve(Some("cl"), None).unwrap_err().to_string();
    assert_eq!(error, "plimsoll.toml has no profile `cl`; there are `ci`");
}

#[test]
fn every_setting_is_read() {
    for setting in settings() {
        let value = match setting.kind {
            super::super::Kind::Bytes => "\"1 GiB\"",
            super::super::Kind::Time => "\"1s\"",
            super::super::Kind::Count => "1",
            super::super::Kind::Confidence => "0.9",
            super::super::Kind::Switch => "true",
            super::super::Kind::Conditions => "[\"kernel\"]",
            super::super::Kind::Verdicts => "[\"leak\", \"fragmentation\"]",
            super::super::Kind::Allowance => "\"5%\"",
            super::super::Kind::Text | super::super::Kind::Baseline => "\"x\"",
        };
        let text = format!("[{}]\n{} = {value}\n", setting.section, setting.name);
        assert!(config(&text).resolve(None, None).unwrap().get(&setting.key()).is_some(), "{text}");
    }
}

#[test]
fn labels_are_exact_and_patterns_are_bounded_in_number_and_size() {
    let labels: String = (0..5000).map(|n| format!("[ceilings.\"l.{n}\"]\npeak_rss = {n}\n")).collect();
    let config = config(&labels);
    assert_eq!(value(&config, None, Some("l.4999"), "ceilings.peak_rss").0, "4999 B");
    assert!(config.resolve(None, Some("lx4999")).unwrap().get("ceilings.peak_rss").is_none());
    let error = |text: &str| Config::parse(Path::new("plimsoll.toml"), text).unwrap_err().to_string();
    let many = error(&"[[overrides]]\nlabel = \"a\"\n".repeat(1001));
    assert!(many.contains("plimsoll.toml:2001:") && many.contains("at most 1000"), "{many}");
    let large = error("[[overrides]]\nlabel = '((a{100}){100}){100}'\n");
    assert!(large.contains("plimsoll.toml:2:9: `label` is a regular expression"), "{large}");
}

#[test]
fn a_label_has_no_labels_of_its_own() {
    let error = |text: &str| Config::parse(Path::new("plimsoll.toml"), text).unwrap_err().to_string();
    let nested = error("[ceilings.train.large]\npeak_rss = 1\n");
    assert!(nested.contains("plimsoll.toml:1:17: there is no setting `large` in [ceilings.train]"), "{nested}");
    let overrides = error("[[profile.ci.overrides]]\nlabel = \"a\"\nceilings.small.peak_rss = 1\n");
    assert!(overrides.contains("3:10: there is no setting `small` in [profile.ci.overrides.ceilings]"), "{overrides}");
    let misspelt = error("[profile.ci.ceilings.train]\npeak_rs = 1\n");
    assert!(misspelt.contains("in [profile.ci.ceilings.train]; did you mean `peak_rss`?"), "{misspelt}");
    error(&format!("[ceilings{}]\n", ".a".repeat(30_000)));
}

#[test]
fn another_users_file_starts_no_program_and_is_written_nowhere() {
    let config = |text: &str| {
        let stranger = Stranger { path: "plimsoll.toml".into(), owner: 1001, user: 1000 };
        Config { stranger: Some(stranger), ..config(text) }
    };
    let needing: Vec<String> = settings().filter(Setting::needs_trust).map(|setting| setting.key()).collect();
    for key in ["check.python", "run.record", "check.record", "history.file", "gate.folder", "report.html"] {
        assert!(needing.iter().any(|needing| needing == key), "{key}");
    }
    for setting in settings().filter(|setting| setting.kind == crate::config::Kind::Text) {
        let reads = ["bench_gate.baseline", "history.branch"].contains(&setting.key().as_str());
        assert_eq!(setting.needs_trust(), !reads, "{}: a path to write to, or a program?", setting.key());
    }
    for key in &needing {
        let (section, name) = key.split_once('.').unwrap();
        for table in [section.to_owned(), format!("profile.ci.{section}")] {
            let error = config(&format!("[{table}]\n{name} = \"x\"\n[profile.ci.ceilings]\npeak_rss = 1"));
            let error = error.resolve(Some("ci"), None).unwrap_err();
            assert!(matches!(&error, ConfigError::NotTrusted { key: found, .. } if found == key), "{error}");
            let error = error.to_string();
            assert!(error.contains("plimsoll.toml:2:") && error.contains("user 1001") && error.contains("--config"));
        }
    }
    assert_eq!(config("[ceilings]\npeak_rss = 1").resolve(None, None).unwrap().ceilings().iter().count(), 1);
}

#[test]
fn the_owner_of_a_file_that_was_found_counts_and_of_one_that_was_named_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("plimsoll.toml");
    std::fs::write(&path, "[check]\npython = \"/tmp/evil\"\n").unwrap();
    let found = |path: &Path| Config::read_found(path).unwrap().resolve(None, None);
    assert!(found(&path).is_ok());
    if !rustix::process::geteuid().is_root() || std::env::var_os("SUDO_UID").is_some() {
        return;
    }
    use std::os::unix::fs::{chown, lchown, symlink};
    const NOBODY: Option<u32> = Some(65534);
    let refused = |path: &Path| assert!(matches!(found(path), Err(ConfigError::NotTrusted { .. })), "{path:?}");
    chown(&path, NOBODY, None).unwrap();
    refused(&path);
    assert!(Config::read(&path).unwrap().resolve(None, None).is_ok());
    chown(&path, Some(0), None).unwrap();
    let link = dir.path().join("link.toml");
    symlink(&path, &link).unwrap();
    assert!(found(&link).is_ok());
    lchown(&link, NOBODY, None).unwrap();
    refused(&link);
    chown(dir.path(), NOBODY, None).unwrap();
    refused(&path);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(
        text in "(\\[|\\]|ceilings|gate|limits|run|repeat|profile|ci|overrides|label|peak_rss|\\.|=| |\"|5%|1|true|\\{|\\}|,|\n|é){0,40}"
    ) {
        if let Err(error) = Config::parse(Path::new("plimsoll.toml"), &text) {
            prop_assert!(error.to_string().starts_with("plimsoll.toml:"), "{}", error);
        }
    }
}
