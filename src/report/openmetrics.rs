//! OpenMetrics text, for GitLab's metrics report and for everything that reads Prometheus' format.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::outcome::{Judged, findings, names};
use super::summary::{bare, source_words};
use super::terminal::clean;
use crate::gate::GateReport;
use crate::record::{Record, Unit, VerdictStatus, figures};

/// The samples of one metric family, which OpenMetrics wants together.
struct Family {
    unit: &'static str,
    help: &'static str,
    samples: String,
    /// Label sets that already have a sample: each may occur only once.
    labels: BTreeSet<String>,
}

/// The families by name.
#[derive(Default)]
struct Families(BTreeMap<String, Family>);

impl Families {
    fn sample(&mut self, name: &str, unit: &'static str, help: &'static str, labels: &str, value: f64) {
        let empty = || Family { unit, help, samples: String::new(), labels: BTreeSet::new() };
        let family = self.0.entry(name.to_owned()).or_insert_with(empty);
        // Names that differ only in invisible characters are escaped to the same text.
        let mut unique = labels.to_owned();
        let mut nth = 1;
        while !family.labels.insert(unique.clone()) {
            nth += 1;
            unique = format!("{labels},nth=\"{nth}\"");
        }
        let _ = writeln!(family.samples, "{name}{{{unique}}} {value}");
    }

    fn text(self) -> String {
        let mut out = String::new();
        for (name, family) in self.0 {
            let _ = writeln!(out, "# TYPE {name} gauge");
            if !family.unit.is_empty() {
                let _ = writeln!(out, "# UNIT {name} {}", family.unit);
            }
            let _ = writeln!(out, "# HELP {name} {}", family.help);
            out.push_str(&family.samples);
        }
        out + "# EOF\n"
    }
}

/// Writes the figures of the records as gauges in base units, then their ceilings and verdicts.
pub fn openmetrics(records: &[Record]) -> String {
    of_records(records).text()
}

/// Writes the figures of the records, then each figure's judgement and its change.
pub(super) fn gate(gate: &GateReport, records: &[Record]) -> String {
    let mut families = of_records(records);
    for (subject, judged) in gate.subjects.iter().zip(Judged::gate(gate)) {
        let name = label(&judged.name);
        for figure in &subject.figures {
            let outcome = figure.outcome.to_string().replace(' ', "_");
            let labels = format!("subject=\"{name}\",figure=\"{}\"", label(&figure.name));
            let help = "1 for the outcome of the limit on the figure.";
            families.sample("plimsoll_limit", "", help, &format!("{labels},outcome=\"{outcome}\""), 1.0);
            if let Some(percent) = figure.comparison.as_ref().and_then(|comparison| comparison.percent) {
                let help = "Change of a figure as a share of its baseline.";
                families.sample("plimsoll_change_ratio", "ratio", help, &labels, percent / 100.0);
            }
        }
    }
    families.text()
}

fn of_records(records: &[Record]) -> Families {
    let mut families = Families::default();
    for (record, name) in records.iter().zip(names(records)) {
        let subject = format!("subject=\"{}\"", label(&name));
        for figure in figures(record) {
            let bare = metric(bare(&figure));
            let (family, unit, scale) = match figure.unit {
                Unit::Bytes => (format!("plimsoll_{bare}_bytes"), "bytes", 1.0),
                Unit::Nanoseconds => (format!("plimsoll_{bare}_seconds"), "seconds", 1e9),
                Unit::Count => (format!("plimsoll_{bare}"), "", 1.0),
            };
            let phase = figure.phase.as_ref().map_or(String::new(), |phase| format!(",phase=\"{}\"", label(phase)));
            let source = figure.source.map_or(String::new(), |source| format!(",source=\"{}\"", source_words(source)));
            let repeated = figure.values.len() > 1;
            for (at, value) in figure.values.iter().enumerate() {
                let repeat = if repeated { format!(",repeat=\"{}\"", at + 1) } else { String::new() };
                let labels = format!("{subject}{phase}{source}{repeat}");
                families.sample(
                    &family,
                    unit,
                    "A figure of a run, or of one phase if it has that label.",
                    &labels,
                    value / scale,
                );
            }
        }
        for finding in findings(record) {
            let status = match finding.status {
                VerdictStatus::Pass => "pass",
                VerdictStatus::Fail => "fail",
                VerdictStatus::NotMeasurable => "not_measurable",
                VerdictStatus::Inconclusive => "inconclusive",
            };
            let labels = format!("{subject},verdict=\"{}\",status=\"{status}\"", label(&finding.subject));
            families.sample("plimsoll_verdict", "", "1 for the status of the verdict.", &labels, 1.0);
            if let Some(ceiling) = finding.ceiling {
                let help = "The limit of a figure: a minimum for available_floor, a maximum for the others.";
                let labels = format!("{subject},figure=\"{}\"", ceiling.metric);
                families.sample("plimsoll_ceiling_bytes", "bytes", help, &labels, ceiling.limit.bytes() as f64);
            }
        }
    }
    families
}

/// A metric name: dots, which OpenMetrics does not allow, become underscores.
fn metric(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// The value of a label.
fn label(text: &str) -> String {
    clean(text).replace('\\', "\\\\").replace('"', "\\\"")
}
