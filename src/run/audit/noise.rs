//! Whether a reference that nobody named can decide about an output: implementations of one operator may differ by what
//! rounding does to it.
//!
//! A reference that was chosen by the audit itself must not accuse a kernel that only adds in another order, so an
//! output that differs from the reference's is held against what the reference makes of values that differ in their
//! last bit.

use super::super::judge::{Expected, judge};
use super::super::launcher::{Audited, Launched, Patch, Wanted};
use super::super::operators::Chosen;
use super::fresh::Standing;
use super::kept::Kept;
use super::{Course, WITNESS_FILL};
use crate::record::Failure;
use plimsoll_capture::compare::{Comparison, Elements, LeafOutcome};

/// How often values are altered in their last bit.
const TRIALS: usize = 3;
/// How many times as far as that an output of numbers of four or more bytes may be from the reference's.
const TIMES: f64 = 16.0;
/// How many times as far if all numbers are shorter: sums are kept in longer ones, so their order matters less than the
/// last bit.
const TIMES_SHORT: f64 = 1.0 / 16.0;
/// How many times as far an output may be from the reference's as that is from the captured one.
const TIMES_CAPTURED: f64 = 4.0;
/// The most bytes of values that are altered.
const MOST_BYTES: usize = 256 << 20;

impl Course<'_> {
    /// Whether what is wrong with `output` may be due to rounding, or cannot be known. The witness has made `expected` of
    /// the same values, `standing`.
    pub(super) fn may_be_rounding(
        &mut self,
        chosen: &Chosen,
        witness: &mut dyn Audited,
        standing: Standing,
        expected: &Kept,
        output: &Launched,
    ) -> Result<bool, Failure> {
        let leaves = judge(Expected::Recomputed(&expected.output), output, &self.rule_of_drawn())?;
        let wrong = || leaves.iter().filter(|leaf| !leaf.passed);
        if wrong().any(|leaf| leaf.problem.is_some()) {
            return Ok(false);
        }
        // Operators that only move elements have nothing to round.
        if Comparison::for_operator(self.audition.job.entry.function_name()) == Comparison::exact() {
            return Ok(false);
        }
        let within = |allowed: &dyn Fn(&LeafOutcome) -> Option<f64>| wrong().all(|leaf| is_within(leaf, allowed(leaf)));
        if within(&|leaf| Some(TIMES_CAPTURED * chosen.error(&leaf.path))) {
            return Ok(true);
        }
        let (bytes, short) = self.fresh.numbers();
        if bytes == 0 || bytes > MOST_BYTES {
            return Ok(bytes > 0);
        }
        let back = self.patches_to(standing);
        self.output_for(witness, &back)?;
        let mut trials = Vec::new();
        for _ in 0..TRIALS {
            let patches = self.fresh.shaken(&self.witnessed, &mut self.chance);
            let shaken = self.output_for(witness, &patches)?;
            trials.push(judge(Expected::Recomputed(&expected.output), &shaken.output, &Comparison::torch())?);
        }
        // What the witness holds is what it is known to hold again.
        self.output_for(witness, &self.fresh.unshaken(&self.witnessed))?;
        let times = if short { TIMES_SHORT } else { TIMES };
        let most = |leaf: &LeafOutcome| {
            let same = |trial: &Vec<LeafOutcome>| {
                let found = trial.iter().find(|other| other.path == leaf.path)?;
                // The last bit decides which places or shapes the output has.
                let is_of_numbers = |leaf: &LeafOutcome| {
                    leaf.expected.as_ref().is_some_and(|spec| spec.dtype.is_float() || spec.dtype.is_complex())
                };
                if found.elements.is_none() || (!is_of_numbers(found) && !found.passed) {
                    return Some(f64::INFINITY);
                }
                found.elements.as_ref()?.max_abs_error
            };
            trials.iter().filter_map(same).max_by(f64::total_cmp).map(|most| times * most)
        };
        Ok(within(&most))
    }

    fn output_for(&self, witness: &mut dyn Audited, patches: &[Patch]) -> Result<Kept, Failure> {
        let wanted = Wanted { fill: WITNESS_FILL, ..Wanted::default() };
        Kept::of(&witness.region(&[patches.to_vec()], &wanted)?, 0, &[])
    }
}

/// Whether a leaf is as near as `allowed`, and NaN and infinities are as many.
fn is_within(leaf: &LeafOutcome, allowed: Option<f64>) -> bool {
    let Some(Elements { max_abs_error, expected, actual, .. }) = &leaf.elements else { return false };
    let allowed = allowed.unwrap_or_default();
    let finite = (expected.nan, expected.inf) == (actual.nan, actual.inf) || allowed.is_infinite();
    finite && max_abs_error.is_some_and(|error| error <= allowed)
}
