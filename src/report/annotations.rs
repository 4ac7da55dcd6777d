//! Annotations of GitHub Actions: a line for each verdict that does not hold, which the runner reads off the log.

use std::fmt::Write;

use super::outcome::{findings, names};
use super::terminal::clean;
use crate::record::{Record, VerdictStatus};

/// The verdicts that do not hold as `::error` and, where they could not be reached, as `::warning`. Nothing where all do.
pub fn annotations(records: &[Record]) -> String {
    let mut out = String::new();
    for (record, name) in records.iter().zip(names(records)) {
        for finding in findings(record) {
            let (command, word) = match finding.status {
                VerdictStatus::Pass => continue,
                VerdictStatus::Fail => ("error", "failed"),
                VerdictStatus::NotMeasurable => ("warning", "not measurable"),
                VerdictStatus::Inconclusive => ("warning", "inconclusive"),
            };
            let title = property(&format!("{name}: {} {word}", finding.subject));
            let _ = writeln!(out, "::{command} title={title}::{}", message(&finding.message));
        }
    }
    out
}

/// The text of an annotation: one line, in which `%` begins an escape.
fn message(text: &str) -> String {
    clean(text).replace('%', "%25")
}

/// The value of a property, which `:` and `,` would end.
fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}
