//! The kernel's counts of out-of-memory kills before and after a run.

use super::end::OomEvidence;
use super::slurm::SlurmStep;
use crate::meter::{Cgroup, OomKills};

/// The counts when a run began.
#[derive(Clone, Debug)]
pub(super) struct OomWatch {
    system: Option<OomKills>,
    /// The group that the process was in already, if it or one above it has a limit, with its count.
    around: Option<(Cgroup, u64)>,
    /// The group created for the run.
    own: Option<Cgroup>,
}

impl OomWatch {
    /// Starts watching for the process `pid`, which has not yet moved to its group `own`.
    pub(super) fn begin(pid: u32, own: Option<&Cgroup>) -> Self {
        let around = Cgroup::of(pid).ok().filter(|group| group.limits().is_some_and(|limits| limits.memory.is_some()));
        Self {
            system: OomKills::read().ok().flatten(),
            around: around.and_then(|group| Some((group.clone(), group.oom_kills().ok()??))),
            own: own.cloned(),
        }
    }

    /// Whether the kernel has killed a process of the run's group.
    pub(super) fn own_group(&self) -> Option<String> {
        let own = self.own.as_ref()?;
        risen(own, 0)
    }

    /// Kills all processes in the run's group, if the kernel can do so at once.
    pub(super) fn kill_own_group(&self) {
        if let Some(group) = &self.own {
            // On an older kernel the processes are killed one by one.
            let _ = group.kill();
        }
    }

    /// The counts that have risen since.
    pub(super) fn evidence(&self) -> OomEvidence {
        let now = OomKills::read().ok().flatten();
        let killed = self.system.zip(now).map_or(0, |(before, now)| now.since(before));
        let system = (killed > 0).then(|| format!("{} rose by {killed}", OomKills::COUNTER));
        let around = self.around.as_ref().and_then(|(group, before)| risen(group, *before));
        let groups = self.own.iter().chain(self.around.iter().map(|(group, _)| group));
        OomEvidence {
            own_group: self.own_group().into_iter().collect(),
            limited: self.around.is_some(),
            step: groups.map(Cgroup::name).find_map(|name| SlurmStep::of_group(&name)),
            group_around: around.into_iter().collect(),
            system: system.into_iter().collect(),
        }
    }
}

/// Says by how much a group's kills have risen from `before`; `None` if they have not.
fn risen(group: &Cgroup, before: u64) -> Option<String> {
    let killed = group.oom_kills().ok()??.saturating_sub(before);
    (killed > 0).then(|| format!("oom_kill of the control group {} rose by {killed}", group.name()))
}
