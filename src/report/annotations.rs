//! Annotations of GitHub Actions: a line for each verdict that does not hold, which the runner reads off the log.

use std::fmt::Write;

use super::outcome::{Judged, status_word};
use super::terminal::clean;
use crate::record::{Record, VerdictStatus};

/// The verdicts that do not hold as `::error` and, if they could not be reached, as `::warning`. Nothing if all do.
pub fn annotations(records: &[Record]) -> String {
    lines(&Judged::records(records))
}

/// A line for all that was judged and does not hold.
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

/// The text of an annotation: one line, in which `%` begins an escape.
fn message(text: &str) -> String {
    clean(text).replace('%', "%25")
}

/// The value of a property, which `:` and `,` would end.
fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}
