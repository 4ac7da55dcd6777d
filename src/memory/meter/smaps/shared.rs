//! The proportional set of a tree beyond a ceiling on its resident memory, which counts shared pages in each process.

use std::time::{Duration, Instant};

use super::reader::is_gone;
use crate::bytes::ByteSize;
use crate::meter::process::read_pss;
use crate::meter::pss::Proportional;
use crate::meter::throttle::Throttle;
use crate::meter::tree::Node;

/// One part in this many of the time may be spent, and there is at least a tenth of a second between two readings.
const PARTS: u32 = 50;
const AT_LEAST: Duration = Duration::from_millis(100);

/// Reads the proportional set if more than a limit is resident.
#[derive(Debug)]
pub(crate) struct SharedReader {
    beyond: ByteSize,
    /// The largest resident set at which it was read.
    largest: ByteSize,
    throttle: Throttle,
    path: String,
    text: Vec<u8>,
}

impl SharedReader {
    pub(crate) fn new(beyond: ByteSize) -> Self {
        let throttle = Throttle::new(PARTS, AT_LEAST);
        Self { beyond, largest: ByteSize::ZERO, throttle, path: String::new(), text: Vec::new() }
    }

    /// What several processes hold together, whenever the resident set reaches a new maximum.
    pub(crate) fn read(&mut self, now: Instant, rss: ByteSize, nodes: &[Node]) -> Option<Proportional> {
        let running = nodes.iter().filter(|node| node.memory.is_some());
        let due = rss > self.beyond.max(self.largest) && running.clone().count() > 1 && self.throttle.is_due(now);
        if !due {
            return None;
        }
        let before = crate::thread::processor_time();
        let mut pss = ByteSize::ZERO;
        for node in running {
            match read_pss(node.shown_by, &mut self.path, &mut self.text) {
                Ok(bytes) => pss += bytes,
                // The process ended while the tree was read.
                Err(error) if is_gone(&error) => {}
                Err(_) => return None,
            }
        }
        self.throttle.spent(now, crate::thread::processor_time().saturating_sub(before));
        self.largest = rss;
        Some(Proportional { rss, pss })
    }
}
