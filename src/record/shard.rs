//! [`Shard`] and [`Rank`]: the part of a whole that a record describes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounded;
use crate::shard::Found;
use plimsoll_capture::Capture;
use plimsoll_memory::bytes::ByteSize;

/// The share of a capture that a run took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shard {
    /// The number of the shard, from 1.
    pub index: u32,
    /// Number of shards.
    pub count: u32,
    /// The divided capture.
    pub capture: SharedCapture,
    /// Number of entries in the share.
    pub entries: usize,
    /// The positions of the record's entries in the capture, from 0, in the same order.
    #[serde(deserialize_with = "bounded::list")]
    pub places: Vec<usize>,
    /// Size of these entries.
    pub bytes: ByteSize,
    /// The activity of other shards during timed launches; absent if nothing was timed, or it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<TimedBeside>,
}

/// A capture whose entries are divided among shards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SharedCapture {
    /// `blake3:` and the digest of the names, sizes and checksums of all entries.
    pub manifest: String,
    /// Number of entries.
    pub entries: usize,
    /// Size of all entries.
    pub bytes: ByteSize,
}

impl Shard {
    /// The only shard of a run on `capture`, with the entries at `places`.
    pub fn alone(capture: &Capture, places: Vec<usize>) -> Self {
        Self {
            index: 1,
            count: 1,
            capture: SharedCapture::of(capture),
            entries: places.len(),
            bytes: places.iter().map(|&place| capture.sizes()[place]).sum(),
            places,
            timing: None,
        }
    }
}

impl SharedCapture {
    /// `capture`, which has all entries.
    pub fn of(capture: &Capture) -> Self {
        Self {
            manifest: capture.manifest().to_owned(),
            entries: capture.len(),
            bytes: capture.sizes().iter().copied().sum(),
        }
    }
}

/// The activity of other shards on the node while a shard timed its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimedBeside {
    /// No other shard was seen.
    Alone,
    /// Other shards waited: they took turns.
    InTurns,
    /// Other shards ran at the same time, so the times are not those of a kernel that has the machine to itself.
    Shared,
}

/// The place of a run among the processes of a launcher.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rank {
    /// The name of the launcher, such as `Slurm step`.
    pub launcher: String,
    /// The number of the process, from 0.
    pub rank: u32,
    /// Number of processes.
    pub ranks: u32,
    /// The number of the process on its node, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_rank: Option<u32>,
    /// Number of processes on the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_ranks: Option<u32>,
    /// The number of the node, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
}

impl From<&Found> for Rank {
    fn from(found: &Found) -> Self {
        Self {
            launcher: found.launcher.to_owned(),
            rank: found.rank,
            ranks: found.ranks,
            local_rank: found.local_rank,
            node_ranks: found.node_ranks,
            node: found.node,
        }
    }
}
