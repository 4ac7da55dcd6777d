//! [`Renewal`]: whether a launch takes longer if all of a large argument is new than if a few places of it are.
//!
//! A large storage mostly changes at some places, because drawing all of it takes longer than many a launch. A kernel may
//! keep its result, and add what follows from these places: its outputs are right, and its times are not those of the
//! operator. So two launches at the start of each region find all contents written anew: before one all elements are
//! others, before the other those at a few places are. Caches are alike before both.

use super::super::launcher::Region;
use super::Course;
use crate::record::{Failure, FailureKind, Values};

/// Pairs of launches after which an honest kernel is done, and after which another one is accused.
const FEWEST: usize = 3;
const MOST: usize = 16;
/// How many times as long three of four launches on new values have to be as every other one on kept ones, and by how many
/// nanoseconds at least: a kernel may begin anew now and then.
const TIMES: f64 = 2.0;
const LONGER_NS: f64 = 50_000.0;

/// The launches of a region that find whole large storages written anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    /// All elements are others.
    pub(super) renewed: usize,
    /// A few elements of some cells are.
    pub(super) kept: usize,
}

/// How long such launches took, in nanoseconds, in order.
#[derive(Default)]
pub(super) struct Renewal {
    renewed: Vec<f64>,
    kept: Vec<f64>,
}

impl Renewal {
    pub(super) fn note(&mut self, region: &Region, pair: Pair) {
        // Launches of a region that is not placed did not take what was reported.
        if !region.placed || region.stopped {
            return;
        }
        self.add(region.durations_ns[pair.renewed], region.durations_ns[pair.kept]);
    }

    fn add(&mut self, renewed: f64, kept: f64) {
        for (all, new) in [(&mut self.renewed, renewed), (&mut self.kept, kept)] {
            all.insert(all.partition_point(|one| *one < new), new);
        }
    }

    /// The lower quartile on new values and the median on kept ones, in nanoseconds, if the former take so much longer.
    fn longer(&self) -> Option<(f64, f64)> {
        let count = self.renewed.len();
        let (renewed, kept) = (*self.renewed.get(count / 4)?, self.kept[count / 2]);
        (renewed >= TIMES * kept && renewed - kept >= LONGER_NS).then_some((renewed, kept))
    }

    fn is_decided(&self) -> bool {
        self.renewed.len() >= if self.longer().is_some() { MOST } else { FEWEST }
    }
}

impl Course<'_> {
    /// Where a region that begins has such launches, among its first ones.
    pub(super) fn pair(&mut self, of: usize) -> Option<Pair> {
        // The first region shows how long a kernel takes to get ready.
        if self.renewing.is_empty() || self.audit.values == Values::Captured || self.audit.launches == 0 {
            return None;
        }
        match self.chance.any(of, 2)[..] {
            [renewed, kept] => Some(Pair { renewed, kept }),
            _ => None,
        }
    }

    /// Whether more such launches are to show how long the kernel takes.
    pub(super) fn needs_pairs(&self) -> bool {
        !self.renewing.is_empty() && self.audit.values != Values::Captured && !self.renewal.is_decided()
    }

    /// Refuses a kernel that computes less if less of its arguments has changed.
    pub(super) fn computes_all(&self) -> Result<(), Failure> {
        let Some((renewed, kept)) = self.renewal.longer() else { return Ok(()) };
        let time = |ns: f64| humantime::format_duration(std::time::Duration::from_micros((ns / 1000.0) as u64));
        let message = format!(
            "launches took {} if all of a large argument had changed, and {} if a few places of it had: the \
             kernel keeps results, and computes what follows from changed places; an argument that never changes is named \
             with --constant",
            time(renewed),
            time(kept),
        );
        Err(Failure::new(FailureKind::TimeMismatch, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renewal(pairs: impl IntoIterator<Item = (f64, f64)>) -> Renewal {
        let mut renewal = Renewal::default();
        pairs.into_iter().for_each(|(renewed, kept)| renewal.add(renewed * 1e6, kept * 1e6));
        renewal
    }

    #[test]
    fn launches_that_take_as_long_are_decided_soon() {
        assert!(!renewal([(3.0, 2.9); 2]).is_decided());
        let honest = renewal([(3.0, 2.9), (2.8, 3.1), (9.0, 3.0)]);
        assert!(honest.is_decided() && honest.longer().is_none());
    }

    #[test]
    fn new_values_that_take_longer_are_looked_at_again_and_again() {
        assert!(!renewal([(9.0, 3.0); 15]).is_decided());
        // A machine in use disturbs some of them.
        let kept = (0..16).map(|n| if n % 5 < 2 { (9.0, 20.0) } else { (9.0, 3.0) });
        assert!(renewal(kept).longer().is_some_and(|(renewed, kept)| renewed > 2.0 * kept));
        let honest = (0..16).map(|n| if n % 2 == 0 { (9.0, 3.0) } else { (3.0, 3.0) });
        assert!(renewal(honest).longer().is_none());
        assert!(renewal([(0.05, 0.01); 16]).longer().is_none(), "microseconds are no matter");
    }
}
