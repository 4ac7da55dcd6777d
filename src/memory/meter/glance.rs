//! [`Glance`]: the tree at its latest sample, for a live view.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::gather::Gatherer;
use super::reading::MemorySplit;
use super::shared::Shared;
use crate::bytes::ByteSize;

/// The tree at its latest sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Glance {
    /// The current phase.
    pub phase: String,
    /// How long it has lasted.
    pub elapsed: Duration,
    /// The memory of the tree; absent if none of its processes runs.
    pub totals: Option<MemorySplit>,
    /// Memory available on the system; absent if that cannot be read.
    pub available: Option<ByteSize>,
    /// The number of processes.
    pub count: usize,
    /// The largest processes, largest first.
    pub processes: Vec<ProcessGlance>,
}

/// A process at the latest sample.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessGlance {
    /// Its id.
    pub pid: u32,
    /// Its role, or the name of its command.
    pub name: String,
    /// Its memory by kind.
    pub memory: MemorySplit,
    /// The processor time of the process and the children it has reaped; absent if it has just ended.
    pub cpu: Option<Duration>,
}

/// Reads what a [`Meter`](super::Meter) sees, from any thread, while that meter exists.
#[derive(Clone, Debug)]
pub struct Viewer {
    shared: Weak<Shared>,
}

impl Viewer {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self { shared: Arc::downgrade(shared) }
    }

    /// The tree now, with its `most` largest processes; `None` before the first phase and once the meter is gone.
    pub fn glance(&self, most: usize) -> Option<Glance> {
        self.shared.upgrade()?.lock().glance(most)
    }
}

impl Gatherer {
    /// The tree at its latest reading, with its `most` largest processes.
    fn glance(&mut self, most: usize) -> Option<Glance> {
        let (phase, elapsed) = self.under_way()?;
        let available = self.available();
        let mut nodes: Vec<_> = self.nodes().iter().filter_map(|node| Some((node, node.memory?))).collect();
        nodes.sort_by_key(|(_, memory)| std::cmp::Reverse(memory.rss));
        let totals = MemorySplit::of(nodes.iter().map(|(_, memory)| *memory));
        let count = nodes.len();
        let processes = nodes.into_iter().take(most).filter_map(|(node, memory)| {
            Some(ProcessGlance {
                pid: node.id.pid,
                name: self.name_of(node).to_owned(),
                memory: MemorySplit::of(std::iter::once(memory))?,
                cpu: super::activity::cpu_of(node.id.pid),
            })
        });
        Some(Glance { phase, elapsed, totals, available, count, processes: processes.collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Meter;

    #[test]
    fn a_glance_shows_the_tree_while_it_is_metered() {
        let meter = Meter::start().unwrap();
        let viewer = meter.viewer();
        assert_eq!(viewer.glance(3), None, "no phase has begun");
        meter.phase("look");
        let glance = viewer.glance(3).unwrap();
        assert_eq!(glance.phase, "look");
        let own = glance.processes.iter().find(|process| process.pid == std::process::id()).unwrap();
        assert!(own.memory.rss > ByteSize::ZERO && own.cpu.is_some());
        assert!(glance.totals.unwrap().rss >= own.memory.rss && glance.count >= 1);
        assert!(viewer.glance(0).unwrap().processes.is_empty());
        drop(meter);
        assert_eq!(viewer.glance(3), None, "nothing is metered");
    }
}
