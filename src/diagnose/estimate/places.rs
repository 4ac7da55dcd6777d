//! [`Places`]: amounts on the device, on the host, on NVMe.

use std::ops::Add;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use plimsoll_memory::bytes::ByteSize;

/// Amounts by place: one GPU, the host of one node, its NVMe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Places {
    /// Bytes on each GPU.
    pub device: ByteSize,
    /// Bytes in the memory of each node.
    pub host: ByteSize,
    /// Bytes on the NVMe of each node.
    pub nvme: ByteSize,
}

impl Places {
    /// Zero everywhere.
    pub const NONE: Self = Self { device: ByteSize::ZERO, host: ByteSize::ZERO, nvme: ByteSize::ZERO };

    /// `bytes` on the device.
    pub const fn on_device(bytes: ByteSize) -> Self {
        Self { device: bytes, ..Self::NONE }
    }

    /// `bytes` on the host.
    pub const fn on_host(bytes: ByteSize) -> Self {
        Self { host: bytes, ..Self::NONE }
    }

    /// `bytes` on NVMe.
    pub const fn on_nvme(bytes: ByteSize) -> Self {
        Self { nvme: bytes, ..Self::NONE }
    }

    /// The larger of both, place by place.
    pub fn max(self, other: Self) -> Self {
        Self { device: self.device.max(other.device), host: self.host.max(other.host), nvme: self.nvme.max(other.nvme) }
    }
}

impl Add for Places {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { device: self.device + other.device, host: self.host + other.host, nvme: self.nvme + other.nvme }
    }
}
