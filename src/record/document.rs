//! [`Record`]: the document as a whole.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounded;
use super::environment::Environment;
use super::error::{RecordError, SCHEMA};
use super::part::Part;
use super::policy::Policy;
use super::release::Release;
use super::repeat::{RepeatedRun, cpu_time};
use super::results::{EntryResult, Results};
use super::rows::Rows;
use super::semantics::{EntrySemantics, Semantics};
use super::shard::{Rank, Shard};
use super::state::RunState;
use super::verdict::Verdict;
use plimsoll_diagnose::Findings;
use plimsoll_memory::command::ProcessEnd;
use plimsoll_memory::meter::PhaseReadings;

/// The JSON document of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// `plimsoll.record/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The version of Plimsoll that wrote the record.
    pub plimsoll: String,
    /// The command line.
    #[serde(deserialize_with = "bounded::list")]
    pub command: Vec<String>,
    /// Whether the run finished.
    pub state: RunState,
    /// Start of the run: RFC 3339, UTC.
    #[schemars(extend("format" = "date-time"))]
    pub started: String,
    /// Wall time of the run in nanoseconds; for repeated runs, of all runs and their warm-up.
    pub wall_ns: u64,
    /// What the figures mean.
    pub semantics: Semantics,
    /// `blake3:` and the digest of `semantics` ([`Semantics::digest`]).
    pub semantics_digest: String,
    /// The run's share of the capture; absent for a run on the whole capture, and for a merged record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The run's place among the processes of a launcher; absent if no launcher started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<Rank>,
    /// How memory was managed.
    pub policy: Policy,
    /// Where the run took place.
    pub environment: Environment,
    /// The memory of each phase, in order; for repeated runs, of the run with the largest resident memory.
    #[serde(deserialize_with = "bounded::list")]
    pub phases: Vec<PhaseReadings>,
    /// How the process ended, and who or what ended it; only for a test or a command. For repeated runs, of the first
    /// that failed, or if none failed, of the largest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<ProcessEnd>,
    /// Every run of a repeated command, in order; absent if it ran once.
    #[serde(default, deserialize_with = "bounded::list", skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RepeatedRun>,
    /// The runs that the record was merged from, in the order of their shards or ranks; absent if there is only one.
    /// Policy and environment are those of the first part, phases those of the part with the largest resident memory.
    #[serde(default, deserialize_with = "bounded::list", skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// The proofs that workers released their memory, in order; only for a run on a capture.
    #[serde(default, deserialize_with = "bounded::list", skip_serializing_if = "Vec::is_empty")]
    pub releases: Vec<Release>,
    /// One result per entry; only for a run on a capture.
    #[serde(default, skip_serializing_if = "Results::is_empty")]
    pub results: Results,
    /// The diagnosis of a command's output, end and memory; only for `run --diagnose`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Box<Findings>>,
    /// The verdicts.
    #[serde(deserialize_with = "bounded::list")]
    pub verdicts: Vec<Verdict>,
    /// The exit code of the command.
    pub exit_code: u8,
}

impl Record {
    /// The wall time of the run.
    pub fn wall(&self) -> Duration {
        Duration::from_nanos(self.wall_ns)
    }

    /// The processor time of the process tree, in all phases; absent if a phase has none.
    pub fn cpu_time(&self) -> Option<Duration> {
        cpu_time(&self.phases)
    }

    /// Checks what the types cannot: the digest, and one result per entry.
    ///
    /// # Errors
    /// [`RecordError::BrokenDigest`], [`RecordError::Inconsistent`].
    pub fn check(&self) -> Result<(), RecordError> {
        let computed = self.semantics.digest();
        if computed != self.semantics_digest {
            return Err(RecordError::BrokenDigest { stored: self.semantics_digest.clone(), computed });
        }
        let none = Rows::default();
        let entries = self.semantics.capture().map_or(&none, |capture| &capture.entries);
        one_result_an_entry(entries, &self.results.entries)?;
        self.check_places(entries.len())?;
        let Some(versus) = &self.results.versus else { return Ok(()) };
        one_result_an_entry(entries, &versus.entries)?;
        if versus.pairs.len() != entries.len() {
            let detail = format!("{} entries but the pairs of {}", entries.len(), versus.pairs.len());
            return Err(RecordError::Inconsistent { detail });
        }
        Ok(())
    }
}

impl Record {
    /// The shares of the capture that the record's entries belong to.
    pub fn shards(&self) -> impl Iterator<Item = &Shard> {
        self.shard.iter().chain(self.parts.iter().filter_map(|part| part.shard.as_ref()))
    }

    /// The positions of the entries in the capture, in order; empty for a record of a whole capture.
    pub fn places(&self) -> Vec<usize> {
        let mut places: Vec<usize> = self.shards().flat_map(|shard| shard.places.iter().copied()).collect();
        places.sort_unstable();
        places
    }

