//! [`Results`]: one typed result per entry.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::failure::Failure;
use super::rows::Rows;
use super::semantics::Aggregation;
use super::versus::{Pairs, Speedup};
use plimsoll_capture::compare::{Blindness, LeafOutcome};
use plimsoll_capture::gpu::{DeviceUse, GpuState};
use plimsoll_capture::timing::{Flush, Samples, Statistics, Stop};
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::meter::Reading;

/// The results of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Results {
    /// One result for every entry of the semantics, in the same order.
    pub entries: Rows<EntryResult>,
    /// The timings of the entries as one figure, computed by the semantics' aggregation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<Statistics>,
    /// The results of the other kernel, timed in turns with this one; absent if the kernel was timed alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versus: Option<Versus>,
}

/// The results of the other kernel, timed in turns with the first, and how the two compare.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Versus {
    /// The result of each entry with the other kernel, in the order of the semantics.
    pub entries: Rows<EntryResult>,
    /// The timings of the entries with the other kernel as one figure, computed by the semantics' aggregation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<Statistics>,
    /// The pairs of each entry, in the same order.
    pub pairs: Rows<Pairs>,
    /// The speedup over all entries with times for both kernels, computed from the sums of their times per launch;
    /// absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speedup: Option<Speedup>,
}

impl Results {
    /// Whether there are no results.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.timing.is_none() && self.versus.is_none()
    }
}

impl Aggregation {
    /// The timings of `entries` as one figure; `None` if none was timed.
    pub fn aggregate(self, entries: &Rows<EntryResult>) -> Option<Statistics> {
        let statistics = entries.iter().filter_map(|entry| entry.profile.as_ref()?.statistics);
        let times: Vec<f64> = statistics.map(|statistics| self.time_ns(&statistics)).collect();
        Statistics::of(&times)
    }

    /// The time of an entry, computed from its durations.
    pub const fn time_ns(self, statistics: &Statistics) -> f64 {
        match self {
            Self::EntryMeans => statistics.mean_ns,
            Self::EntryMedians => statistics.median_ns,
        }
    }
}

/// The result of one entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EntryResult {
    /// The entry's index in the capture, from 0.
    pub index: usize,
    /// The file name.
    pub name: String,
    /// The validation; absent for a run that only profiled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<Validation>,
    /// The profile; absent for a run that only validated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
}

impl EntryResult {
    /// Why the entry has no result: the failure of its validation, otherwise that of its profile.
    pub fn failure(&self) -> Option<&Failure> {
        let validation = self.validation.as_ref().and_then(|v| v.error.as_deref());
        validation.or_else(|| self.profile.as_ref().and_then(|p| p.error.as_deref()))
    }
}

/// How a validation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ValidationStatus {
    /// Every output matched.
    Passed,
    /// An output did not match.
    Mismatch,
    /// There was no output to compare; `error` says why.
    Error,
    /// The entry was not launched, or the run was interrupted meanwhile; `not_run` says why.
    NotRun,
}

/// The validation of one entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Validation {
    /// How the validation ended.
    pub status: ValidationStatus,
    /// The comparison of each value of the output.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "exact")]
    pub leaves: Vec<LeafOutcome>,
    /// Which wrong outputs would have passed; absent if nothing was compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blindness: Option<Blindness>,
    /// The number of the worker that launched the entry, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<u32>,
    /// The time of the launch as measured by the worker, in nanoseconds: a first launch, not a benchmark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch_ns: Option<u64>,
    /// The bytes of the entry that were loaded into memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub touched: Option<ByteSize>,
    /// The worker's largest resident set during the entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_rss: Option<Reading>,
    /// The GPU memory used by the launch; absent on the CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceUse>,
    /// Why there was no output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Box<Failure>>,
    /// Why the entry was not launched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_run: Option<String>,
}

impl Validation {
    /// The result of a comparison: passed if every leaf did.
    pub fn compared(mut leaves: Vec<LeafOutcome>, blindness: Option<Blindness>) -> Self {
        // A growing vector has room for four, and most calls return one value.
        leaves.shrink_to_fit();
        let passed = leaves.iter().all(|leaf| leaf.passed);
        let status = if passed { ValidationStatus::Passed } else { ValidationStatus::Mismatch };
        Self { leaves, blindness, ..Self::ended(status) }
    }

    /// A launch without an output to compare.
    pub fn failed(error: Failure) -> Self {
        Self { error: Some(Box::new(error)), ..Self::ended(ValidationStatus::Error) }
    }

    /// An entry that was not launched.
    pub fn not_run(reason: impl Into<String>) -> Self {
        Self { not_run: Some(reason.into()), ..Self::ended(ValidationStatus::NotRun) }
    }

    /// Whether every output matched.
    pub fn passed(&self) -> bool {
        self.status == ValidationStatus::Passed
    }

    fn ended(status: ValidationStatus) -> Self {
        Self {
            status,
            leaves: Vec::new(),
            blindness: None,
            worker: None,
            launch_ns: None,
            touched: None,
            peak_rss: None,
            device: None,
            error: None,
            not_run: None,
        }
    }
}

/// A list that takes no more memory than needed.
fn exact<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let mut items = Vec::deserialize(deserializer)?;
    items.shrink_to_fit();
    Ok(items)
}

/// How a profile ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProfileStatus {
    /// The entry was timed.
    Timed,
    /// The entry could not be timed; `error` says why.
    Error,
    /// The entry was not launched, or the run was interrupted meanwhile; `not_run` says why.
    NotRun,
}

