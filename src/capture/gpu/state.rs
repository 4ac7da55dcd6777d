//! [`GpuState`]: clocks, temperature and power of a GPU while something is timed on it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The smallest and largest value of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// The smallest value.
    pub least: u32,
    /// The largest value.
    pub most: u32,
}

/// The state of a GPU while an entry was timed, including the upload of its batch and the judging of the entry before.
/// Figures that the driver does not report are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GpuState {
    /// The number of readings.
    pub samples: u64,
    /// The time between two samples.
    pub interval_ns: u64,
    /// The clock of the processors, in MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm_clock_mhz: Option<Span>,
    /// The clock of the memory, in MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_clock_mhz: Option<Span>,
    /// The temperature, in degrees Celsius.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature_c: Option<Span>,
    /// The power drawn, in milliwatts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_mw: Option<Span>,
    /// The reasons for which the clocks were held back at any sample; a time taken then is that of a slower device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub throttled: Vec<String>,
}

impl GpuState {
    /// Adds the state from another part of the time.
    pub fn add(&mut self, one: &Self) {
        let join = |all: Option<Span>, one: Option<Span>| match (all, one) {
            (Some(a), Some(b)) => Some(Span { least: a.least.min(b.least), most: a.most.max(b.most) }),
            (a, b) => a.or(b),
        };
        self.samples += one.samples;
        self.interval_ns = one.interval_ns;
        self.sm_clock_mhz = join(self.sm_clock_mhz, one.sm_clock_mhz);
        self.memory_clock_mhz = join(self.memory_clock_mhz, one.memory_clock_mhz);
        self.temperature_c = join(self.temperature_c, one.temperature_c);
        self.power_mw = join(self.power_mw, one.power_mw);
        for reason in &one.throttled {
            if !self.throttled.contains(reason) {
                self.throttled.push(reason.clone());
            }
        }
    }
}
