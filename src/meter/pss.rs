//! When the proportional set is read: it is exact and slow, so only when memory moved, and for a small share of time.

use std::io;
use std::time::{Duration, Instant};

use super::pass::PssPass;
use super::process::read_pss;
use super::throttle::{Throttle, thread_time};
use super::tree::Node;
use crate::bytes::{ByteSize, MIB};

/// The proportional set is read again once the resident set has moved by more than this.
const MOVED: u64 = MIB;
/// And not more often than this.
const AT_LEAST: Duration = Duration::from_millis(100);
/// One part in so many of the time may go into it.
const PARTS: u32 = 50;
/// A read that takes no longer than this is made at the start and the end of a phase whatever was read before.
const CHEAP: Duration = Duration::from_millis(20);

/// Reads the proportional set of a tree.
#[derive(Debug)]
pub(crate) struct PssReader {
    throttle: Throttle,
    /// The resident set and the number of processes at the latest reading.
    at_latest: Option<(ByteSize, usize)>,
    wanted_since: Option<Instant>,
    cost: Duration,
    path: String,
    text: Vec<u8>,
}

impl PssReader {
    pub(crate) fn new() -> Self {
        Self {
            throttle: Throttle::new(PARTS, AT_LEAST),
            at_latest: None,
            wanted_since: None,
            cost: Duration::ZERO,
            path: String::new(),
            text: Vec::new(),
        }
    }

    /// Reads it where that is worth its cost. `edge` tells that a phase begins or ends here.
    pub(crate) fn pass(&mut self, now: Instant, rss: ByteSize, nodes: &[Node], edge: bool) -> PssPass {
        let running = nodes.iter().filter(|node| node.memory.is_some());
        let count = running.clone().count();
        let moved = self
            .at_latest
            .is_none_or(|(before, processes)| before.bytes().abs_diff(rss.bytes()) > MOVED || processes != count);
        if moved {
            self.wanted_since.get_or_insert(now);
        }
        let wanted = if edge {
            self.cost <= CHEAP || moved && self.throttle.is_due(now)
        } else {
            moved && self.throttle.is_due(now)
        };
        if !wanted {
            return PssPass::NotTaken;
        }
        let before = thread_time();
        let mut sum = ByteSize::ZERO;
        for node in running {
            match read_pss(node.id.pid, &mut self.path, &mut self.text) {
                Ok(bytes) => sum += bytes,
                // It ended while the tree was read.
                Err(error) if is_gone(&error) => {}
                Err(error) => {
                    return PssPass::Failed(format!("{} of {}: {error}", self.path, node.name));
                }
            }
        }
        self.cost = thread_time().saturating_sub(before);
        self.throttle.spent(now, self.cost);
        self.at_latest = Some((rss, count));
        let late = self.wanted_since.take().map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        PssPass::Sum { bytes: sum, late: late.max(AT_LEAST) }
    }
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
}
