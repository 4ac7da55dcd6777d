//! Whether an output differs from that of a reference that nobody named by what rounding does to it.
//!
//! A reference that was chosen by the audit itself must not accuse a kernel that only adds in another order, so an
//! output that differs from the reference's is held against what the reference makes of values that differ in their
//! last bit. An output as near as that passes, and the reference goes on judging: a kernel cannot get rid of it by being
//! slightly wrong a few times.

use super::super::judge::{Expected, judge};
use super::super::launcher::{Audited, Launched, Patch, Wanted};
use super::kept::Kept;
use super::standing::Standing;
use super::{Course, WITNESS_FILL};
use crate::record::Failure;
use plimsoll_capture::compare::{Comparison, Elements, LeafOutcome};

/// How often values are altered in their last bit.
const TRIALS: usize = 3;
/// How often they are if indices differ: of two equal numbers, the last bit exchanges the places a quarter of the time.
const TRIALS_OF_INDICES: usize = 24;
/// How many times as far as that an output of numbers of four or more bytes may be from the reference's.
const TIMES: f64 = 16.0;
/// How many times as far if all numbers are shorter: sums are kept in longer ones, so their order matters less than the
/// last bit.
const TIMES_SHORT: f64 = 1.0 / 16.0;
/// How many times as far an output may be from the reference's as that is from the captured one.
const TIMES_CAPTURED: f64 = 4.0;
/// How many times as many indices may differ as the last bit of the values exchanges.
const MORE_MISMATCHES: u64 = 16;
/// The least error of an output in half precision, in parts of its largest element: a quarter of what rounding to `float16`
/// does at most.
const FINE: f64 = 1.0 / 8192.0;
/// The most bytes of values that are altered.
const MOST_BYTES: usize = 256 << 20;

/// What an output that a reference finds wrong is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Wrong,
    /// As near as rounding may make it.
    Rounded,
    /// The last bit of the values decides what the output is, or there are too many to alter them.
    Undecided,
}

/// How far an output may be from the reference's.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Allowed {
    /// The largest difference of an element that is rounded.
    error: f64,
    /// How many elements of another kind, such as indices, may differ.
    mismatches: u64,
}

impl Course<'_> {
    /// Whether the difference of `leaves`, outputs of the kernel, from what the witness has made of the same values,
    /// `standing`, is due to rounding. That is `expected`, and `output` is all that the kernel returned.
    pub(super) fn rounded(
        &mut self,
        witness: &mut dyn Audited,
        standing: Standing,
        (expected, output): (&Kept, &Launched),
        leaves: &[&LeafOutcome],
    ) -> Result<Found, Failure> {
        if leaves.iter().any(|leaf| leaf.problem.is_some()) {
            return Ok(Found::Wrong);
        }
        // Operators that only move elements have nothing to round.
        if Comparison::for_operator(self.audition.job.entry.function_name()) == Comparison::exact() {
            return Ok(Found::Wrong);
        }
        let of_chosen = |leaf: &LeafOutcome| self.audition.chosen.map_or(0.0, |chosen| chosen.error(&leaf.path));
        for leaf in leaves.iter().filter(|leaf| is_of_numbers(leaf)) {
            let allowed = self.allowed.entry(leaf.path.clone()).or_default();
            allowed.error = allowed.error.max(TIMES_CAPTURED * of_chosen(leaf));
        }
        // What other values have shown holds for these.
        if self.are_within(leaves) {
            return Ok(Found::Rounded);
        }
        let (bytes, short) = self.fresh.numbers();
        if bytes == 0 {
            return Ok(Found::Wrong);
        }
        if bytes > MOST_BYTES {
            let rule = Comparison { equal_nan: Some(true), ..Comparison::kernelforge() };
            let near = judge(Expected::Recomputed(&expected.output), output, &rule)?.iter().all(|leaf| leaf.passed);
            return Ok(if near { Found::Undecided } else { Found::Wrong });
        }
        let back = self.patches_to(standing);
        self.output_for(witness, &back)?;
        let times = if short { TIMES_SHORT } else { TIMES };
        let trials = if leaves.iter().all(|leaf| is_of_numbers(leaf)) { TRIALS } else { TRIALS_OF_INDICES };
        let (mut trial, mut found) = (0, Found::Wrong);
        while found == Found::Wrong && trial < trials {
            trial += 1;
            if !self.allow_shaken(witness, expected, leaves, times)? {
                found = Found::Undecided;
            } else if trial >= TRIALS && self.are_within(leaves) {
                found = Found::Rounded;
            }
        }
        // What the witness holds is what it is known to hold again.
        self.output_for(witness, &self.fresh.unshaken(&self.witnessed))?;
        Ok(found)
    }

    /// Allows what the witness makes of values that differ in the last bit; false if that decides which shape an output
    /// has.
    fn allow_shaken(
        &mut self,
        witness: &mut dyn Audited,
        expected: &Kept,
        leaves: &[&LeafOutcome],
        times: f64,
    ) -> Result<bool, Failure> {
        let patches = self.fresh.shaken(&self.witnessed, &mut self.chance);
        let shaken = self.output_for(witness, &patches)?;
        let shaken = judge(Expected::Recomputed(&expected.output), &shaken.output, &Comparison::torch())?;
        for found in shaken.iter().filter(|found| leaves.iter().any(|leaf| leaf.path == found.path)) {
            let Some(elements) = &found.elements else { return Ok(false) };
            let allowed = self.allowed.entry(found.path.clone()).or_default();
            if is_of_numbers(found) {
                allowed.error = allowed.error.max(times * elements.max_abs_error.unwrap_or_default());
            } else {
                allowed.mismatches = allowed.mismatches.max(MORE_MISMATCHES * elements.mismatches);
            }
        }
        Ok(true)
    }

    fn are_within(&self, leaves: &[&LeafOutcome]) -> bool {
        leaves.iter().all(|leaf| self.allowed.get(&leaf.path).is_some_and(|allowed| is_within(leaf, *allowed)))
    }

    fn output_for(&self, witness: &mut dyn Audited, patches: &[Patch]) -> Result<Kept, Failure> {
        let wanted = Wanted { fill: WITNESS_FILL, ..Wanted::default() };
        Kept::of(&witness.region(&[patches.to_vec()], &wanted)?, 0, &[])
    }
}

/// Whether an output is as far from the expected one as half precision is.
pub(super) fn is_coarse(leaf: &LeafOutcome) -> bool {
    let (Some(spec), Some(elements)) = (&leaf.expected, &leaf.elements) else { return false };
    let (Some(range), Some(error)) = (elements.expected.range, elements.max_abs_error) else { return false };
    spec.dtype.size() >= 4 && is_of_numbers(leaf) && error >= FINE * range.min.abs().max(range.max.abs())
}

/// Whether the last bit of values may alter the elements a little, rather than exchange them.
fn is_of_numbers(leaf: &LeafOutcome) -> bool {
    leaf.expected.as_ref().is_some_and(|spec| spec.dtype.is_float() || spec.dtype.is_complex())
}

/// Whether a leaf is as near as `allowed`, and NaN and infinities are as many.
fn is_within(leaf: &LeafOutcome, allowed: Allowed) -> bool {
    let Some(Elements { max_abs_error, expected, actual, mismatches, .. }) = &leaf.elements else { return false };
    if !is_of_numbers(leaf) {
        return *mismatches <= allowed.mismatches;
    }
    let finite = (expected.nan, expected.inf) == (actual.nan, actual.inf);
    finite && max_abs_error.is_some_and(|error| error <= allowed.error)
}