    /// Checks that every entry has a position in the capture, if the record has positions.
    fn check_places(&self, entries: usize) -> Result<(), RecordError> {
        let inconsistent = |detail| Err(RecordError::Inconsistent { detail });
        for shard in self.shards() {
            let rises = shard.places.windows(2).all(|pair| pair[0] < pair[1]);
            if !rises || shard.places.last().is_some_and(|&last| last >= shard.capture.entries) {
                let detail = format!("the places of shard {} are not places of its capture in order", shard.index);
                return inconsistent(detail);
            }
            let Shard { index, count, capture, .. } = shard;
            if !(1..=*count).contains(index) {
                return inconsistent(format!("shard {index} of {count} is not one of them"));
            }
            if shard.places.len() > shard.entries || shard.entries > capture.entries || shard.bytes > capture.bytes {
                let (entries, bytes) = (shard.entries, shard.bytes);
                return inconsistent(format!(
                    "shard {index} has {} results, a share of {entries} entries and {bytes}, and a capture of {} and {}",
                    shard.places.len(),
                    capture.entries,
                    capture.bytes
                ));
            }
        }
        let all = self.places();
        if self.shards().next().is_some() && (all.len() != entries || all.windows(2).any(|pair| pair[0] == pair[1])) {
            return inconsistent(format!("{entries} entries but the places of {}", all.len()));
        }
        Ok(())
    }
}

fn one_result_an_entry(entries: &Rows<EntrySemantics>, results: &Rows<EntryResult>) -> Result<(), RecordError> {
    if entries.len() != results.len() {
        let detail = format!("{} entries but {} results", entries.len(), results.len());
        return Err(RecordError::Inconsistent { detail });
    }
    for (at, (entry, result)) in entries.iter().zip(results).enumerate() {
        if result.index != at || result.name != entry.name {
            let detail = format!(
                "entry {at} is `{}` but its result is that of entry {} `{}`",
                entry.name, result.index, result.name
            );
            return Err(RecordError::Inconsistent { detail });
        }
    }
    Ok(())
}

impl From<Record> for Part {
    /// The only part of a record of one run.
    fn from(record: Record) -> Self {
        Self {
            shard: record.shard,
            rank: record.rank,
            plimsoll: record.plimsoll,
            command: record.command,
            state: record.state,
            started: record.started,
            wall_ns: record.wall_ns,
            policy: record.policy,
            environment: record.environment,
            phases: record.phases.iter().map(PhaseReadings::without_details).collect(),
            end: record.end,
            runs: record.runs,
            releases: record.releases,
            verdicts: record.verdicts,
            exit_code: record.exit_code,
        }
    }
}

/// A time in the format of records: RFC 3339, UTC, to the millisecond.
///
/// Times before 1970 become 1970, and times beyond the year 9999 the end of that year: RFC 3339 has no others.
pub fn timestamp(time: SystemTime) -> String {
    const LAST: Duration = Duration::from_secs(253_402_300_799);
    let since_epoch = time.duration_since(UNIX_EPOCH).unwrap_or_default().min(LAST);
    humantime::format_rfc3339_millis(UNIX_EPOCH + since_epoch).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{json, sample};

    #[test]
    fn timestamps_are_rfc_3339_whatever_the_clock() {
        let at = |secs| timestamp(UNIX_EPOCH + Duration::from_secs(secs));
        assert_eq!(at(1_763_731_529), "2025-11-21T13:25:29.000Z");
        assert_eq!(timestamp(UNIX_EPOCH - Duration::from_secs(5)), "1970-01-01T00:00:00.000Z");
        assert_eq!(at(400_000_000_000), "9999-12-31T23:59:59.000Z");
    }

    #[test]
    fn a_whole_record_as_a_user_sees_it() {
        let mut record = sample::record();
        sample::capture(&mut record).entries.all_mut().truncate(2);
        record.results.entries.all_mut().truncate(2);
        record.semantics_digest = record.semantics.digest();
        record.phases.truncate(1);
        record.phases[0].timeline.truncate(2);
        let mut text = Vec::new();
        json::write(&mut text, &record).unwrap();
        sample::assert_snapshot("record_document", std::str::from_utf8(&text).unwrap());
    }

    #[test]
    fn a_run_on_everything_has_the_digest_and_the_fields_that_it_had_before_there_were_shards() {
        let mut record = sample::record();
        sample::capture(&mut record).entries.all_mut().truncate(2);
        assert_eq!(
            record.semantics.digest(),
            "blake3:d9a21e746efaec6ea436cc5824c06b5dfbece36d8a3b9ae1180775314d1b6679"
        );
        for record in [sample::record(), sample::versus(), sample::command(), sample::test()] {
            let fields = serde_json::to_value(&record).unwrap();
            assert!(["shard", "rank", "parts"].iter().all(|field| fields.get(field).is_none()));
            assert!(fields["policy"].get("min_speedup").is_none());
            assert_eq!(serde_json::from_value::<Record>(fields).unwrap(), record);
        }
    }

    #[test]
    fn places_are_those_of_the_entries_in_order() {
        let shard = sample::shards(2).remove(0);
        shard.check().unwrap();
        for places in [vec![0], vec![2, 0], vec![0, 0], vec![0, 4]] {
            let mut wrong = shard.clone();
            wrong.shard.as_mut().unwrap().places = places;
            assert!(matches!(wrong.check(), Err(RecordError::Inconsistent { .. })));
        }
    }

    #[test]
    fn a_missing_and_a_misplaced_result_are_refused() {
        let whole = sample::record();
        whole.check().unwrap();

        let mut missing = whole.clone();
        missing.results.entries.all_mut().pop();
        assert!(matches!(missing.check(), Err(RecordError::Inconsistent { .. })));

        let mut misplaced = whole.clone();
        misplaced.results.entries.all_mut().swap(0, 1);
        assert!(matches!(misplaced.check(), Err(RecordError::Inconsistent { .. })));
    }
}
