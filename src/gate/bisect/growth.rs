//! Where memory grew between two records, by phase and mapping.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Record;
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::meter::{Metric, PhaseReadings};

/// A phase or mapping that holds more in the later of two records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Growth {
    /// The phase.
    pub phase: String,
    /// The mapping, or the kind of memory without a name; absent for the phase as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mapping: Option<String>,
    /// The bytes before, at the peak of the largest run.
    pub before: ByteSize,
    /// The bytes now.
    pub after: ByteSize,
}

impl Growth {
    /// The growth in bytes.
    pub fn bytes(&self) -> u64 {
        self.after.bytes().saturating_sub(self.before.bytes())
    }
}

/// The maximum number of growths listed.
const MOST_GROWTHS: usize = 8;

/// Lists growth of a page or more between two records: first phases by their peak RSS, if there are several, then the
/// mappings of the phase that grew most among those with known mappings, largest growth first. `shorten` removes the
/// parts of a path that differ between the two.
pub fn growths(before: &Record, after: &Record, shorten: &dyn Fn(&str) -> String) -> Vec<Growth> {
    let peak = |phase: &PhaseReadings| phase.readings.get(&Metric::PeakRss).map(|reading| reading.bytes);
    let mut phases: Vec<(Growth, &PhaseReadings, &PhaseReadings)> = after
        .phases
        .iter()
        .filter_map(|now| {
            let then = before.phases.iter().find(|then| then.phase == now.phase)?;
            let growth = Growth { phase: now.phase.clone(), mapping: None, before: peak(then)?, after: peak(now)? };
            Some((growth, then, now))
        })
        .collect();
    phases.sort_by_key(|(growth, _, _)| std::cmp::Reverse(growth.bytes()));
    let mut found = match &phases[..] {
        [_, _, ..] => phases.iter().map(|(growth, _, _)| growth.clone()).collect(),
        _ => Vec::new(),
    };
    // Only a phase that grew and whose mappings are known shows what grew.
    let grown = phases.iter().find(|(growth, _, now)| growth.bytes() > 0 && !now.mappings.is_empty());
    if let Some((growth, then, now)) = grown {
        let (then, now) = (held(then, shorten), held(now, shorten));
        let mut mappings: Vec<Growth> = now
            .into_iter()
            .map(|(name, after)| {
                let before = ByteSize::new(then.get(&name).copied().unwrap_or(0));
                Growth { phase: growth.phase.clone(), mapping: Some(name), before, after: ByteSize::new(after) }
            })
            .collect();
        mappings.sort_by_key(|growth| std::cmp::Reverse(growth.bytes()));
        found.extend(mappings);
    }
    const PAGE: u64 = 4096;
    found.retain(|growth| growth.bytes() >= PAGE);
    found.truncate(MOST_GROWTHS);
    found
}

/// The bytes that each mapping of a phase held; unnamed mappings go by their kind.
fn held(phase: &PhaseReadings, shorten: &dyn Fn(&str) -> String) -> BTreeMap<String, u64> {
    let mut held = BTreeMap::new();
    for mapping in &phase.mappings {
        let name = if mapping.name.starts_with('/') { shorten(&mapping.name) } else { mapping.name.clone() };
        *held.entry(name).or_insert(0) += mapping.after.bytes();
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample;
    use plimsoll_memory::meter::{MappingGrowth, MappingKind};

    fn mapping(name: &str, mib: u64) -> MappingGrowth {
        let kind = if name.starts_with('/') { MappingKind::File } else { MappingKind::Heap };
        MappingGrowth { name: name.to_owned(), kind, before: ByteSize::mib(0), after: ByteSize::mib(mib) }
    }

    fn record(peaks: &[(&str, u64)], mappings: &[MappingGrowth]) -> Record {
        let mut record = sample::command();
        let phase = record.phases[0].clone();
        record.phases.clear();
        for (name, mib) in peaks {
            let mut phase = PhaseReadings { phase: (*name).to_owned(), ..phase.clone() };
            phase.readings.get_mut(&Metric::PeakRss).unwrap().bytes = ByteSize::mib(*mib);
            phase.mappings = mappings.to_vec();
            record.phases.push(phase);
        }
        record
    }

    #[test]
    fn the_phase_that_grew_most_comes_first_with_its_mappings() {
        let before = record(&[("load", 50), ("serve", 60)], &[mapping("[heap]", 10), mapping("/a/data/table", 5)]);
        let now = record(&[("load", 51), ("serve", 90)], &[mapping("[heap]", 38), mapping("/b/data/table", 5)]);
        let shorten = |path: &str| path[2..].to_owned();
        let found = growths(&before, &now, &shorten);
        let listed: Vec<_> = found.iter().map(|one| (&*one.phase, one.mapping.as_deref(), one.bytes() >> 20)).collect();
        assert_eq!(listed, [("serve", None, 30), ("load", None, 1), ("serve", Some("[heap]"), 28)]);
    }

    #[test]
    fn one_phase_is_not_named_and_what_shrank_is_left_out() {
        let before = record(&[("run", 50)], &[mapping("[heap]", 10)]);
        let now = record(&[("run", 60)], &[mapping("[heap]", 8), mapping("anonymous", 12)]);
        let found = growths(&before, &now, &str::to_owned);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].mapping.as_deref(), found[0].before), (Some("anonymous"), ByteSize::new(0)));
        assert_eq!(growths(&now, &record(&[("other", 1)], &[]), &str::to_owned), []);
    }
}
