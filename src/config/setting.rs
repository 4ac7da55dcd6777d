//! The settings that `plimsoll.toml` may contain: one table for reading, showing, explaining and the schema.

use std::fmt;
use std::time::Duration;

use crate::defaults;
use crate::gate::bench::DEFAULT_BASELINE;
use crate::gate::{DEFAULT_CONFIDENCE, DEFAULT_FOLDER};
use plimsoll_memory::bytes::{ByteSize, GIB, KIB, MIB};
use plimsoll_memory::meter::Metric;

/// The kind of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An amount such as `"2 GiB"`, or a number of bytes.
    Bytes,
    /// A time such as `"10ms"`.
    Time,
    /// A whole number.
    Count,
    /// A number from 0.5 to below 1.
    Confidence,
    /// `true` or `false`.
    Switch,
    /// A text, such as the path of a file.
    Text,
    /// A record, a folder of them, `git:REVISION[:PATH]`.
    Baseline,
    /// Conditions of a comparison, in a list.
    Conditions,
    /// How much worse a figure may get, such as `"5% | 64 MiB"`.
    Allowance,
    /// Verdicts of a diagnosis, in a list.
    Verdicts,
}

impl Kind {
    /// A description of the expected value.
    pub const fn expects(self) -> &'static str {
        match self {
            Self::Bytes => "an amount such as \"2 GiB\"",
            Self::Time => "a time such as \"10ms\"",
            Self::Count => "a whole number",
            Self::Confidence => "a number from 0.5 to below 1, such as 0.99",
            Self::Switch => "true or false",
            Self::Text => "a text",
            Self::Baseline => "a file, a folder or \"git:REVISION\"",
            Self::Conditions => "a list of conditions, such as [\"kernel\", \"machine\"]",
            Self::Allowance => "an allowance such as \"5% | 64 MiB\"",
            Self::Verdicts => "a list of verdicts, such as [\"leak\", \"fragmentation\"]",
        }
    }
}

/// The default of a setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Preset {
    /// An amount.
    Bytes(ByteSize),
    /// A time.
    Time(Duration),
    /// A whole number.
    Count(u32),
    /// A number from 0.5 to below 1.
    Confidence(f64),
    /// `true` or `false`.
    Switch(bool),
    /// A text.
    Text(&'static str),
}

