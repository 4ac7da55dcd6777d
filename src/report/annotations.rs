//! GitHub Actions annotations: one line for each failed verdict, which the runner reads from the log.

use std::fmt::Write;

use super::outcome::{Judged, status_word};
use super::terminal::clean;
use crate::record::{Record, VerdictStatus};

/// Annotations for verdicts that did not pass: `::error` if a verdict failed, `::warning` if it could not be reached.
/// Empty if all passed.
pub fn annotations(records: &[Record]) -> String {
    lines(&Judged::records(records))
}

/// One annotation for each judged item that did not pass.
pub(super) fn lines(judged: &[Judged<'_>]) -> String {
    let mut out = String::new();
    for Judged { name, findings, .. } in judged {
        for finding in findings {
            let command = match finding.status {
                VerdictStatus::Pass => continue,
                VerdictStatus::Fail => "error",
                VerdictStatus::NotMeasurable | VerdictStatus::Inconclusive => "warning",
            };
            let word = status_word(finding.status);
            let title = property(&format!("{name}: {} {word}", finding.subject));
            let _ = writeln!(out, "::{command} title={title}::{}", message(&finding.message));
        }
    }
    out
}

/// The text of an annotation on one line, with `%` escaped.
fn message(text: &str) -> String {
    clean(text).replace('%', "%25")
}

/// The value of a property, with `:` and `,` escaped.
fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}
