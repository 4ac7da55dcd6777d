//! JUnit XML: one suite per record, one case per verdict.
//!
//! The document uses only what Jenkins' schema allows. A ceiling that could not be measured is an `error`: a skipped
//! case would look like a success.

use std::fmt::Write;

use super::diagnosis::DiagnosisText;
use super::outcome::{Finding, Judged, status_word};
use super::page::escaped;
use crate::record::{DIAGNOSIS, EntryResult, Record, Rows, VerdictStatus};

/// Maximum number of entries named in the text of a failure.
const ENTRIES: usize = 20;

/// Writes the records as JUnit XML.
pub fn junit(records: &[Record]) -> String {
    document(&Judged::records(records))
}

/// Writes judged items as JUnit XML.
pub(super) fn document(judged: &[Judged<'_>]) -> String {
    let mut suites = String::new();
    let mut totals = Totals::default();
    for judged in judged {
        suite(&mut suites, judged, &mut totals);
    }
    let Totals { tests, failures, errors, seconds } = totals;
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"plimsoll\" tests=\"{tests}\" \
         failures=\"{failures}\" errors=\"{errors}\" time=\"{seconds:.3}\">\n{suites}</testsuites>\n"
    )
}

#[derive(Default)]
struct Totals {
    tests: usize,
    failures: usize,
    errors: usize,
    seconds: f64,
}

fn suite(out: &mut String, judged: &Judged<'_>, totals: &mut Totals) {
    let Judged { name, record, findings } = judged;
    let name = escaped(name);
    let count = |wanted: &dyn Fn(VerdictStatus) -> bool| findings.iter().filter(|found| wanted(found.status)).count();
    let failures = count(&|status| status == VerdictStatus::Fail);
    let errors = count(&|status| !matches!(status, VerdictStatus::Pass | VerdictStatus::Fail));
    totals.tests += findings.len();
    totals.failures += failures;
    totals.errors += errors;
    let _ = write!(
        out,
        "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"0\"",
        findings.len(),
    );
    if let Some(record) = record {
        let seconds = record.wall().as_secs_f64();
        totals.seconds += seconds;
        // The schema's times have neither a fraction nor a time zone.
        let started = record.started.split('.').next().unwrap_or_default();
        let _ = write!(out, " time=\"{seconds:.3}\" timestamp=\"{}\"", escaped(started));
    }
    out.push_str(">\n");
    for finding in findings {
        case(out, *record, &name, finding);
    }
    out.push_str("  </testsuite>\n");
}

fn case(out: &mut String, record: Option<&Record>, name: &str, finding: &Finding<'_>) {
    let message = escaped(&finding.message);
    let element = match finding.status {
        VerdictStatus::Pass if finding.subject == DIAGNOSIS => {
            let _ = writeln!(
                out,
                "    <testcase name=\"{DIAGNOSIS}\" classname=\"{name}\">\n      <system-out>{}</system-out>\n    </testcase>",
                diagnosis(record)
            );
            return;
        }
        VerdictStatus::Pass => {
            let _ = writeln!(out, "    <testcase name=\"{}\" classname=\"{name}\"/>", escaped(&finding.subject));
            return;
        }
        VerdictStatus::Fail => "failure",
        VerdictStatus::NotMeasurable | VerdictStatus::Inconclusive => "error",
    };
    let kind = status_word(finding.status);
    let _ = write!(
        out,
        "    <testcase name=\"{}\" classname=\"{name}\">\n      <{element} message=\"{message}\" type=\"{kind}\">{message}",
        escaped(&finding.subject)
    );
    if finding.subject == DIAGNOSIS {
        let _ = write!(out, "\n{}", diagnosis(record));
    }
    if let Some(record) = record.filter(|_| finding.subject == "validation") {
        entries(out, &record.results.entries);
    }
    let _ = writeln!(out, "</{element}>\n    </testcase>");
}

/// What the diagnosis of the run found, and what to do.
fn diagnosis(record: Option<&Record>) -> String {
    let found = record.and_then(|record| record.diagnosis.as_ref());
    let text: String =
        found.map_or_else(String::new, |found| DiagnosisText::all(found).iter().map(DiagnosisText::text).collect());
    text.lines().map(|line| escaped(line) + "\n").collect()
}

/// Adds one line for each entry that did not pass.
fn entries(out: &mut String, results: &Rows<EntryResult>) {
    let failed = || results.iter().filter(|entry| entry.validation.as_ref().is_some_and(|found| !found.passed()));
    for entry in failed().take(ENTRIES) {
        let why = entry.failure().map_or("does not match", |failure| failure.message.as_str());
        let _ = write!(out, "\n{}: {}", escaped(&entry.name), escaped(why));
    }
    if let Some(more) = failed().count().checked_sub(ENTRIES).filter(|more| *more > 0) {
        let _ = write!(out, "\nand {more} more");
    }
}
