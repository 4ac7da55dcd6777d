//! The values of the launches of a region, and which of their outputs are judged.

use std::collections::BTreeSet;

use super::super::launcher::{Patch, Region};
use super::Course;
use super::fresh::Others;
use super::kept::Kept;
use super::renewal::Pair;
use super::standing::Standing;
use crate::record::{Failure, Values};

/// The fewest launches of an entry that are judged.
pub(super) const JUDGED: usize = 24;
/// Launches whose values are of one kind or another, of which the times of [`REPEATED`] do not count.
pub(super) const KINDS: usize = 16;
/// How many of them repeat values in whole or in part.
pub(super) const REPEATED: usize = 2;
/// How many more launches of a region are judged because they repeat values in part, and because they nearly repeat them.
const PARTLY: usize = 2;
/// The fewest launches of an entry that are judged because they nearly repeat the captured values.
const NEARLY: usize = 4;
/// How many storages at most change by themselves, each in a launch that is judged, however long that takes.
const ALONE: usize = 4;

/// What of a launch's values a kernel may know: kept results of it are right, so the launch's time does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recurs {
    Nothing,
    /// The values differ from the captured ones at a few places. Kept results are wrong, so the time counts.
    Nearly,
    /// All storages but this one are those of the launch before.
    AllBut(usize),
    /// The values are the captured ones.
    All,
}

impl Course<'_> {
    /// Whether more launches are to be judged: an output that is the captured one shows little, and results may be kept by
    /// all contents of some arguments.
    pub(super) fn needs_more(&self) -> bool {
        let judged = self.audit.judged as usize - self.beside;
        let shows_little = self.audit.values != Values::Captured && self.telling < JUDGED / 2;
        let together = match self.fresh.changing().count() {
            1 => 0,
            several => several.min(ALONE),
        };
        let nearly = if self.audit.values == Values::Captured { 0 } else { NEARLY };
        let shown = self.alone.len() >= together && self.nearly >= nearly;
        judged < JUDGED || (shows_little && judged < 2 * JUDGED) || !shown || self.needs_pairs()
    }

    /// The values of each launch of a region, those before the region, and how much of them recurs.
    pub(super) fn launches(&mut self, count: usize, pair: Option<Pair>) -> (Standing, Vec<Vec<Patch>>, Vec<Recurs>) {
        let before = self.fresh.standing();
        let mut recurring = Vec::with_capacity(count);
        let mut launches = Vec::with_capacity(count);
        for launch in 0..count {
            let (patches, recurs) = match self.chance.below(KINDS) {
                _ if self.audit.values == Values::Captured => (self.fresh.captured(), Recurs::Nothing),
                _ if pair.is_some_and(|pair| [pair.renewed, pair.kept].contains(&launch)) => {
                    let all_change = pair.is_some_and(|pair| pair.renewed == launch);
                    (self.fresh.draw_whole(&self.renewing, all_change, &mut self.chance), Recurs::Nothing)
                }
                0 => (self.fresh.captured(), Recurs::All),
                // No launch was before the first one: there is no result to keep.
                1 if self.fresh.changing().nth(1).is_some() && (self.audit.launches > 0 || !launches.is_empty()) => {
                    let new = self.fresh.one_of(&self.alone, &mut self.chance);
                    (self.fresh.draw_alone(new, Others::Stay, &mut self.chance), Recurs::AllBut(new))
                }
                1..=3 => (self.fresh.draw_near(&mut self.chance), Recurs::Nearly),
                4..=7 => {
                    let new = self.fresh.one_of(&BTreeSet::new(), &mut self.chance);
                    (self.fresh.draw_alone(new, Others::Differ, &mut self.chance), Recurs::Nothing)
                }
                _ => (self.fresh.draw(&mut self.chance), Recurs::Nothing),
            };
            launches.push(patches);
            recurring.push(recurs);
        }
        (before, launches, recurring)
    }

    /// Outputs of launches that nobody could know would be chosen, in any order.
    pub(super) fn chosen(
        &mut self,
        region: &Region,
        keep: Option<&[usize]>,
        recurring: &[Recurs],
    ) -> Result<Vec<(usize, Kept)>, Failure> {
        let mut at = self.chance.any(region.outputs.len(), JUDGED / 3);
        let launch = |at: usize| keep.map_or(at, |keep| keep[at]);
        // These show results that are kept by all contents of the other arguments, and by some contents of all.
        let partly = |at: &usize| matches!(recurring[launch(*at)], Recurs::AllBut(_));
        let nearly = |at: &usize| recurring[launch(*at)] == Recurs::Nearly;
        for recurs in [&partly as &dyn Fn(&usize) -> bool, &nearly] {
            let beside = self.chance.any(region.outputs.len(), region.outputs.len()).into_iter().filter(recurs);
            let beside: Vec<usize> = beside.filter(|more| !at.contains(more)).take(PARTLY).collect();
            self.beside += beside.len();
            at.extend(beside);
        }
        self.nearly += at.iter().filter(|at| nearly(at)).count();
        self.alone.extend(at.iter().filter_map(|at| match recurring[launch(*at)] {
            Recurs::AllBut(storage) => Some(storage),
            Recurs::Nothing | Recurs::Nearly | Recurs::All => None,
        }));
        at.into_iter().map(|at| Ok((launch(at), Kept::of(region, at, &self.contents)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use plimsoll_capture::compare::Comparison;
    use plimsoll_capture::{Capture, synthesize};

    use super::super::{Audition, Fresh, Job};
    use super::*;
    use crate::run::AuditOptions;

    /// A kernel that keeps results by some of its arguments has none when it is launched first, so that launch shows nothing.
    #[test]
    fn nothing_recurs_in_the_first_launch() {
        let dir = tempfile::tempdir().unwrap();
        synthesize::gemma4_e2b_gb10().scale(1, 1536).entries(1).write(dir.path()).unwrap();
        let capture = Capture::open(dir.path()).unwrap();
        let entry = capture.entries().next().unwrap().unwrap();
        let bound = entry.bind(capture.order()).unwrap();
        let mapped = entry.map().unwrap();
        let (options, rule, refuses) = (AuditOptions::default(), Comparison::exact(), Cell::new(false));
        let job = Job { entry: &entry, bound: &bound };
        let audition = Audition {
            job,
            witnessed: job,
            reference: None,
            chosen: None,
            options: &options,
            mutates: &[],
            rule: &rule,
            passes_half: false,
            validated: true,
            warmup: 1,
            launches: 20,
        };
        let fresh = Fresh::of(&bound, &mapped, &[], &[], Values::All).unwrap();
        assert!(fresh.changing().count() > 1);
        let mut course = Course::new(&audition, &mapped, fresh, Values::All, &refuses);
        let first = |course: &mut Course<'_>| matches!(course.launches(1, None).2[0], Recurs::AllBut(_));
        assert!(!(0..1000).any(|_| first(&mut course)));
        course.audit.launches = 1;
        assert!((0..1000).any(|_| first(&mut course)));
    }
}
