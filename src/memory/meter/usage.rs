//! [`Usage`]: what a process has used, from monotonic counters.

use std::ops::{Add, Sub};

/// Faults and processor time of a process and the children it has reaped, or of several processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) minor_faults: u64,
    pub(crate) major_faults: u64,
    pub(crate) user_ticks: u64,
    pub(crate) system_ticks: u64,
}

impl Usage {
    fn combine(self, other: Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            minor_faults: combine(self.minor_faults, other.minor_faults),
            major_faults: combine(self.major_faults, other.major_faults),
            user_ticks: combine(self.user_ticks, other.user_ticks),
            system_ticks: combine(self.system_ticks, other.system_ticks),
        }
    }
}

impl Add for Usage {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        self.combine(other, u64::saturating_add)
    }
}

impl Sub for Usage {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.combine(other, u64::saturating_sub)
    }
}
