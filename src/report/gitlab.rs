//! GitLab's code quality report: one issue for each verdict that did not pass.
//!
//! GitLab compares fingerprints to show which issues a merge request adds or resolves, so the fingerprint of a verdict
//! stays the same from run to run. GitLab's metrics report reads OpenMetrics ([`openmetrics`](super::openmetrics)).

use serde::Serialize;

use super::outcome::Judged;
use super::terminal::clean;
use crate::record::{Record, VerdictStatus};

/// GitLab requires a file of the repository. A ceiling has no line of code, so issues name the file that defines the
/// job.
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

/// Issues for the judged items that did not pass.
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
