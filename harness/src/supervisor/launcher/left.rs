//! Files and memory that an untrusted kernel has left behind when a request is answered.

use std::os::unix::fs::MetadataExt;

use plimsoll::meter::{Metric, ProcessMemory};
use plimsoll::record::{Failure, FailureKind, ReleaseReason};
use plimsoll::run::Launcher;

use super::WorkerLauncher;
use crate::supervisor::hidden::hidden;

impl WorkerLauncher<'_> {
    /// Ends a worker whose untrusted kernel has filled its folder, or whose hidden memory exceeds a ceiling.
    pub(super) fn check_left(&mut self) -> Result<(), Failure> {
        let message = match self.command.excess() {
            Some(excess) => format!("the kernel has {excess} in its private folder, which --untrusted limits"),
            None => match self.hidden() {
                Some(message) => message,
                None => return Ok(()),
            },
        };
        self.end_worker(ReleaseReason::Failure);
        Err(Failure::new(FailureKind::Ceiling, message))
    }

    /// The ceiling of resident memory that is broken if unmapped memory counts as well.
    fn hidden(&self) -> Option<String> {
        let (running, copies) = (self.worker.as_ref()?, self.copies.as_ref()?);
        let watch = self.context.meter().watches().iter().find(|watch| watch.metric == Metric::PeakRss)?;
        let pid = running.process.pid();
        let own = [running.process.memory(), running.process.values(), copies.file()];
        let own: Vec<_> =
            own.iter().filter_map(|file| file.metadata().ok()).map(|file| (file.dev(), file.ino())).collect();
        let hidden = hidden(pid, &own, self.command.has_own_memory());
        let resident = ProcessMemory::read(pid).ok()?.rss;
        (hidden + resident > watch.limit).then(|| {
            format!(
                "{} {} {} broke: worker {pid} has {resident} resident, and {hidden} in memory files that it does not map",
                watch.metric,
                watch.metric.relation(),
                watch.limit
            )
        })
    }
}
