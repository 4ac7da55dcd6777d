//! [`Findings`]: the document `plimsoll.findings/1`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::snapshot::{Difference, SnapshotFindings};
use super::trend::Trends;
use super::verdict::{Kind, Verdict};
use crate::estimate::Mark;
use plimsoll_memory::bytes::ByteSize;

/// The value of `schema` in the documents that this version writes.
pub const SCHEMA: &str = "plimsoll.findings/1";

/// What was found in some inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Findings {
    /// `plimsoll.findings/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The version of Plimsoll that wrote the document.
    pub plimsoll: String,
    /// What was read, in order.
    pub inputs: Vec<InputReport>,
    /// The kind of the weightiest event: `report` if there is telemetry and no failure, `none` if there is nothing.
    pub kind: Kind,
    /// The verdict of the weightiest event, `mixed` if several causes weigh the same, `not-oom` if there is none; of
    /// telemetry without a failure the gravest trend.
    pub verdict: Verdict,
    /// Every memory event, in the order of the text, each once. An input with telemetry and no failure has one of kind
    /// `report`, with the verdict of its trends; so has each ceiling of a Plimsoll record that was broken.
    pub events: Vec<Event>,
    /// The events beyond the first ones that are listed; absent if all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted_events: Option<u64>,
    /// Texts that look like an event and are none, with the reason; the first ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dismissed: Vec<Dismissal>,
    /// The factors of the effective batch, if the text gives them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<KnownBatch>,
    /// What the inputs tell of memory over time, where they do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub telemetry: Vec<TelemetryReport>,
    /// What the memory snapshots among the inputs say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub snapshots: Vec<SnapshotFindings>,
    /// What changed from the baseline that a snapshot was compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_difference: Option<Difference>,
}

impl Findings {
    /// Whether something ran out: telemetry without a failure is none.
    pub fn failed(&self) -> bool {
        !matches!(self.kind, Kind::None | Kind::Report)
    }

    /// The first event that is one of `verdicts`, or of which one of them is true as well.
    pub fn any_of(&self, verdicts: &[Verdict]) -> Option<&Event> {
        let is =
            |event: &&Event| verdicts.contains(&event.verdict) || event.also.iter().any(|also| verdicts.contains(also));
        self.events.iter().find(is)
    }
}

/// What an input says of memory over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TelemetryReport {
    /// The input, by [`InputReport::name`].
    pub name: String,
    /// Its trends: the gravest findings first.
    pub trends: Trends,
    /// The findings beyond the first ones that are listed; absent if all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted_findings: Option<u64>,
}

/// One input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InputReport {
    /// The file as it was given; `-` for standard input.
    pub name: String,
    /// What it was recognised as.
    pub form: Form,
    /// The bytes that were read: of a compressed or UTF-16 file those of its UTF-8 text.
    pub bytes: ByteSize,
    /// The lines of text that were read; absent for what is not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u64>,
    /// Why it could not be read, or not to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Text: a log of any kind, in UTF-8 or UTF-16, plain or gzipped.
    Text,
    /// A pickled memory snapshot of PyTorch.
    Snapshot,
    /// A Plimsoll record.
    Record,
}

/// A memory event: something ran out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// What ran out.
    pub kind: Kind,
    /// Who says so: `cuda`, `hip`, `xpu`, `npu`, `mps`, `xla`, ... for a device, `linux`, `slurm`, `kubernetes`, `ray`,
    /// `python`, ... for the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// The framework, runtime or manager that the log comes from, as far as the text shows it: `vllm`, `jvm`, `slurm`,
    /// ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub software: Option<String>,
    /// Why, as far as the text shows it.
    pub verdict: Verdict,
    /// What is true beside it, such as the phase of the training step.
    pub also: Vec<Verdict>,
    /// The numbers of the text, in bytes.
    pub numbers: Numbers,
    /// The lines that show it, the most telling first.
    pub evidence: Vec<Evidence>,
    /// How often the text gives the same event.
    pub occurrences: u64,
    /// The rank of the process in its job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u64>,
    /// The process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u64>,
    /// The job of the batch system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The index of the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<u64>,
    /// The machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The name of the process or its control group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub victim: Option<String>,
    /// What to do, in order.
    pub advice: Vec<Advice>,
    /// The verdict in a sentence or two, with the numbers that led to it.
    pub explanation: String,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Advice {
    /// Its place on the ladder, from 1; absent for what is not on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rung: Option<u8>,
    /// What to do.
    pub what: String,
    /// What it changes beside the memory.
    pub class: Mark,
    /// What it saves on the device, if there is an estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saving: Option<ByteSize>,
    /// Whether that is enough, if there is an estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fits: Option<bool>,
    /// The factors of the effective batch with it; their product stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<KnownBatch>,
}

/// The numbers of an event, as exact as the text gives them; absent if it does not.
///
/// A message prints two decimals of its unit: a figure in GiB is good to 5.4 MB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Numbers {
    /// The request that failed, as the allocator rounded it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tried: Option<ByteSize>,
    /// The memory of the device or machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<ByteSize>,
    /// What was free of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free: Option<ByteSize>,
    /// What tensors held, private pools included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocated: Option<ByteSize>,
    /// What the allocator held: allocated and unallocated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<ByteSize>,
    /// What the allocator held and no tensor used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unallocated: Option<ByteSize>,
    /// What the process held in all: of a killed process its resident memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub this_process: Option<ByteSize>,
    /// What other processes held on the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_processes: Option<ByteSize>,
    /// The limit that was set: a fraction of the device, the limit of a control group, of a job, of Ray's monitor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<ByteSize>,
    /// What lay in private pools, such as those of CUDA graphs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_pools: Option<ByteSize>,
}

impl Numbers {
    /// Takes from `other` what is absent here.
    pub(super) fn fill(&mut self, other: &Self) {
        let Self {
            tried,
            capacity,
            free,
            allocated,
            reserved,
            unallocated,
            this_process,
            other_processes,
            allowed,
            private_pools,
        } = self;
        for (mine, theirs) in [
            (tried, other.tried),
            (capacity, other.capacity),
            (free, other.free),
            (allocated, other.allocated),
            (reserved, other.reserved),
            (unallocated, other.unallocated),
            (this_process, other.this_process),
            (other_processes, other.other_processes),
            (allowed, other.allowed),
            (private_pools, other.private_pools),
        ] {
            *mine = mine.or(theirs);
        }
    }
}

/// A line of an input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The input, by [`InputReport::name`].
    pub file: String,
    /// The line, from 1; of a snapshot the entry of the trace, of a Plimsoll record the place of the verdict.
    pub line: u64,
    /// The byte at which the line begins, from 0; 0 in a snapshot or a record.
    pub offset: u64,
    /// The line without its terminal codes; a long one is cut.
    pub text: String,
}

/// A text that looks like an event and is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dismissal {
    /// Why it is none.
    pub reason: String,
    /// The line.
    pub evidence: Evidence,
}

/// The factors of the effective batch: their product is what training sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KnownBatch {
    /// Samples of a forward pass on one device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro: Option<u64>,
    /// Forward passes of one optimizer step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accumulation: Option<u64>,
    /// Data-parallel processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world: Option<u64>,
}
