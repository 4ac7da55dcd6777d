//! Bounds of the proportional set between two readings of it, and its value while shared pages mattered.

use super::smaps::SmapsPass;
use crate::bytes::{ByteSize, MIB};

/// Resident memory that moved by no more than this counts as unchanged.
const MOVED: ByteSize = ByteSize::new(MIB);

/// The proportional set and the resident memory of a tree at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Proportional {
    pub(crate) rss: ByteSize,
    pub(crate) pss: ByteSize,
}

impl Proportional {
    /// The maximum of the proportional set at this `rss`: additional resident memory belongs to the tree alone at most.
    fn at_most(self, rss: ByteSize) -> ByteSize {
        self.pss + rss.saturating_sub(self.rss)
    }
}

/// A bound on the proportional set of a phase: it is read rarely, while resident memory is read in every sample.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PssBound {
    latest: Option<Proportional>,
    /// The largest resident memory since.
    resident: ByteSize,
    most: ByteSize,
}

impl PssBound {
    /// Notes a sample.
    pub(super) fn record(&mut self, rss: ByteSize, smaps: &SmapsPass) {
        match smaps {
            SmapsPass::Taken { pss, .. } => {
                let read = Proportional { rss, pss: *pss };
                self.most = self.most.max(*pss).max(self.between(Some(read)));
                (self.latest, self.resident) = (Some(read), ByteSize::ZERO);
            }
            SmapsPass::NotTaken => self.resident = self.resident.max(rss),
            SmapsPass::Failed(_) => {}
        }
    }

    /// The maximum of the proportional set, if `unseen` was resident beyond every sample.
    pub(super) fn at_most(&self, unseen: ByteSize) -> ByteSize {
        self.most.max(self.between(None)) + unseen
    }

    /// The maximum of the proportional set between the latest reading and the next.
    fn between(&self, next: Option<Proportional>) -> ByteSize {
        let known = self.latest.into_iter().chain(next);
        if known.clone().any(|read| self.resident <= read.rss + MOVED) {
            return ByteSize::ZERO;
        }
        known.map(|read| read.at_most(self.resident)).min().unwrap_or(self.resident)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn taken(mib: u64) -> SmapsPass {
        SmapsPass::Taken { pss: ByteSize::mib(mib), mappings: None, late: Duration::ZERO }
    }

    fn bound(samples: &[(u64, Option<u64>)], unseen: u64) -> u64 {
        let mut bound = PssBound::default();
        for (rss, pss) in samples {
            bound.record(ByteSize::mib(*rss), &pss.map_or(SmapsPass::NotTaken, taken));
        }
        bound.at_most(ByteSize::mib(unseen)).bytes() / MIB
    }

    #[test]
    fn a_spike_between_two_readings_is_not_lost() {
        assert_eq!(bound(&[(2, Some(1)), (52, None), (2, Some(1))], 0), 51);
        assert_eq!(bound(&[(2, Some(1)), (52, None)], 0), 51, "the last reading came before it");
        assert_eq!(bound(&[(52, None), (52, None)], 0), 52, "nothing was read at all");
        assert_eq!(bound(&[(2, Some(1))], 50), 51, "no sample saw it");
    }

    #[test]
    fn what_is_still_there_when_it_is_read_is_known() {
        assert_eq!(bound(&[(2, Some(1)), (102, None), (202, None), (202, Some(60))], 0), 60);
        assert_eq!(bound(&[(202, Some(60)), (202, None), (150, None), (2, Some(1))], 0), 60);
    }
}