impl Preset {
    /// The value as a flag, in one word: `16GiB`.
    pub fn flag(&self) -> String {
        match self {
            Self::Bytes(_) => self.to_string().replace(' ', ""),
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for Preset {
    /// The value in `plimsoll.toml`: `16 GiB`, `10ms`, `60s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(amount) => {
                let bytes = amount.bytes();
                let units = [("GiB", GIB), ("MiB", MIB), ("KiB", KIB)];
                let whole = units.into_iter().find(|(_, unit)| bytes > 0 && bytes.is_multiple_of(*unit));
                let (name, unit) = whole.unwrap_or(("B", 1));
                write!(f, "{} {name}", bytes / unit)
            }
            Self::Time(time) if time.subsec_nanos() == 0 => write!(f, "{}s", time.as_secs()),
            Self::Time(time) => write!(f, "{}", humantime::format_duration(*time)),
            Self::Count(count) => count.fmt(f),
            Self::Confidence(confidence) => confidence.fmt(f),
            Self::Switch(on) => on.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// A setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// The setting's table.
    pub section: &'static str,
    /// Its key there.
    pub name: &'static str,
    /// The kind.
    pub kind: Kind,
    /// The effect, in a sentence without its full stop.
    pub about: &'static str,
    /// The default; `None` if there is none.
    pub default: Option<Preset>,
}

impl Setting {
    /// Whether the setting starts a program or names a path to write to, so that another user's file may not set it.
    pub fn needs_trust(&self) -> bool {
        self.section == "report"
            || matches!((self.section, self.name), ("check", "python") | ("gate", "folder") | ("history", "file"))
            || self.name == "record"
    }

    /// The full name, such as `run.repeat`.
    pub fn key(&self) -> String {
        format!("{}.{}", self.section, self.name)
    }
}

/// The sections, each with its purpose, in the order of a report.
pub const SECTIONS: [(&str, &str); 7] = [
    ("ceilings", "Ceilings for `run`, `check` and `gate`; a table [ceilings.LABEL] applies to that label only"),
    ("gate", "How `gate` and `ab` judge; [gate.limits] sets how much worse a figure may get"),
    ("bench_gate", "How `bench-gate` judges; [bench_gate.limits] has limits by the names of benchmarks"),
    ("run", "How `run`, `ab` and `calibrate` run a command"),
    ("check", "How `check`, `validate` and `profile` run"),
    ("history", "The records by commit"),
    ("report", "The reports that commands write in addition to their output; `-` is standard output"),
];

/// Sections with a table `limits`, whose keys are names of figures, in which `*` stands for any text.
pub const LIMITED: [&str; 2] = ["gate", "bench_gate"];

const fn setting(
    section: &'static str,
    name: &'static str,
    kind: Kind,
    about: &'static str,
    default: Option<Preset>,
) -> Setting {
    Setting { section, name, kind, about, default }
}

/// Every setting except ceilings, which exist for each metric, and limits, which have free names.
const OTHERS: &[Setting] = &[
    setting("gate", "baseline", Kind::Baseline, "The baseline to compare figures with", None),
    setting(
        "gate",
        "folder",
        Kind::Text,
        "The folder of baselines that git:REVISION reads and --update-baseline writes",
        Some(Preset::Text(DEFAULT_FOLDER)),
    ),
    setting(
        "gate",
        "confidence",
        Kind::Confidence,
        "The confidence of intervals",
        Some(Preset::Confidence(DEFAULT_CONFIDENCE)),
    ),
    setting("gate", "allow", Kind::Conditions, "Conditions that may differ from the baseline's", None),
    setting(
        "bench_gate",
        "baseline",
        Kind::Text,
        "The baseline as criterion or gungraun saved it",
        Some(Preset::Text(DEFAULT_BASELINE)),
    ),
    setting(
        "bench_gate",
        "confidence",
        Kind::Confidence,
        "The confidence of intervals",
        Some(Preset::Confidence(DEFAULT_CONFIDENCE)),
    ),
    setting(
        "run",
        "repeat",
        Kind::Count,
        "Runs of the command; a comparison needs five or more",
        Some(Preset::Count(1)),
    ),
    setting("run", "warmup", Kind::Count, "Warm-up runs, not recorded", Some(Preset::Count(0))),
    setting("run", "timeout", Kind::Time, "The longest time that a run may take", None),
    setting(
        "run",
        "enforce",
        Kind::Switch,
        "Kill a command at its ceilings, instead of judging it at the end",
        Some(Preset::Switch(false)),
    ),
    setting("run", "keep_going", Kind::Switch, "Continue after a failed run", Some(Preset::Switch(false))),
    setting("run", "pss", Kind::Switch, "Read the proportional set size (PSS)", Some(Preset::Switch(false))),
    setting("run", "gpu", Kind::Switch, "Read memory on GPUs", Some(Preset::Switch(false))),
    setting(
        "run",
        "cgroup",
        Kind::Switch,
        "Make a control group for the command, and read its memory",
        Some(Preset::Switch(false)),
    ),
    setting(
        "run",
        "sample_interval",
        Kind::Time,
        "Time between two samples",
        Some(Preset::Time(defaults::SAMPLE_INTERVAL)),
    ),
    setting(
        "run",
        "diagnose",
        Kind::Switch,
        "Watch the output, and say at the end what went wrong with memory",
        Some(Preset::Switch(false)),
    ),
    setting("run", "fail_on", Kind::Verdicts, "Fail if one of these is found; implies `diagnose`", None),
    setting("run", "record", Kind::Text, "The file for the record", None),
    setting(
        "check",
        "timeout",
        Kind::Time,
        "The longest time that a launch may take",
        Some(Preset::Time(defaults::LAUNCH_TIMEOUT)),
    ),
    setting(
        "check",
        "python",
        Kind::Text,
        "The Python with torch for `py:` kernels",
        Some(Preset::Text(defaults::PYTHON)),
    ),
    setting(
        "check",
        "batch_bytes",
        Kind::Bytes,
        "Most bytes that entries keep resident together while profiling",
        Some(Preset::Bytes(defaults::BATCH_BYTES)),
    ),
    setting(
        "check",
        "recycle_after",
        Kind::Bytes,
        "Bytes of entries after which a validation worker is replaced",
        Some(Preset::Bytes(defaults::RECYCLE_AFTER)),
    ),
    setting("check", "recycle_rss", Kind::Bytes, "Resident memory at which a validation worker is replaced", None),
    setting(
        "check",
        "sample_interval",
        Kind::Time,
        "Time between two samples",
        Some(Preset::Time(defaults::SAMPLE_INTERVAL)),
    ),
    setting("check", "record", Kind::Text, "The file for the record", Some(Preset::Text(defaults::RECORD))),
    setting("history", "file", Kind::Text, "The SQLite file of the history", Some(Preset::Text(defaults::HISTORY))),
    setting("history", "branch", Kind::Text, "The branch to show, and to compare with for a baseline `history`", None),
    setting("report", "html", Kind::Text, "HTML page with timelines", None),
    setting("report", "markdown", Kind::Text, "Markdown summary, such as for $GITHUB_STEP_SUMMARY", None),
    setting("report", "junit", Kind::Text, "JUnit XML, a case per verdict", None),
    setting("report", "annotations", Kind::Text, "GitHub annotations", None),
    setting("report", "gitlab", Kind::Text, "GitLab code quality report", None),
    setting("report", "bencher", Kind::Text, "Bencher Metric Format", None),
    setting("report", "github_benchmark", Kind::Text, "JSON for github-action-benchmark", None),
    setting("report", "csv", Kind::Text, "Every figure as CSV", None),
    setting("report", "openmetrics", Kind::Text, "OpenMetrics text", None),
];

/// Every setting with a fixed name, in the order of a report.
pub fn settings() -> impl Iterator<Item = Setting> {
    let ceiling = |metric: Metric| setting("ceilings", metric.name(), Kind::Bytes, metric.facts().help, None);
    Metric::ALL.into_iter().map(ceiling).chain(OTHERS.iter().copied())
}

/// The default of the setting with this key (`check.batch_bytes`), as a flag takes it; `None` if there is no default or
/// no such setting.
pub fn default_of(key: &str) -> Option<String> {
    Some(settings().find(|setting| setting.key() == key)?.default?.flag())
}

/// The setting `name` of `section`, with `_` or `-` between its words.
pub(super) fn named(section: &str, name: &str) -> Option<Setting> {
    let plain = name.replace('-', "_");
    settings().find(|setting| setting.section == section && setting.name == plain)
}
