//! Which values the witness accepts, and whether its output follows them.

use super::super::judge::{Expected, judge};
use super::super::launcher::{Audited, Launcher, Patch, Wanted};
use super::change::Order;
use super::fresh::Fresh;
use super::kept::Kept;
use super::standing::Standing;
use super::{Audition, Course, WITNESS_FILL};
use crate::record::{Failure, Values};
use plimsoll_capture::compare::Comparison;

/// At most how many launches of the witness show whether its output follows the values.
const TRIALS: usize = 4;

impl Course<'_> {
    /// Whether the witness accepts such values.
    ///
    /// Integers that change places may change nothing, such as those that are counted or sorted: if so, they are drawn from all
    /// of them, and if that rarely changes anything, from half of the different ones, unless the witness refuses that.
    pub(super) fn witnessed(&mut self, witness: &mut dyn Launcher) -> Result<(), Failure> {
        let mut witness = witness.audit(self.audition.witnessed)?;
        if !self.differs(&mut *witness, TRIALS, 1)? {
            let placed = self.fresh.clone();
            // The largest often stays if all are drawn again, and nearly always if it is there several times.
            let drawn = [(Order::Drawn, TRIALS), (Order::DrawnFromHalf, 1)].into_iter().any(|(order, enough)| {
                self.fresh.reorder(order) && matches!(self.differs(&mut *witness, 4 * TRIALS, enough), Ok(true))
            });
            // Where zeros or truth values are may be all that it depends on.
            let mixed = !drawn
                && self.audit.values == Values::All
                && self.mixes()?
                && matches!(self.differs(&mut *witness, 4 * TRIALS, TRIALS), Ok(true));
            if !drawn && !mixed {
                self.fresh = placed;
            }
        }
        self.fresh.reset();
        Ok(())
    }

    /// Lets all elements change places; false if none can.
    fn mixes(&mut self) -> Result<bool, Failure> {
        let Audition { job, options, mutates, .. } = self.audition;
        self.fresh = Fresh::mixed(job.bound, self.mapped, &options.constant, mutates)?;
        Ok(!self.fresh.is_empty())
    }

    /// Whether the witness returns another output than the captured one for `enough` of a few values that are drawn.
    fn differs(&mut self, witness: &mut dyn Audited, trials: usize, enough: usize) -> Result<bool, Failure> {
        let mut differ = 0;
        for _ in 0..trials {
            let patches = self.fresh.draw(&mut self.chance);
            let region = witness.region(&[patches], &Wanted { fill: WITNESS_FILL, ..Wanted::default() })?;
            let captured = Expected::Captured(self.audition.job.entry, self.mapped);
            let leaves = judge(captured, &Kept::of(&region, 0, &[])?.output, &Comparison::exact())?;
            differ += usize::from(leaves.iter().any(|leaf| !leaf.passed));
            if differ == enough {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Finds out whether the witness refuses the values of one of these launches, as the kernel has.
    pub(super) fn ask_of_refused(
        &mut self,
        witness: &mut dyn Audited,
        mut standing: Standing,
        launches: &[Vec<Patch>],
    ) {
        for patches in launches {
            patches.iter().for_each(|patch| standing.put(patch));
            if self.recomputed_one(witness, standing.clone()).is_err() {
                return;
            }
        }
    }
}
