//! [`GpuState`]: clocks, temperature and power of a GPU while something is timed on it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The least and the most of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// The least.
    pub least: u32,
    /// The most.
    pub most: u32,
}

/// What a GPU was like while an entry was timed, the upload of its batch and the judging of the entry before included.
/// What the driver does not tell is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GpuState {
    /// How often it was read.
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
    /// Why the clocks were held back at any sample; a time taken then is of a slower device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub throttled: Vec<String>,
}

impl GpuState {
    /// Takes in what it was like in another part of the time.
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
