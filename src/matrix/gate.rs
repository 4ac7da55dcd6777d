//! [`Gate`]: what a configuration may exceed the baseline by.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::figure::Figure;
use crate::gate::Allowance;
use plimsoll_diagnose::trend;

/// What a configuration may exceed the baseline by, figure by figure. Those that are absent are not judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// What tensors hold, by the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocated: Option<Allowance>,
    /// What the allocator holds, by the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<Allowance>,
    /// The time of a step, by the log; of the whole run if the log gives none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Allowance>,
    /// Resident memory of the process tree, by the meter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_rss: Option<Allowance>,
    /// Anonymous memory of the process tree, by the meter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_anon: Option<Allowance>,
    /// Memory on GPUs of the process tree, by the meter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_peak: Option<Allowance>,
}

impl Gate {
    /// Whether it judges nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What `figure` may grow by, if that is judged.
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

    /// What counts as near the baseline for a verdict: the gate's allowance, else `10% | 1 GiB` of memory and `5%` of
    /// time.
    pub(super) fn near(&self, figure: Figure) -> Allowance {
        let usual = trend::Allowance::default();
        self.allowance(figure).unwrap_or(match figure {
            Figure::StepTime | Figure::WallTime => usual.time,
            _ => usual.allocated,
        })
    }
}
