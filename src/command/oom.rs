//! The kernel's counts of out-of-memory kills before and after a run.

use super::end::OomEvidence;
use crate::meter::OomKills;

/// The counts when a run began.
#[derive(Clone, Copy, Debug)]
pub(super) struct OomWatch {
    system: Option<OomKills>,
}

impl OomWatch {
    pub(super) fn begin() -> Self {
        Self { system: OomKills::read().ok().flatten() }
    }

    /// What has risen since.
    pub(super) fn evidence(&self) -> OomEvidence {
        let now = OomKills::read().ok().flatten();
        let killed = self.system.zip(now).map_or(0, |(before, now)| now.since(before));
        let system = (killed > 0).then(|| format!("{} rose by {killed}", OomKills::COUNTER));
        OomEvidence { system: system.into_iter().collect(), ..OomEvidence::default() }
    }
}