/// The arguments that were altered while a kernel was timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Values {
    /// Floating-point arguments and integers.
    All,
    /// Floating-point arguments only: the witness or the kernel refuses reordered integers.
    Floats,
    /// Floating-point arguments only, by a little: the witness or the kernel refuses others.
    Nearby,
    /// No argument: the operator accepts only the captured values, or all arguments are constant.
    Captured,
}

/// The findings of an audit of an entry's timed launches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Audit {
    /// The arguments that were altered in every launch.
    pub values: Values,
    /// The kernel that computed the expected outputs; absent if it was the kernel itself, in a process that timed
    /// nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Whether the audit chose the reference by itself: an implementation of the operator that reproduces the captured
    /// output.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub chosen: bool,
    /// Why there is no reference, if none was named: a kernel that is wrong alike for all values but the captured ones
    /// passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreferenced: Option<String>,
    /// Whether the output follows the altered values. If not, nothing shows that the kernel uses its inputs.
    pub follows: bool,
    /// Number of timed regions.
    pub regions: u32,
    /// Number of launches in them.
    pub launches: u32,
    /// Number of launches whose outputs were selected afterwards and judged.
    pub judged: u32,
    /// Number of judged launches with captured values, compared with the captured outputs.
    pub judged_captured: u32,
    /// Number of regions whose reported time contradicted the clock; their times were not used.
    pub misfits: u32,
    /// How much longer the timed launches took by the supervisor's clock than reported, less what either side waited for a
    /// processor, in nanoseconds per launch: a report cannot have hidden more.
    pub overhead_ns: f64,
}

impl Audit {
    /// An audit that has not begun.
    pub fn of(values: Values, reference: Option<&str>) -> Self {
        Self {
            values,
            reference: reference.map(str::to_owned),
            chosen: false,
            unreferenced: None,
            follows: false,
            regions: 0,
            launches: 0,
            judged: 0,
            judged_captured: 0,
            misfits: 0,
            overhead_ns: 0.0,
        }
    }
}

/// The timing of one entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Profile {
    /// How the profile ended.
    pub status: ProfileStatus,
    /// Statistics of the samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statistics: Option<Statistics>,
    /// The samples in the order in which they were taken, in nanoseconds per launch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples_ns: Vec<f64>,
    /// The number of launches that each sample is the mean of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launches_per_sample: Option<u32>,
    /// The buffer that was written before each launch to empty the cache; absent if the cache was left as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush: Option<Flush>,
    /// Why the measurement ended; absent if the number of launches was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// The index of the batch with the entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<usize>,
    /// The GPU memory of the launch after the timed ones; absent on the CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceUse>,
    /// The GPU's state during the timing; absent on the CPU, or if it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Box<GpuState>>,
    /// The findings of an audit of the launches; absent without an audit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<Audit>,
    /// Why there are no samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Box<Failure>>,
    /// Why the entry was not launched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_run: Option<String>,
}

impl Profile {
    /// The timing of an entry.
    pub fn timed(statistics: Statistics, samples: Samples, batch: usize) -> Self {
        Self {
            statistics: Some(statistics),
            samples_ns: samples.durations_ns,
            launches_per_sample: Some(samples.launches_per_sample),
            flush: samples.flush,
            stop: samples.stop,
            batch: Some(batch),
            ..Self::ended(ProfileStatus::Timed)
        }
    }

    /// An entry that could not be timed.
    pub fn failed(error: Failure) -> Self {
        Self { error: Some(Box::new(error)), ..Self::ended(ProfileStatus::Error) }
    }

    /// An entry that was not launched.
    pub fn not_run(reason: impl Into<String>) -> Self {
        Self { not_run: Some(reason.into()), ..Self::ended(ProfileStatus::NotRun) }
    }

    fn ended(status: ProfileStatus) -> Self {
        Self {
            status,
            statistics: None,
            samples_ns: Vec::new(),
            launches_per_sample: None,
            flush: None,
            stop: None,
            batch: None,
            device: None,
            state: None,
            audit: None,
            error: None,
            not_run: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample;

    #[test]
    fn the_figure_of_a_run_is_over_the_entries_that_were_timed() {
        let mut results = sample::record().results;
        for (entry, (samples, batch)) in
            results.entries.all_mut().iter_mut().zip([([1.0, 2.0, 9.0], 0), ([5.0, 6.0, 10.0], 0)])
        {
            let statistics = Statistics::of(&samples).unwrap();
            entry.profile = Some(Profile::timed(statistics, Samples::each(samples.to_vec()), batch));
        }
        results.entries[2].profile = Some(Profile::not_run("interrupted"));
        results.entries[3].profile = None;
        let of = |aggregation: Aggregation| aggregation.aggregate(&results.entries).unwrap();
        assert_eq!((of(Aggregation::EntryMeans).count, of(Aggregation::EntryMeans).mean_ns), (2, 5.5));
        assert_eq!(of(Aggregation::EntryMedians).mean_ns, 4.0);
        assert_eq!(Aggregation::EntryMeans.aggregate(&Rows::default()), None);
    }

    #[test]
    fn a_comparison_passes_where_every_output_does() {
        let passed = sample::record().results.entries[0].validation.clone().unwrap().leaves;
        assert!(Validation::compared(passed.clone(), None).passed());
        let one_wrong = [passed, vec![sample::mismatching(0)]].concat();
        assert_eq!(Validation::compared(one_wrong, None).status, ValidationStatus::Mismatch);
    }
}
