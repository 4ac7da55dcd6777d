//! [`Semantics`]: what the figures of a run mean, and the digest that two runs share when they mean the same.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use plimsoll_capture::compare::Comparison;
use plimsoll_capture::gpu::PlaceKind;
use plimsoll_capture::kernel::KernelIdentity;
use plimsoll_capture::timing::Protocol;
use plimsoll_capture::{Argument, Digest, Dtype};
use plimsoll_memory::bytes::ByteSize;

/// What a run measured, apart from how its memory was managed and where it ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "a record has one")]
pub enum Semantics {
    /// A kernel on the entries of a capture.
    Capture(CaptureSemantics),
    /// A test in a process of its own.
    Test(TestSemantics),
    /// A command and the processes below it.
    Command(CommandSemantics),
}

/// A test in a process of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestSemantics {
    /// The package that the test belongs to; absent where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// The test binary or module that holds the test; absent where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
    /// The name of the test as its runner prints it: `reader::tests::opens_in_constant_memory`.
    pub name: String,
}

/// A command and the processes below it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandSemantics {
    /// The name under which runs of the command are compared: given, or the program's file name.
    pub label: String,
    /// The program and its arguments.
    pub command: Vec<String>,
}

/// A kernel on the entries of a capture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaptureSemantics {
    /// The operator that was captured, such as `torch.nn.functional.embedding`.
    pub operator: String,
    /// The entries, in the order of the capture.
    pub entries: Vec<EntrySemantics>,
    /// The kernel that was launched.
    pub kernel: KernelIdentity,
    /// Where it was launched; absent where that is the CPU.
    #[serde(default, skip_serializing_if = "PlaceKind::is_cpu")]
    pub device: PlaceKind,
    /// Whether timed launches were replays of a CUDA graph of one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub graph: bool,
    /// The rule by which outputs were compared; absent for a run that only profiled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// The kernel whose outputs were expected; absent where those were that had been captured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<KernelIdentity>,
    /// The arguments that the kernel is meant to change in place; those of any other had to stay as they were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mutates: Vec<String>,
    /// How launches were timed; absent for a run that only validated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<Protocol>,
    /// How timed launches were audited; absent if they were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditSemantics>,
    /// How the timings of the entries became one figure; absent for a run that only validated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregation: Option<Aggregation>,
    /// The kernel that it was timed in turns with; absent of a kernel that was timed alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versus: Option<VersusSemantics>,
}

/// How timed launches were audited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditSemantics {
    /// Arguments that were declared to never change, and held what was captured in every launch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constant: Vec<String>,
    /// Whether the kernel ran without the rights of its user.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untrusted: bool,
}

/// A kernel that another was timed in turns with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VersusSemantics {
    /// The kernel.
    pub kernel: KernelIdentity,
    /// How often the two were measured side by side on each entry, each time by the whole protocol.
    pub pairs: NonZeroU32,
}

/// One entry of the capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EntrySemantics {
    /// The file name without its folder.
    pub name: String,
    /// The size of the file.
    pub bytes: ByteSize,
    /// `blake3:` and the hexadecimal digest of the entry.
    pub digest: String,
    /// What the digest was taken over. Digests that cover different bytes cannot be compared.
    pub covers: Digest,
    /// Every tensor among the arguments and in the output, in binding order.
    pub tensors: Vec<TensorSemantics>,
}

/// One tensor of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TensorSemantics {
    /// Where it stands: the parameter's name or `output`, and the path below it (`weight`, `output[1]`).
    pub path: String,
    /// The type of its elements.
    pub dtype: Dtype,
    /// The size of each dimension.
    pub shape: Vec<u64>,
    /// The step of each dimension, in elements.
    pub strides: Vec<u64>,
}

impl TensorSemantics {
    /// The tensors in `value`, which stands under the name `root`.
    pub fn of(root: &str, value: &Argument) -> Vec<Self> {
        let mut tensors = Vec::new();
        value.for_each_leaf(&mut root.to_owned(), &mut |path, leaf| {
            if let Argument::Tensor(tensor) = leaf {
                let layout = &tensor.layout;
                tensors.push(Self {
                    path: path.to_owned(),
                    dtype: layout.dtype,
                    shape: layout.shape.clone(),
                    strides: layout.strides.clone(),
                });
            }
        });
        tensors
    }
}

/// How the timings of the entries became the figures of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Aggregation {
    /// Statistics over the entries' mean time a launch, as KernelForge takes them.
    EntryMeans,
    /// Statistics over the entries' median time a launch.
    EntryMedians,
}

impl Aggregation {
    /// The aggregation of entries that were timed by `protocol`: means where it keeps only a mean, else medians.
    pub const fn of(protocol: Protocol) -> Self {
        match protocol {
            Protocol::KernelForge { .. } => Self::EntryMeans,
            Protocol::Samples { .. } | Protocol::Cold { .. } | Protocol::Until { .. } => Self::EntryMedians,
        }
    }
}

impl Semantics {
    /// `blake3:` and the hexadecimal BLAKE3 digest of the canonical JSON (RFC 8785) of these semantics.
    ///
    /// RFC 8785 writes every number as an IEEE double: sizes beyond 2^53 are rounded in the digest. The digests of the
    /// entries, which are texts, tell such sizes apart.
    pub fn digest(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        // Only a key that is no text or a number that is not finite could fail: tolerances are finite.
        serde_json_canonicalizer::to_writer(self, &mut hasher).expect("semantics have a canonical form");
        format!("blake3:{}", hasher.finalize().to_hex())
    }

    /// Those of a run on a capture.
    pub fn capture(&self) -> Option<&CaptureSemantics> {
        match self {
            Self::Capture(semantics) => Some(semantics),
            Self::Test(_) | Self::Command(_) => None,
        }
    }

    /// What was measured, in a word or two: the operator, the test, the label of the command.
    pub fn subject(&self) -> &str {
        match self {
            Self::Capture(capture) => &capture.operator,
            Self::Test(test) => &test.name,
            Self::Command(command) => &command.label,
        }
    }
}

impl CaptureSemantics {
    /// The bytes of all entries.
    pub fn bytes(&self) -> ByteSize {
        self.entries.iter().map(|entry| entry.bytes).sum()
    }
}
