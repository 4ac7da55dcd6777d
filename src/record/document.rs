//! [`Record`]: the document as a whole.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::environment::Environment;
use super::error::{RecordError, SCHEMA};
use super::policy::Policy;
use super::release::Release;
use super::repeat::{RepeatedRun, cpu_time};
use super::results::{EntryResult, Results};
use super::semantics::{EntrySemantics, Semantics};
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
    pub command: Vec<String>,
    /// Whether the run came to its end.
    pub state: RunState,
    /// When the run began: RFC 3339, UTC.
    #[schemars(extend("format" = "date-time"))]
    pub started: String,
    /// The wall time of the run, in nanoseconds; of all runs and their warm-up if there are several.
    pub wall_ns: u64,
    /// What the figures mean.
    pub semantics: Semantics,
    /// `blake3:` and the digest of `semantics` ([`Semantics::digest`]).
    pub semantics_digest: String,
    /// How memory was managed.
    pub policy: Policy,
    /// Where the run took place.
    pub environment: Environment,
    /// The memory of each phase, in order; of a command that was run several times, that of the run whose resident memory
    /// was largest.
    pub phases: Vec<PhaseReadings>,
    /// How the process ended, and who or what ended it; only a test or a command has it. Of several runs that of the
    /// first that failed or, if none did, of the largest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<ProcessEnd>,
    /// Every run of a command that was run several times, in order; absent if it was run once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RepeatedRun>,
    /// The proofs that the memory of workers came back, in order; only a run on a capture has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub releases: Vec<Release>,
    /// One result an entry; only a run on a capture has them.
    #[serde(default, skip_serializing_if = "Results::is_empty")]
    pub results: Results,
    /// What was found in the output of a command, its end and its memory; only `run --diagnose` has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Box<Findings>>,
    /// What was judged.
    pub verdicts: Vec<Verdict>,
    /// The exit code of the command.
    pub exit_code: u8,
}

/// Whether a run came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// The run went to its end, whatever its verdicts.
    Complete,
    /// The run was interrupted, as by Ctrl-C; the results of entries that were not reached say so.
    Interrupted,
    /// The run could not go on; the verdicts say why.
    Failed,
}

impl Record {
    /// The wall time of the run.
    pub fn wall(&self) -> Duration {
        Duration::from_nanos(self.wall_ns)
    }

    /// The processor time of the process tree, in all phases; absent if one has none.
    pub fn cpu_time(&self) -> Option<Duration> {
        cpu_time(&self.phases)
    }

    /// Checks what the types do not say: the digest, and one result an entry.
    ///
    /// # Errors
    /// [`RecordError::BrokenDigest`], [`RecordError::Inconsistent`].
    pub fn check(&self) -> Result<(), RecordError> {
        let computed = self.semantics.digest();
        if computed != self.semantics_digest {
            return Err(RecordError::BrokenDigest { stored: self.semantics_digest.clone(), computed });
        }
        let entries = self.semantics.capture().map_or(&[][..], |capture| &capture.entries);
        one_result_an_entry(entries, &self.results.entries)?;
        let Some(versus) = &self.results.versus else { return Ok(()) };
        one_result_an_entry(entries, &versus.entries)?;
        if versus.pairs.len() != entries.len() {
            let detail = format!("{} entries but the pairs of {}", entries.len(), versus.pairs.len());
            return Err(RecordError::Inconsistent { detail });
        }
        Ok(())
    }
}

fn one_result_an_entry(entries: &[EntrySemantics], results: &[EntryResult]) -> Result<(), RecordError> {
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

/// A time as records write it: RFC 3339, UTC, to the millisecond.
///
/// A clock before 1970 gives 1970, one beyond the year 9999 that year's end: RFC 3339 has no others.
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
        sample::capture(&mut record).entries.truncate(2);
        record.results.entries.truncate(2);
        record.semantics_digest = record.semantics.digest();
        record.phases.truncate(1);
        record.phases[0].timeline.truncate(2);
        let mut text = Vec::new();
        json::write(&mut text, &record).unwrap();
        sample::assert_snapshot("record_document", std::str::from_utf8(&text).unwrap());
    }

    #[test]
    fn a_missing_and_a_misplaced_result_are_refused() {
        let whole = sample::record();
        whole.check().unwrap();

        let mut missing = whole.clone();
        missing.results.entries.pop();
        assert!(matches!(missing.check(), Err(RecordError::Inconsistent { .. })));

        let mut misplaced = whole.clone();
        misplaced.results.entries.swap(0, 1);
        assert!(matches!(misplaced.check(), Err(RecordError::Inconsistent { .. })));
    }
}
