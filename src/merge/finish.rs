//! [`Merge::finish`]: computes everything that follows from entries and parts.

use super::add::{Merge, Whole};
use super::error::MergeError;
use super::fold::Fold;
use super::gap::Missing;
use super::merged::Merged;
use crate::record::{
    CaptureSemantics, EntryResult, EntrySemantics, MAX_RECORD, Pairs, Record, Results, Rows, RunState, SCHEMA,
    Semantics, SemanticsDigest, Verdict, VerdictStatus, Versus, exit_code, timestamp,
};
use crate::run::verdicts::{self, Tally};
use crate::run::versus::PairSums;
use plimsoll_capture::timing::Statistics;
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::nanoseconds;

impl Merge {
    /// The merged record. If something is missing, the record is inconclusive, and [`Merge::missing`] lists what.
    ///
    /// # Errors
    /// [`MergeError`] if nothing was added, or no command could read the record.
    pub fn finish(self) -> Result<Merged, MergeError> {
        let missing = self.missing();
        self.finished(missing)
    }

    /// As [`Merge::finish`], for runs on one share of a capture: entries of other shards do not count as missing.
    ///
    /// # Errors
    /// As [`Merge::finish`].
    pub fn finish_share(self) -> Result<Merged, MergeError> {
        let missing = self.missing().filter(|_| !self.known.are_whole());
        self.finished(missing)
    }

    fn finished(mut self, missing: Option<Missing>) -> Result<Merged, MergeError> {
        self.spill.flush()?;
        if self.spill.bytes() > MAX_RECORD.bytes() {
            return Err(MergeError::TooLarge { bytes: ByteSize::new(self.spill.bytes()), limit: MAX_RECORD });
        }
        let mut fold = Fold::default();
        for (kept, _) in self.parts.values() {
            fold.add(self.spill.take(*kept, 0)?);
        }
        let (semantics, digest, results, mut judged) = match self.whole.take() {
            None => return Err(MergeError::None),
            Some(Whole::Command { semantics, .. }) => {
                let semantics = Semantics::Command(semantics);
                let digest = semantics.digest();
                (semantics, digest, Results::default(), Vec::new())
            }
            Some(Whole::Capture { semantics, .. }) => self.entries(*semantics, &fold)?,
        };
        if let Some(missing) = &missing {
            judged.insert(0, Verdict::new("parts", VerdictStatus::Inconclusive, &missing.summary));
        }
        let others = fold.verdicts(&judged);
        let verdicts: Vec<Verdict> = judged.into_iter().chain(others).collect();
        let code = match (exit_code(&verdicts), fold.failed) {
            (0, Some(failed)) => failed,
            (code, _) => code,
        };
        let (command, policy, environment) = fold.first.ok_or(MergeError::None)?;
        let started = fold.started.unwrap_or(std::time::SystemTime::UNIX_EPOCH);
        let wall = fold.ended.and_then(|ended| ended.duration_since(started).ok()).unwrap_or_default();
        let head = Record {
            schema: SCHEMA.to_owned(),
            plimsoll: env!("CARGO_PKG_VERSION").to_owned(),
            command,
            state: if missing.is_some() { RunState::Interrupted } else { RunState::Complete },
            started: timestamp(started),
            wall_ns: nanoseconds(wall),
            semantics,
            semantics_digest: digest,
            shard: None,
            rank: None,
            policy,
            environment,
            phases: fold.phases,
            end: fold.end,
            runs: Vec::new(),
            parts: Vec::new(),
            releases: Vec::new(),
            results,
            diagnosis: None,
            verdicts,
            exit_code: code,
        };
        let entries = self.entries.into_values().map(|entry| entry.kept).collect();
        let parts = self.parts.into_values().map(|(kept, _)| kept).collect();
        Ok(Merged::new(head, self.spill, entries, parts))
    }

    /// Results that follow from the entries: the digest of the semantics, the figures over all, the verdicts.
    fn entries(
        &self,
        semantics: CaptureSemantics,
        fold: &Fold,
    ) -> Result<(Semantics, String, Results, Vec<Verdict>), MergeError> {
        let mut digest = SemanticsDigest::of(semantics.clone());
        let mut own = Side::default();
        let mut other = Side::default();
        let mut sums = PairSums::default();
        for entry in self.entries.values() {
            digest.add(&self.spill.take::<EntrySemantics, 4>(entry.kept, 0)?);
            own.add(&semantics, &self.spill.take(entry.kept, 1)?);
            if semantics.versus.is_some()
                && let Some(result) = self.spill.take::<Option<EntryResult>, 4>(entry.kept, 2)?
            {
                other.add(&semantics, &result);
                sums.add(&self.spill.take::<Pairs, 4>(entry.kept, 3)?);
            }
        }
        let mut judged = Vec::new();
        own.judge(&semantics, ["validation", "profile"], &mut judged);
        let versus = semantics.versus.as_ref().map(|beside| {
            other.judge(&semantics, ["versus validation", "versus profile"], &mut judged);
            let speedup = sums.speedup();
            let least = fold.first.as_ref().and_then(|(_, policy, _)| policy.capture()?.min_speedup);
            judged.extend(least.map(|least| verdicts::speedup(speedup.as_ref(), least, &beside.kernel.name)));
            Versus {
                entries: Rows::default(),
                timing: Statistics::of(&other.times_ns),
                pairs: Rows::default(),
                speedup,
            }
        });
        judged.extend(fold.ended_workers.verdict());
        let results = Results { entries: Rows::default(), timing: Statistics::of(&own.times_ns), versus };
        Ok((Semantics::Capture(semantics), digest.finish(), results, judged))
    }
}

/// Tallies the entries of one kernel.
#[derive(Default)]
struct Side {
    tally: Tally,
    times_ns: Vec<f64>,
}

impl Side {
    fn add(&mut self, semantics: &CaptureSemantics, result: &EntryResult) {
        self.tally.add(result);
        let statistics = result.profile.as_ref().and_then(|profile| profile.statistics);
        let time = semantics.aggregation.zip(statistics).map(|(how, statistics)| how.time_ns(&statistics));
        self.times_ns.extend(time);
    }

    fn judge(&self, semantics: &CaptureSemantics, [validation, profile]: [&str; 2], judged: &mut Vec<Verdict>) {
        if semantics.comparison.is_some() {
            judged.push(self.tally.validation(validation));
        }
        if semantics.timing.is_some() {
            judged.push(self.tally.profile(profile));
        }
    }
}
