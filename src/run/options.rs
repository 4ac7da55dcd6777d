//! [`Options`]: what a run does and how it manages memory.

use std::num::NonZeroU32;
use std::path::PathBuf;

use crate::defaults;
use crate::record::{Rank, Shard};
use plimsoll_capture::batch::OverCap;
use plimsoll_capture::compare::Comparison;
use plimsoll_capture::gpu::Place;
use plimsoll_capture::store::VerifyObjects;
use plimsoll_capture::timing::Protocol;
use plimsoll_capture::{Capture, Digest};
use plimsoll_memory::bytes::ByteSize;

pub use crate::defaults::PAIRS as DEFAULT_PAIRS;

/// The work of a run and its memory limits. The defaults are those of the command line without flags.
#[derive(Clone, Debug)]
pub struct Options {
    /// Launch every entry once and judge its output.
    pub validate: bool,
    /// Time every entry that did not fail its validation.
    pub profile: bool,
    /// The rule of comparison; `None` uses the operator's ([`Comparison::for_operator`]).
    pub comparison: Option<Comparison>,
    /// The arguments that the kernel is meant to change in place.
    pub mutates: Vec<String>,
    /// How launches are timed.
    pub protocol: Protocol,
    /// How often two kernels are measured side by side on each entry ([`versus()`](super::versus())).
    pub pairs: NonZeroU32,
    /// How many times as fast as the other the kernel has to be; absent if not judged.
    pub min_speedup: Option<f64>,
    /// The most bytes that may be resident together while profiling.
    pub batch_bytes: ByteSize,
    /// The action on an entry that alone exceeds `batch_bytes`.
    pub over_cap: OverCap,
    /// Ends a validation worker after this many bytes of entries.
    pub recycle_after: Option<ByteSize>,
    /// Ends a validation worker whose resident memory reached this mark.
    pub recycle_rss: Option<ByteSize>,
    /// Stop at the first entry that does not pass.
    pub fail_fast: bool,
    /// What the digests of entries cover.
    pub digest: Digest,
    /// How often the objects of a store are verified before kernels get their bytes.
    pub verify: VerifyObjects,
    /// Audit timed launches.
    pub audit: Option<AuditOptions>,
    /// The share of a capture to run: the capture only has the entries of the share.
    pub share: Option<Share>,
    /// The command line, for the record.
    pub command: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            validate: true,
            profile: true,
            comparison: None,
            mutates: Vec::new(),
            protocol: Protocol::default(),
            pairs: defaults::PAIRS,
            min_speedup: None,
            batch_bytes: defaults::BATCH_BYTES,
            over_cap: OverCap::Alone,
            recycle_after: Some(defaults::RECYCLE_AFTER),
            recycle_rss: None,
            fail_fast: false,
            digest: Digest::Skeleton,
            verify: VerifyObjects::default(),
            audit: None,
            share: None,
            command: Vec::new(),
        }
    }
}

/// The share of a capture for a run.
#[derive(Clone, Debug)]
pub struct Share {
    /// The share.
    pub shard: Shard,
    /// The place of this process within its launcher.
    pub rank: Option<Rank>,
    /// A file that all shards of this node lock, by which they notice each other.
    pub lock: PathBuf,
    /// Whether shards take turns: while one times its entries, no other runs.
    pub in_turns: bool,
}

impl Share {
    /// The share of `whole` with the entries at `places`, of a run on `device` that has no other shards.
    pub fn of(whole: &Capture, places: Vec<usize>, device: Place) -> Self {
        Self { shard: Shard::alone(whole, places), rank: None, lock: lock(device), in_turns: false }
    }
}

/// The file that shards of this user lock to share a device.
fn lock(device: Place) -> PathBuf {
    let user = rustix::process::getuid().as_raw();
    let device = match device {
        Place::Cpu => "cpu".to_owned(),
        Place::Cuda(index) => {
            // Processes that see other devices number them differently.
            let visible = std::env::var("CUDA_VISIBLE_DEVICES").unwrap_or_default();
            let visible: String = visible.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
            format!("cuda-{visible}-{index}")
        }
    };
    std::env::temp_dir().join(format!("plimsoll-shards-{user}-{device}.lock"))
}

/// How timed launches are audited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditOptions {
    /// Arguments that never change, such as weights that a kernel keeps in another form.
    pub constant: Vec<String>,
    /// Entries that may pass although their comparison cannot detect a wrong kernel.
    pub allow_blind: Vec<String>,
}

impl AuditOptions {
    /// Whether an entry may pass although its comparison cannot detect a wrong kernel.
    pub(super) fn allows_blind(&self, entry: &str) -> bool {
        self.allow_blind.iter().any(|name| name == entry)
    }
}
