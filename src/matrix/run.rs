//! [`Run`]: the result of one turn.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::figure::Figure;
use super::log::LogReadings;
use plimsoll_diagnose::trend::{self, Readings};
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::command::{Ended, ProcessEnd};
use plimsoll_memory::meter::{Metric, worst_reading};
use plimsoll_memory::nanoseconds;

/// The result of one turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The name of its configuration.
    pub configuration: String,
    /// The digest of its configuration at the time.
    pub digest: String,
    /// The number of the repeat, from 1.
    pub repeat: u32,
    /// How its process ended; absent for an existing log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<ProcessEnd>,
    /// Nanoseconds from its start to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ns: Option<u64>,
    /// The meter's readings: the maximum over all phases.
    #[serde(default)]
    pub metered: BTreeMap<Metric, ByteSize>,
    /// The figures in the log; absent without telemetry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<LogReadings>,
    /// The path of the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_file: Option<String>,
    /// Why the log was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Run {
    /// Creates a run of `configuration` without any results.
    pub fn new(configuration: &str, digest: String, repeat: u32) -> Self {
        Self {
            configuration: configuration.to_owned(),
            digest,
            repeat,
            end: None,
            wall_ns: None,
            metered: BTreeMap::new(),
            log: None,
            log_file: None,
            note: None,
        }
    }

    /// Uses the figures that the plan contains.
    #[must_use]
    pub fn given(mut self, readings: Readings) -> Self {
        self.log = Some(LogReadings { readings, trend: trend::TrendVerdict::ReportOnly });
        self
    }

    /// Uses the meter's readings.
    pub fn metered(mut self, ended: &Ended) -> Self {
        self.wall_ns = Some(nanoseconds(ended.wall));
        for metric in [Metric::PeakRss, Metric::PeakAnon, Metric::GpuPeak] {
            if let Some((_, reading)) = worst_reading(&ended.phases, metric) {
                self.metered.insert(metric, reading.bytes);
            }
        }
        self.end = Some(ended.end.clone());
        self
    }

    /// Whether its figures count because its process did not fail.
    pub fn succeeded(&self) -> bool {
        self.end.as_ref().is_none_or(ProcessEnd::success)
    }

    /// A figure in bytes or nanoseconds, if it was measured.
    pub fn figure(&self, figure: Figure) -> Option<u64> {
        let log = self.log.as_ref().map(|log| &log.readings);
        let metered = |metric| self.metered.get(&metric).map(|bytes| bytes.bytes());
        match figure {
            Figure::StepTime => log?.seconds.map(|seconds| (seconds * 1e9).round() as u64),
            Figure::WallTime => self.wall_ns,
            Figure::Allocated => log?.allocated.map(ByteSize::bytes),
            Figure::Reserved => log?.reserved.map(ByteSize::bytes),
            Figure::PeakRss => metered(Metric::PeakRss),
            Figure::PeakAnon => metered(Metric::PeakAnon),
            Figure::GpuPeak => metered(Metric::GpuPeak),
        }
    }
}
