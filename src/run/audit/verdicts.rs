//! Judges outputs of timed launches by those of the witness, and what the witness shows of the kernel.

use std::collections::{BTreeMap, BTreeSet};

use super::super::judge::{Expected, is_equal, judge};
use super::super::launcher::{Audited, Launched, Launcher, Patch, Wanted};
use super::super::output::Output;
use super::kept::{Kept, is_empty};
use super::noise::{Found, is_coarse};
use super::standing::Standing;
use super::wrong::{Wrong, is_constant, is_unwritten, never_right};
use super::{Course, WITNESS_FILL, may_be_of_values};
use crate::record::{Failure, FailureKind, Values};
use plimsoll_capture::compare::{Comparison, LeafOutcome, Preset};

/// What stood in the arguments of chosen launches; `before` stands before all of them.
fn standings(before: &Standing, launches: &[Vec<Patch>], chosen: &[(usize, Kept)]) -> Vec<Standing> {
    let wanted: BTreeSet<usize> = chosen.iter().map(|(launch, _)| *launch).collect();
    let (mut standing, mut all) = (before.clone(), BTreeMap::new());
    for (launch, patches) in launches.iter().enumerate() {
        patches.iter().for_each(|patch| standing.put(patch));
        if wanted.contains(&launch) {
            all.insert(launch, standing.clone());
        }
    }
    chosen.iter().map(|(launch, _)| all[launch].clone()).collect()
}

