//! Documents of a gate's judgement, each like its counterpart for records.
//!
//! Documents that contain only figures ([`bencher`](super::bencher()), [`github_benchmark`](super::github_benchmark()),
//! [`csv`](super::csv())) use those of the judged records.

use super::outcome::Judged;
use crate::gate::GateReport;
use crate::record::Record;

pub use super::html::gate as html;
pub use super::markdown::gate as markdown;

/// JUnit XML: one suite per subject, one case per ceiling and limit.
pub fn junit(gate: &GateReport) -> String {
    super::junit::document(&Judged::gate(gate))
}

/// GitHub Actions annotations: one line for each item that did not pass.
pub fn annotations(gate: &GateReport) -> String {
    super::annotations::lines(&Judged::gate(gate))
}

/// GitLab's code quality report: one issue for each item that did not pass.
pub fn gitlab(gate: &GateReport) -> String {
    super::gitlab::issues(&Judged::gate(gate))
}

/// OpenMetrics text: the figures of the records, then each figure's judgement and its change.
pub fn openmetrics(gate: &GateReport, records: &[Record]) -> String {
    super::openmetrics::gate(gate, records)
}
