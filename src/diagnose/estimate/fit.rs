//! [`Limits`] and [`Fit`]: whether an estimate fits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::total::Estimate;
use plimsoll_memory::bytes::ByteSize;

/// The memory that there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Of each GPU; absent where it is not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vram: Option<ByteSize>,
    /// Of each node; absent where it is not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ram: Option<ByteSize>,
}

/// The judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Everything fits.
    Fits,
    /// The fixed state fits; batch or sequence is unknown, and with it the activations.
    FixedStateFits,
    /// It does not fit on the device.
    ExceedsDevice,
    /// It fits on the device, not on the host.
    ExceedsHost,
}

impl Verdict {
    /// Whether nothing that was counted exceeds a limit.
    pub const fn holds(self) -> bool {
        matches!(self, Self::Fits | Self::FixedStateFits)
    }
}

/// An estimate against limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fit {
    /// The judgement.
    pub verdict: Verdict,
    /// What is left on each GPU; absent where it is exceeded or not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_left: Option<ByteSize>,
    /// By how much each GPU is exceeded; absent where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_over: Option<ByteSize>,
    /// What is left on each node; absent where it is exceeded or not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_left: Option<ByteSize>,
    /// By how much each node is exceeded; absent where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_over: Option<ByteSize>,
}

impl Estimate {
    /// Judges the peak of every phase; `None` without a limit.
    pub fn fit(&self, limits: &Limits) -> Option<Fit> {
        let left = |limit: Option<ByteSize>, used: ByteSize| {
            limit.filter(|&limit| used <= limit).map(|limit| limit.saturating_sub(used))
        };
        let over = |limit: Option<ByteSize>, used: ByteSize| {
            limit.filter(|&limit| used > limit).map(|limit| used.saturating_sub(limit))
        };
        let (device_over, host_over) = (over(limits.vram, self.peak.device), over(limits.ram, self.peak.host));
        let verdict = match (device_over, host_over, &self.activations) {
            (Some(_), ..) => Verdict::ExceedsDevice,
            (None, Some(_), _) => Verdict::ExceedsHost,
            (None, None, None) => Verdict::FixedStateFits,
            (None, None, Some(_)) => Verdict::Fits,
        };
        (limits.vram.is_some() || limits.ram.is_some()).then_some(Fit {
            verdict,
            device_left: left(limits.vram, self.peak.device),
            device_over,
            host_left: left(limits.ram, self.peak.host),
            host_over,
        })
    }
}
