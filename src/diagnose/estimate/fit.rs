//! [`Limits`] and [`Fit`]: whether an estimate fits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::total::Estimate;
use plimsoll_memory::bytes::ByteSize;

/// The least GPU memory that a CUDA context takes.
pub const CONTEXT_LEAST: ByteSize = ByteSize::mib(512);

/// The most GPU memory that a CUDA context and NCCL usually take.
pub const CONTEXT_MOST: ByteSize = ByteSize::gib(2);

/// The available memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Memory of each GPU; absent if it is not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vram: Option<ByteSize>,
    /// Memory of each node; absent if it is not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ram: Option<ByteSize>,
}

/// The verdict on an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FitVerdict {
    /// Everything fits, including a CUDA context of any usual size.
    Fits,
    /// Everything fits if the CUDA context is small: less than 2 GiB are left for it.
    Tight,
    /// The fixed state fits; activations are unknown because the batch or the sequence length is.
    FixedStateFits,
    /// The training does not fit on the device.
    ExceedsDevice,
    /// The training fits on the device, but not on the host.
    ExceedsHost,
}

impl FitVerdict {
    /// Whether nothing that was counted exceeds a limit.
    pub const fn holds(self) -> bool {
        matches!(self, Self::Fits | Self::Tight | Self::FixedStateFits)
    }

    /// Whether everything that was counted fits, with room for a CUDA context of any usual size.
    pub(super) const fn safe(self) -> bool {
        matches!(self, Self::Fits | Self::FixedStateFits)
    }
}

/// An estimate compared with limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fit {
    /// The verdict.
    pub verdict: FitVerdict,
    /// Memory left on each GPU after the smallest CUDA context; absent if the limit is exceeded or not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_left: Option<ByteSize>,
    /// Bytes beyond the limit of each GPU; absent if it fits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_over: Option<ByteSize>,
    /// Memory left on each node; absent if the limit is exceeded or not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_left: Option<ByteSize>,
    /// Bytes beyond the limit of each node; absent if it fits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_over: Option<ByteSize>,
}

impl Estimate {
    /// Judges the peak of every phase together with a CUDA context; `None` without a limit.
    pub fn fit(&self, limits: &Limits) -> Option<Fit> {
        let left = |limit: Option<ByteSize>, used: ByteSize| {
            limit.filter(|&limit| used <= limit).map(|limit| limit.saturating_sub(used))
        };
        let over = |limit: Option<ByteSize>, used: ByteSize| {
            limit.filter(|&limit| used > limit).map(|limit| used.saturating_sub(limit))
        };
        let device = self.peak.device.checked_add(CONTEXT_LEAST).unwrap_or(ByteSize::new(u64::MAX));
        let (device_over, host_over) = (over(limits.vram, device), over(limits.ram, self.peak.host));
        let room = CONTEXT_MOST.saturating_sub(CONTEXT_LEAST);
        let tight = left(limits.vram, device).is_some_and(|left| left < room);
        let verdict = match (device_over, host_over, &self.activations) {
            (Some(_), ..) => FitVerdict::ExceedsDevice,
            (None, Some(_), _) => FitVerdict::ExceedsHost,
            (None, None, _) if tight => FitVerdict::Tight,
            (None, None, None) => FitVerdict::FixedStateFits,
            (None, None, Some(_)) => FitVerdict::Fits,
        };
        (limits.vram.is_some() || limits.ram.is_some()).then_some(Fit {
            verdict,
            device_left: left(limits.vram, device),
            device_over,
            host_left: left(limits.ram, self.peak.host),
            host_over,
        })
    }
}
