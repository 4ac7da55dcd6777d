//! [`Gate`]: how far a configuration may exceed the baseline.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::figure::Figure;
use crate::gate::Allowance;
use plimsoll_diagnose::trend;

/// How far a configuration may exceed the baseline, per figure. Absent figures are not judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// The memory of tensors, from the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocated: Option<Allowance>,
    /// The memory of the allocator, from the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<Allowance>,
    /// The time of a step, from the log; of the whole run if the log has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Allowance>,
    /// Resident memory of the process tree, from the meter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_rss: Option<Allowance>,
    /// Anonymous memory of the process tree, from the meter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_anon: Option<Allowance>,
    /// GPU memory of the process tree, from the meter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_peak: Option<Allowance>,
}

impl Gate {
    /// Whether no figure is judged.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The allowed growth of `figure`, if it is judged.
    pub fn allowance(&self, figure: Figure) -> Option<Allowance> {
        match figure {
            Figure::StepTime | Figure::WallTime => self.time,
            Figure::Allocated => self.allocated,
            Figure::Reserved => self.reserved,
            Figure::PeakRss => self.peak_rss,
            Figure::PeakAnon => self.peak_anon,
            Figure::GpuPeak => self.gpu_peak,
        }
    }

    /// What a verdict counts as near the baseline: the gate's allowance, or by default `10% | 1 GiB` for memory and
    /// `5%` for time.
    pub(super) fn near(&self, figure: Figure) -> Allowance {
        let usual = trend::Allowance::default();
        self.allowance(figure).unwrap_or(match figure {
            Figure::StepTime | Figure::WallTime => usual.time,
            _ => usual.allocated,
        })
    }
}
