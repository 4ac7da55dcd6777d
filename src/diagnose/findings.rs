//! [`Findings`]: the document `plimsoll.findings/1`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::snapshot::{Difference, SnapshotFindings};
use super::trend::Trends;
use super::verdict::{Kind, Verdict};
use crate::estimate::Effect;
use plimsoll_memory::bytes::ByteSize;

/// The value of `schema` in the documents that this version writes.
pub const SCHEMA: &str = "plimsoll.findings/1";

/// What was found in a set of inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Findings {
    /// `plimsoll.findings/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The version of Plimsoll that wrote the document.
    pub plimsoll: String,
    /// The inputs, in order.
    pub inputs: Vec<InputReport>,
    /// The kind of the weightiest event: `report` if there is telemetry and no failure, `none` if there is nothing.
    pub kind: Kind,
    /// The verdict of the weightiest event, `mixed` if several causes weigh the same, `not-oom` if there is no event;
    /// for telemetry without a failure, the gravest trend.
    pub verdict: Verdict,
    /// Every memory event, in the order of the text, each once. An input with telemetry and no failure has one event of
    /// kind `report`, with the verdict of its trends; each broken ceiling of a Plimsoll record is one such event too.
    pub events: Vec<Event>,
    /// Number of events left out of the list; absent if all are listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted_events: Option<u64>,
    /// The first texts that look like an event but are not one, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dismissed: Vec<Dismissal>,
    /// The factors of the effective batch, if the text gives them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<KnownBatch>,
    /// Memory over time, for inputs with telemetry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub telemetry: Vec<TelemetryReport>,
    /// The memory snapshots among the inputs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub snapshots: Vec<SnapshotFindings>,
    /// What changed since the baseline that a snapshot was compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_difference: Option<Difference>,
}

impl Findings {
    /// Whether something ran out of memory: telemetry without a failure does not count.
    pub fn failed(&self) -> bool {
        !matches!(self.kind, Kind::None | Kind::Report)
    }

    /// The first event whose verdict, or one of whose additional verdicts, is among `verdicts`.
    pub fn any_of(&self, verdicts: &[Verdict]) -> Option<&Event> {
        let is =
            |event: &&Event| verdicts.contains(&event.verdict) || event.also.iter().any(|also| verdicts.contains(also));
        self.events.iter().find(is)
    }
}

/// Memory over time in one input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TelemetryReport {
    /// The input's [`InputReport::name`].
    pub name: String,
    /// The trends, gravest findings first.
    pub trends: Trends,
    /// Number of findings left out of the list; absent if all are listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted_findings: Option<u64>,
}

/// One input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InputReport {
    /// The file as given; `-` for standard input.
    pub name: String,
    /// The recognised kind of input.
    pub form: Form,
    /// Bytes read: of a compressed or UTF-16 file, the bytes of its UTF-8 text.
    pub bytes: ByteSize,
    /// Lines of text read; absent for inputs that are not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u64>,
    /// Why the input could not be read, or not to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The kind of an input.
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

/// A memory event: something ran out of memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// What ran out.
    pub kind: Kind,
    /// Who reports the event: `cuda`, `hip`, `xpu`, `npu`, `mps`, `xla`, ... for a device, `linux`, `slurm`,
    /// `kubernetes`, `ray`, `python`, ... for the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// The framework, runtime or manager that the log comes from, if the text shows it: `vllm`, `jvm`, `slurm`, ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub software: Option<String>,
    /// Why memory ran out, as far as the text shows.
    pub verdict: Verdict,
    /// Additional verdicts, such as the phase of the training step.
    pub also: Vec<Verdict>,
    /// The numbers of the text, in bytes.
    pub numbers: Numbers,
    /// The lines that show the event, the most conclusive first.
    pub evidence: Vec<Evidence>,
    /// How often the text reports the event.
    pub occurrences: u64,
    /// The rank of the process in its job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u64>,
    /// The process id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u64>,
    /// The id of the job in the batch system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The index of the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<u64>,
    /// The name of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The name of the killed process or its control group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub victim: Option<String>,
    /// What to do, in order.
    pub advice: Vec<Advice>,
    /// The verdict in one or two sentences, with the numbers that led to it.
    pub explanation: String,
}

/// One piece of advice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Advice {
    /// Position on the ladder, from 1; absent for advice that is not on the ladder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rung: Option<u8>,
    /// What to do.
    pub what: String,
    /// What the advice changes in addition to memory.
    pub class: Effect,
    /// Memory saved on the device, if there is an estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saving: Option<ByteSize>,
    /// Whether the saving is enough, if there is an estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fits: Option<bool>,
    /// The factors of the effective batch after this step; their product does not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<KnownBatch>,
}

/// The numbers of an event, as precise as the text; absent if the text does not state them.
///
/// A message prints two decimals of its unit, so a figure in GiB is accurate to 5.4 MB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Numbers {
    /// The failed request, as rounded by the allocator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tried: Option<ByteSize>,
    /// The total memory of the device or machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<ByteSize>,
    /// How much of the total was free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free: Option<ByteSize>,
    /// Memory held by tensors, private pools included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocated: Option<ByteSize>,
    /// Memory held by the allocator, allocated and unallocated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<ByteSize>,
    /// Memory that the allocator held and no tensor used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unallocated: Option<ByteSize>,
    /// Memory of the whole process; for a killed process, its resident memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub this_process: Option<ByteSize>,
    /// Memory of other processes on the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_processes: Option<ByteSize>,
    /// The limit in force: a fraction of the device, or the limit of a control group, a job or Ray's monitor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<ByteSize>,
    /// Memory in private pools, such as those of CUDA graphs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_pools: Option<ByteSize>,
}

impl Numbers {
    /// Fills absent numbers from `other`.
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
    /// The input's [`InputReport::name`].
    pub file: String,
    /// The line number, from 1; in a snapshot, the entry of the trace; in a Plimsoll record, the position of the
    /// verdict.
    pub line: u64,
    /// The byte offset of the line, from 0; always 0 in a snapshot or a record.
    pub offset: u64,
    /// The line without terminal codes; long lines are cut.
    pub text: String,
}

/// A text that looks like an event but is not one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dismissal {
    /// Why the text is not an event.
    pub reason: String,
    /// The line.
    pub evidence: Evidence,
}

/// The factors of the effective batch: training sees their product.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KnownBatch {
    /// Samples per forward pass on one device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro: Option<u64>,
    /// Forward passes per optimizer step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accumulation: Option<u64>,
    /// Number of data-parallel processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world: Option<u64>,
}

impl KnownBatch {
    /// The factors of `self`, and those of `other` where `self` has none.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            micro: self.micro.or(other.micro),
            accumulation: self.accumulation.or(other.accumulation),
            world: self.world.or(other.world),
        }
    }
}
