//! [`RepeatedRun`]: one of several runs of a command that share a record.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounded;
use plimsoll_memory::command::{Ended, ProcessEnd, Repeats};
use plimsoll_memory::meter::PhaseReadings;
use plimsoll_memory::nanoseconds;

/// One of several runs of a command that share a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RepeatedRun {
    /// Start of the run, in nanoseconds since the record's `started`.
    pub started_ns: u64,
    /// The duration of the run, in nanoseconds.
    pub wall_ns: u64,
    /// How the run ended, and who or what ended it.
    pub end: ProcessEnd,
    /// The memory readings, phase by phase; without timelines, processes and mappings, which the record's own phases
    /// have for the largest run.
    #[serde(deserialize_with = "bounded::list")]
    pub phases: Vec<PhaseReadings>,
}

impl RepeatedRun {
    /// The duration of the run.
    pub fn wall(&self) -> Duration {
        Duration::from_nanos(self.wall_ns)
    }

    /// The processor time of its processes; absent if a phase has none.
    pub fn cpu_time(&self) -> Option<Duration> {
        cpu_time(&self.phases)
    }

    /// The runs of a record: empty if there was one run, which the record itself describes.
    pub fn of(repeats: &Repeats) -> Vec<Self> {
        if repeats.runs().len() < 2 {
            return Vec::new();
        }
        Self::all(repeats)
    }

    /// Every run, even if there is only one.
    pub fn all(repeats: &Repeats) -> Vec<Self> {
        repeats.runs().map(|(offset, ended)| Self::new(offset, ended)).collect()
    }

    fn new(offset: Duration, ended: &Ended) -> Self {
        Self {
            started_ns: nanoseconds(offset),
            wall_ns: nanoseconds(ended.wall),
            end: ended.end.clone(),
            phases: ended.phases.iter().map(PhaseReadings::without_details).collect(),
        }
    }
}

/// The processor time of all `phases`; absent if one has none, or there are no phases.
pub(super) fn cpu_time(phases: &[PhaseReadings]) -> Option<Duration> {
    let of = |phase: &PhaseReadings| Some(phase.activity.cpu_user_ns?.saturating_add(phase.activity.cpu_system_ns?));
    let sum = phases.iter().try_fold(0u64, |sum, phase| Some(sum.saturating_add(of(phase)?)));
    sum.filter(|_| !phases.is_empty()).map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_that_of_all_phases_or_none() {
        let phase = |user, system| {
            let mut phase = PhaseReadings::default();
            (phase.activity.cpu_user_ns, phase.activity.cpu_system_ns) = (user, system);
            phase
        };
        let whole = [phase(Some(5), Some(7)), phase(Some(1), Some(0))];
        assert_eq!(cpu_time(&whole), Some(Duration::from_nanos(13)));
        assert_eq!(cpu_time(&[phase(Some(5), None)]), None);
        assert_eq!(cpu_time(&[]), None);
    }
}