impl Course<'_> {
    /// The witness's outputs for values that no timed launch had: what a kernel keeps there is of no use to it. The last of
    /// several are nearly the captured ones: what it keeps by some contents of these is another result than in the timed
    /// process. They are not the first, which a kernel may keep for good.
    pub(super) fn decoys(&mut self, witness: &mut dyn Audited, count: usize) -> Result<Vec<(Standing, Kept)>, Failure> {
        if self.audit.values == Values::Captured || self.audition.reference.is_some() {
            return Ok(Vec::new());
        }
        let current = self.fresh.standing();
        let mut decoys = Vec::new();
        for decoy in 0..count {
            let nearly = if count == 1 { self.chance.below(2) == 0 } else { decoy + 1 == count };
            if nearly {
                self.fresh.draw_near(&mut self.chance);
            } else {
                self.fresh.draw(&mut self.chance);
            }
            decoys.push(self.fresh.standing());
        }
        self.fresh.standing = current;
        let computed = self.recomputed(witness, decoys.clone())?;
        Ok(decoys.into_iter().zip(computed).collect())
    }

    /// Refuses a kernel that fails on the captured values, or is wrong, although nothing is timed. A validated one did not,
    /// and a reference shows it for all values: so it does for half precision.
    pub(super) fn right_untimed(&mut self, witness: &mut dyn Launcher) -> Result<(), Failure> {
        let in_half = self.audition.passes_half && self.audition.reference.is_none();
        if (self.audition.validated && !in_half) || self.audition.is_referenced() {
            return Ok(());
        }
        let wanted = Wanted { keep: None, fill: WITNESS_FILL, contents: &self.contents };
        let region = witness.audit(self.audition.witnessed)?.region(&[Vec::new()], &wanted)?;
        let captured = Expected::Captured(self.audition.job.entry, self.mapped);
        let leaves = self.judged(captured, &Kept::of(&region, 0, &self.contents)?.output)?;
        self.note_half(&leaves);
        Wrong::of(&leaves).map_or(Ok(()), |wrong| Err(never_right(wrong)))
    }

    /// Refuses a kernel that does not return the same for the same values in a process that times nothing: it keeps
    /// results there, too.
    pub(super) fn same_again(
        &mut self,
        witness: &mut dyn Audited,
        standing: Standing,
        first: &Kept,
    ) -> Result<(), Failure> {
        let again = self.recomputed_one(witness, standing)?;
        let Some(Wrong { leaf, how }) = self.wrong(Expected::Recomputed(&first.output), &again.output)? else {
            return Ok(());
        };
        let message = format!(
            "{leaf} differs between two launches on the same values in a process that times nothing ({how}): the kernel keeps \
             results, or is not deterministic; if it is right, name a kernel that computes the output with --reference KERNEL"
        );
        Err(Failure::new(FailureKind::StaleOutput, message))
    }

    /// Compares chosen outputs of a region with the witness's outputs for their values. `before` stands before its launches.
    pub(super) fn judge(
        &mut self,
        witness: &mut dyn Audited,
        before: &Standing,
        launches: &[Vec<Patch>],
        fill: u8,
        chosen: &[(usize, Kept)],
    ) -> Result<(), Failure> {
        let standings = standings(before, launches, chosen);
        let asked = |standing: &&Standing| !self.is_captured(standing) || !self.contents.is_empty();
        let asked: Vec<Standing> = standings.iter().filter(asked).cloned().collect();
        let computed =
            self.recomputed(witness, asked).inspect_err(|failure| self.audition.gives_up(&failure.message))?;
        let mut computed = computed.into_iter();
        for ((_, kept), standing) in chosen.iter().zip(standings) {
            self.audit.judged += 1;
            if self.is_captured(&standing) {
                self.audit.judged_captured += 1;
                let captured = Expected::Captured(self.audition.job.entry, self.mapped);
                let leaves = self.judged(captured, &kept.output)?;
                self.verdict(captured, &kept.output, fill, "of the captured values", "the captured output", &leaves)?;
                self.note_half(&leaves);
                if !self.contents.is_empty() {
                    let expected = computed.next().expect("the witness was asked for it");
                    self.verdict_on_contents(&expected, kept, "the kernel itself in a process that times nothing")?;
                }
            } else {
                let expected = computed.next().expect("the witness was asked for it");
                self.judge_one(witness, standing, fill, kept, &expected)?;
            }
        }
        Ok(())
    }

    /// Whether values are the captured ones, whose output is known.
    fn is_captured(&self, standing: &Standing) -> bool {
        standing.is_captured() && !self.audition.is_referenced()
    }

    /// Compares an output with what the witness has computed of the same values.
    fn judge_one(
        &mut self,
        witness: &mut dyn Audited,
        standing: Standing,
        fill: u8,
        kept: &Kept,
        expected: &Kept,
    ) -> Result<(), Failure> {
        let output = &kept.output;
        let captured = Expected::Captured(self.audition.job.entry, self.mapped);
        let put = self.put_in(&standing);
        let follows = self.follows(captured, &expected.output)?;
        self.follows_in_contents(&put, expected);
        if follows && self.audition.reference.is_none() {
            self.not_constant(captured, output, fill)?;
        }
        let by = self.audition.reference.unwrap_or("the kernel itself in a process that times nothing");
        let of = format!("the output of {by}");
        let recomputed = Expected::Recomputed(&expected.output);
        let leaves = self.judged(recomputed, output)?;
        let verdict = self.verdict(recomputed, output, fill, "of values that the supervisor drew", &of, &leaves);
        match (self.audition.reference, self.audition.chosen) {
            (None, _) => {
                verdict?;
                self.note_half(&leaves);
            }
            (Some(_), None) if verdict.is_err() => return verdict,
            _ => self.rounding(witness, standing, (expected, output), (&leaves, verdict))?,
        }
        self.verdict_on_contents(expected, kept, by)
    }

    /// Lets an output pass that differs from the reference's by rounding, and notes one in half precision that
    /// passes by the comparison.
    fn rounding(
        &mut self,
        witness: &mut dyn Audited,
        standing: Standing,
        (expected, output): (&Kept, &Launched),
        (leaves, verdict): (&[LeafOutcome], Result<(), Failure>),
    ) -> Result<(), Failure> {
        if verdict.is_ok() && (!self.audition.passes_half || self.in_half) {
            return Ok(());
        }
        let differs = |leaf: &&LeafOutcome| if verdict.is_ok() { is_coarse(leaf) } else { !leaf.passed };
        let differing: Vec<&LeafOutcome> = leaves.iter().filter(differs).collect();
        if differing.is_empty() {
            return Ok(());
        }
        match (self.rounded(witness, standing, (expected, output), &differing)?, verdict) {
            (Found::Rounded, _) | (Found::Undecided, Ok(())) => Ok(()),
            (Found::Wrong, Ok(())) => {
                self.in_half = true;
                Ok(())
            }
            (Found::Wrong, Err(failure)) => Err(failure),
            (Found::Undecided, Err(failure)) => {
                self.audition.gives_up("the last bit of the values decides what the output is, or they are too many");
                Err(failure)
            }
        }
    }

    /// Notes an output that is as far off as half precision, which the comparison would pass. No reference shows whether
    /// rounding has made it so.
    fn note_half(&mut self, leaves: &[LeafOutcome]) {
        let alone = self.audition.reference.is_none() && self.audition.passes_half;
        self.in_half |= alone && leaves.iter().any(is_coarse);
    }

    /// What is put into the arguments that the kernel changes.
    pub(super) fn put_in(&self, standing: &Standing) -> Vec<u8> {
        self.contents.iter().flat_map(|held| self.fresh.contents(held, standing)).collect()
    }

    /// Whether what should be left in the arguments was made there: it is not what was put in, and differs from launch to
    /// launch.
    pub(super) fn follows_in_contents(&mut self, put: &[u8], expected: &Kept) {
        let memory = (*expected.contents.memory).as_ref();
        let placed = expected.contents.outputs.iter().filter_map(Output::tensor);
        let now: Vec<u8> = placed.filter_map(|placed| placed.bytes_in(memory)).flatten().copied().collect();
        let left = self.left.get_or_insert_with(|| now.clone());
        if now != put && now != *left {
            self.audit.follows = true;
            self.telling += 1;
        }
    }

    /// What is wrong with what a launch left in the arguments that the kernel changes.
    pub(super) fn verdict_on_contents(&self, expected: &Kept, kept: &Kept, by: &str) -> Result<(), Failure> {
        let wrong = self.wrong(Expected::Recomputed(&expected.contents), &kept.contents)?;
        let Some(Wrong { leaf, how }) = wrong else { return Ok(()) };
        let message = format!(
            "{leaf} after a timed launch differs from what {by} leaves there ({how}): the kernel did not change it while it was \
             timed"
        );
        Err(Failure::new(FailureKind::StaleOutput, message))
    }

    /// Whether an output for other values than the captured ones is not the captured one, and what that shows of each
    /// part.
    pub(super) fn follows(&mut self, captured: Expected<'_>, expected: &Launched) -> Result<bool, Failure> {
        let (mut follows, mut told) = (false, false);
        for leaf in judge(captured, expected, &Comparison::exact())?.into_iter().filter(|leaf| !leaf.passed) {
            follows = true;
            self.leaves.entry(leaf.path).or_default().follows = true;
        }
        for leaf in judge(captured, expected, self.audition.rule)?.into_iter().filter(|leaf| follows && !leaf.passed) {
            told = true;
            self.leaves.entry(leaf.path).or_default().distinguished = true;
        }
        self.audit.follows |= follows;
        self.telling += usize::from(told);
        Ok(follows)
    }

    /// The witness's outputs for these values, in one region: each request takes longer than a short launch.
    fn recomputed(&mut self, witness: &mut dyn Audited, standings: Vec<Standing>) -> Result<Vec<Kept>, Failure> {
        if standings.is_empty() {
            return Ok(Vec::new());
        }
        let launches: Vec<Vec<Patch>> = standings.into_iter().map(|standing| self.patches_to(standing)).collect();
        let wanted = Wanted { keep: None, fill: WITNESS_FILL, contents: &self.contents };
        let region = witness.region(&launches, &wanted).map_err(|failure| {
            self.refuses.set(may_be_of_values(failure.kind));
            Failure { message: format!("the witness of the audit: {}", failure.message), ..failure }
        })?;
        (0..launches.len()).map(|at| Kept::of(&region, at, &self.contents)).collect()
    }

    /// The witness's output for `standing`.
    pub(super) fn recomputed_one(&mut self, witness: &mut dyn Audited, standing: Standing) -> Result<Kept, Failure> {
        let mut all = self.recomputed(witness, vec![standing])?;
        Ok(all.remove(0))
    }

    /// The patches after which the witness's arguments hold `standing`.
    pub(super) fn patches_to(&mut self, standing: Standing) -> Vec<Patch> {
        let patches = self.fresh.changes(&std::mem::take(&mut self.witnessed), &standing);
        self.witnessed = standing;
        patches
    }

    /// Refuses a constant output unless the captured output was constant too: the mark of a kernel that only knows
    /// captured values.
    pub(super) fn not_constant(&self, captured: Expected<'_>, output: &Launched, fill: u8) -> Result<(), Failure> {
        // Unwritten outputs are reported as such.
        if !is_constant(output) || is_unwritten(output, fill) {
            return Ok(());
        }
        let same = judge(captured, output, self.audition.rule)?.iter().all(|leaf| leaf.passed);
        if same || is_equal(captured, self.audition.rule)? {
            return Ok(());
        }
        let message = "the kernel returned one value everywhere for arguments other than the captured ones: it knows only \
                       captured values; if one value is right, name a kernel that computes it with --reference KERNEL";
        Err(Failure::new(FailureKind::StaleOutput, message))
    }

    /// Whether a kernel whose output followed no value may pass: nothing shows that the output is made from the
    /// arguments.
    pub(super) fn held(&self) -> Result<(), Failure> {
        let name = self.audition.job.entry.name();
        if self.audition.options.allows_blind(name) || is_empty(self.audition.job.entry) {
            return Ok(());
        }
        let (kind, who, or) = match self.audition.reference {
            Some(reference) => (FailureKind::Unsupported, reference, ""),
            None => (
                FailureKind::StaleOutput,
                "the kernel",
                "name a kernel that computes the right output with --reference KERNEL, or ",
            ),
        };
        let message = format!(
            "{who} returned the captured output for all other values, so nothing shows that the kernel uses its inputs; {or}allow \
             the entry with --allow-blind {name}"
        );
        Err(Failure::new(kind, message))
    }

    /// The rule for outputs of values that were drawn: these may lie where the operator has no result. By bits, NaN is
    /// equal anyway.
    pub(super) fn rule_of_drawn(&self) -> Comparison {
        let rule = *self.audition.rule;
        if rule.preset == Preset::Exact { rule } else { Comparison { equal_nan: Some(true), ..rule } }
    }

    /// Compares an output with the expected one.
    fn judged(&self, expected: Expected<'_>, output: &Launched) -> Result<Vec<LeafOutcome>, Failure> {
        let recomputed = matches!(expected, Expected::Recomputed(_));
        let rule = if recomputed { self.rule_of_drawn() } else { *self.audition.rule };
        judge(expected, output, &rule)
    }

    /// What is wrong with `output`, if anything.
    pub(super) fn wrong(&self, expected: Expected<'_>, output: &Launched) -> Result<Option<Wrong>, Failure> {
        Ok(Wrong::of(&self.judged(expected, output)?))
    }

    /// Refuses an output that was found wrong by `leaves`.
    fn verdict(
        &self,
        expected: Expected<'_>,
        output: &Launched,
        fill: u8,
        values: &str,
        from: &str,
        leaves: &[LeafOutcome],
    ) -> Result<(), Failure> {
        let Some(Wrong { leaf, how }) = Wrong::of(leaves) else { return Ok(()) };
        // The kernel may leave it out in the witness's process first.
        let left_out = matches!(expected, Expected::Recomputed(expected) if is_unwritten(expected, WITNESS_FILL));
        if is_unwritten(output, fill) || left_out {
            let message = format!(
                "{leaf} of a timed launch still holds the fill of its memory ({how}): the kernel did not write it; write every \
                 element in every launch"
            );
            return Err(Failure::new(FailureKind::UnwrittenOutput, message));
        }
        let or = match self.audition.chosen {
            Some(chosen) => format!(", or give --reference captured if {} is not what it should compute", chosen.name),
            None => String::new(),
        };
        let either = match self.audition.reference {
            Some(_) => ", or is right for the captured ones alone",
            None => "",
        };
        let message = format!(
            "{leaf} of a timed launch, {values}, differs from {from} ({how}): the kernel did not compute it while it was \
             timed{either}; name an argument that never changes with --constant{or}"
        );
        Err(Failure::new(FailureKind::StaleOutput, message))
    }
}
