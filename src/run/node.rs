//! [`Node`]: the shards of one machine, which notice each other by a lock on a file.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;

use super::error::RunError;
use super::options::Share;
use crate::record::TimedBeside;

/// How often a shard that waits for its turn checks whether it was cancelled.
const TURN: Duration = Duration::from_millis(20);

/// This shard among those of its node. All hold the lock together; a shard that times alone holds it exclusively.
pub(super) struct Node {
    file: File,
    path: PathBuf,
    in_turns: bool,
    timing: Option<TimedBeside>,
}

impl Node {
    /// Joins the shards of the node, once none times alone or the run is `cancelled`.
    pub fn join(share: &Share, cancelled: &dyn Fn() -> bool) -> Result<Self, RunError> {
        let path = share.lock.clone();
        let mut options = OpenOptions::new();
        // Do not follow links: the folder may be writable for everybody.
        let options =
            options.read(true).append(true).create(true).mode(0o600).custom_flags(OFlags::NOFOLLOW.bits() as i32);
        let opened = options.open(&path).map_err(|source| RunError::Node { path: path.clone(), source })?;
        let node = Self { file: opened, path, in_turns: share.in_turns, timing: None };
        node.wait(FlockOperation::NonBlockingLockShared, cancelled)?;
        Ok(node)
    }

    /// Begins timing: alone if shards take turns, once the others allow it or the run is `cancelled`.
    pub fn begin_timing(&mut self, cancelled: &dyn Fn() -> bool) -> Result<(), RunError> {
        if !self.in_turns {
            self.timing = Some(TimedBeside::Alone);
            self.look();
            return Ok(());
        }
        // Two that share the lock would wait for each other.
        let _ = rustix::fs::flock(&self.file, FlockOperation::Unlock);
        self.wait(FlockOperation::NonBlockingLockExclusive, cancelled)?;
        self.timing = Some(TimedBeside::InTurns);
        Ok(())
    }

    /// Checks whether others are present while entries are timed.
    pub fn look(&mut self) {
        if self.timing != Some(TimedBeside::Alone) {
            return;
        }
        // Nobody else holds the lock if this shard can have it exclusively.
        if rustix::fs::flock(&self.file, FlockOperation::NonBlockingLockExclusive).is_err() {
            self.timing = Some(TimedBeside::Shared);
        }
        // A failed attempt may have released the lock.
        let _ = rustix::fs::flock(&self.file, FlockOperation::LockShared);
    }

    /// Ends timing, and lets others go on.
    pub fn end_timing(&mut self) {
        self.look();
        let _ = rustix::fs::flock(&self.file, FlockOperation::Unlock);
    }

    /// The shards that ran beside the timed launches; absent if nothing was timed.
    pub fn timing(&self) -> Option<TimedBeside> {
        self.timing
    }

    fn wait(&self, operation: FlockOperation, cancelled: &dyn Fn() -> bool) -> Result<(), RunError> {
        while !cancelled() {
            match rustix::fs::flock(&self.file, operation) {
                Ok(()) => return Ok(()),
                Err(Errno::WOULDBLOCK | Errno::INTR) => std::thread::sleep(TURN),
                Err(error) => {
                    return Err(RunError::Node { path: self.path.clone(), source: io::Error::from(error) });
                }
            }
        }
        Ok(())
    }
}
