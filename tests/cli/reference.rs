//! The reference pages of settings and verdicts match the declarations in the code.

use std::fmt::Write as _;
use std::path::Path;

use plimsoll::config::{Preset, SECTIONS, Setting, settings};
use plimsoll::diagnose::estimate::FitVerdict as Fit;
use plimsoll::gate::Outcome;
use plimsoll::record::{FailureKind, Verdict, VerdictStatus, exit_code};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Compares a page of the manual with `text`, or writes it.
fn hold(page: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(page);
    if std::env::var_os("PLIMSOLL_UPDATE_DOCS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == text, "{} is out of date: PLIMSOLL_UPDATE_DOCS=1 writes it", path.display());
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "\\<")
}

/// The default of a setting as written in the file.
fn default(setting: &Setting) -> String {
    match setting.default {
        None => "none".to_owned(),
        Some(Preset::Count(_) | Preset::Confidence(_) | Preset::Switch(_)) => {
            format!("`{}`", setting.default.as_ref().unwrap())
        }
        Some(ref preset) => format!("`\"{preset}\"`"),
    }
}

#[test]
fn the_page_of_settings_is_up_to_date() {
    let mut text = "# Settings\n\n<!-- Generated from the declarations of the settings: \
        PLIMSOLL_UPDATE_DOCS=1 cargo test -p plimsoll-harness reference -->\n\n\
        Every setting of `plimsoll.toml`. [Configuration](config.md) says where the file is found and which value counts.\n\
        A setting with a flag of the same name can also be set by an environment variable: `run.repeat` is `--repeat` and\n\
        `PLIMSOLL_REPEAT`.\n"
        .to_owned();
    for (section, about) in SECTIONS {
        write!(text, "\n## `[{section}]`\n\n{about}.\n\n| setting | value | default | meaning |\n|---|---|---|---|\n")
            .unwrap();
        for setting in settings().filter(|setting| setting.section == section) {
            let (name, kind, about) = (setting.name, cell(setting.kind.expects()), cell(setting.about));
            writeln!(text, "| `{name}` | {kind} | {} | {about} |", default(&setting)).unwrap();
        }
    }
    hold("settings.md", &text);
}

/// The values of the enumeration `name` of a schema with their documented meanings.
fn values(schema: &str, name: &str) -> Vec<(String, String)> {
    let path = format!("{}/../docs/schema/plimsoll.{schema}-1.json", env!("CARGO_MANIFEST_DIR"));
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let one = |value: &Value| {
        let text = |key: &str| value[key].as_str().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        (text("const"), text("description"))
    };
    schema["$defs"][name]["oneOf"].as_array().unwrap().iter().map(one).collect()
}

/// A table of `values`, with the exit code for each if they have one.
fn table(values: &[(String, String)], exit: Option<&dyn Fn(&str) -> u8>) -> String {
    let head = if exit.is_some() {
        "| verdict | meaning | exit code |\n|---|---|--:|\n"
    } else {
        "| verdict | meaning |\n|---|---|\n"
    };
    let row = |(name, meaning): &(String, String)| {
        let code = exit.map(|exit| format!(" {} |", exit(name))).unwrap_or_default();
        format!("| `{name}` | {} |{code}\n", cell(meaning))
    };
    head.to_owned() + &values.iter().map(row).collect::<String>()
}

/// The value whose JSON name is `name`.
fn of_name<T: DeserializeOwned>(name: &str) -> T {
    serde_json::from_value(Value::from(name)).unwrap()
}

fn name_of(value: &impl Serialize) -> String {
    serde_json::to_value(value).unwrap().as_str().unwrap().to_owned()
}

#[test]
fn the_page_of_verdicts_is_up_to_date() {
    let of_status = |name: &str| exit_code(&[Verdict::new("", of_name::<VerdictStatus>(name), "")]);
    let of_outcome = |name: &str| of_name::<Outcome>(name).exit_code();
    let of_fit = |name: &str| u8::from(!of_name::<Fit>(name).holds());
    let failures = values("record", "FailureKind");
    let known: Vec<_> = FailureKind::ALL.iter().map(name_of).collect();
    assert_eq!(failures.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), known);
    let text = format!(
        "# Verdicts\n\n\
        <!-- Generated from the types of the verdicts: PLIMSOLL_UPDATE_DOCS=1 cargo test -p plimsoll-harness reference -->\n\n\
        What each command may conclude, by the word that its report and its JSON use, and the exit code that follows. Several\n\
        verdicts make one exit code: 1 if any fails, otherwise 3 if any could not be reached, otherwise 0\n\
        ([exit codes](exit-codes.md)). A figure that could not be measured never passes.\n\n\
        ## `run`, `check`, `validate`, `profile`\n\nEach ceiling, and each part of a check, ends with one of these in the record.\n\n{}\n\
        ### Why an entry has no result\n\nA failed entry fails its check: exit code 1.\n\n{}\n\
        ## `gate`, `ab`, `bench-gate`\n\nWhat became of each figure since its baseline.\n\n{}\n\
        ## `matrix`\n\nWhat a configuration is beside the baseline. The gate of the plan decides the exit code, by the words of `gate`.\n\n{}\n\
        ## `diagnose`\n\nWhat ran out (`kind`). The exit code is 1 if a failure was found, otherwise 0.\n\n{}\n\
        Why it ran out, and what else is true (`verdict`, `also`). `--fail-on` takes these names.\n\n{}\n\
        ## `estimate`\n\nWhether the training fits into `--vram` and `--ram`.\n\n{}",
        table(&values("record", "VerdictStatus"), Some(&of_status)),
        table(&failures, None),
        table(&values("gate", "Outcome"), Some(&of_outcome)),
        table(&values("matrix", "RowVerdict"), None),
        table(&values("findings", "Kind"), None),
        table(&values("findings", "Verdict"), None),
        table(&values("estimate", "FitVerdict"), Some(&of_fit)),
    );
    hold("verdicts.md", &text);
}
