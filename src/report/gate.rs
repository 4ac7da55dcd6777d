//! The judgement of the gate as documents, each as its namesake for records.
//!
//! Figures alone ([`bencher`](super::bencher()), [`github_benchmark`](super::github_benchmark()), [`csv`](super::csv())) are those
//! of the records that were judged.

use super::outcome::Judged;
use crate::gate::GateReport;
use crate::record::Record;

pub use super::html::gate as html;
pub use super::markdown::gate as markdown;

/// JUnit's XML: a suite a subject, a case a ceiling and a limit.
pub fn junit(gate: &GateReport) -> String {
    super::junit::document(&Judged::gate(gate))
}

/// Annotations of GitHub Actions: a line for all that does not hold.
pub fn annotations(gate: &GateReport) -> String {
    super::annotations::lines(&Judged::gate(gate))
}

/// GitLab's code quality report: an issue for all that does not hold.
pub fn gitlab(gate: &GateReport) -> String {
    super::gitlab::issues(&Judged::gate(gate))
}

/// OpenMetrics text: the figures of the records, then how each was judged and by how much it moved.
pub fn openmetrics(gate: &GateReport, records: &[Record]) -> String {
    super::openmetrics::gate(gate, records)
}
