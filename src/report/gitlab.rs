//! GitLab's code quality report: an issue for each verdict that does not hold.
//!
//! GitLab shows in a merge request which issues are new and which are gone, by their fingerprints; so that of a verdict
//! stays the same from run to run. Its metrics report is OpenMetrics ([`openmetrics`](super::openmetrics)).

use serde::Serialize;

use super::outcome::Judged;
use super::terminal::clean;
use crate::record::{Record, VerdictStatus};

/// GitLab wants a file of the repository: the one that runs the job, as no ceiling has a line of code.
const PATH: &str = ".gitlab-ci.yml";

#[derive(Serialize)]
struct Issue {
    description: String,
    check_name: String,
    fingerprint: String,
    severity: &'static str,
    location: Location,
}

#[derive(Serialize)]
struct Location {
    path: &'static str,
    lines: Lines,
}

#[derive(Serialize)]
struct Lines {
    begin: u32,
}

/// The records as GitLab's code quality report.
pub fn gitlab(records: &[Record]) -> String {
    issues(&Judged::records(records))
}

/// What was judged and does not hold.
pub(super) fn issues(judged: &[Judged<'_>]) -> String {
    let mut issues = Vec::new();
    for Judged { name, findings, .. } in judged {
        for finding in findings {
            let severity = match finding.status {
                VerdictStatus::Pass => continue,
                VerdictStatus::Fail => "major",
                VerdictStatus::NotMeasurable | VerdictStatus::Inconclusive => "minor",
            };
            let mut fingerprint = blake3::Hasher::new();
            fingerprint.update(name.as_bytes()).update(b"\0").update(finding.subject.as_bytes());
            issues.push(Issue {
                description: clean(&format!("{name}: {}", finding.message)),
                check_name: clean(&format!("plimsoll {}", finding.subject)),
                fingerprint: fingerprint.finalize().to_hex().to_string(),
                severity,
                location: Location { path: PATH, lines: Lines { begin: 1 } },
            });
        }
    }
    super::pretty(&issues)
}
