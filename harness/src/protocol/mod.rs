//! The worker protocol, version 2: one JSON object per line over a socket that the supervisor passes in.
//!
//! The built-in worker and `harness/python/plimsoll_worker.py` share one schema. Tensors are never sent: inputs are
//! paths and offsets of storages, and outputs are in shared memory that the worker grows. An exchange is `hello`, then
//! any number of `launch`, `profile` (with a `next` after each timed call) and `release`, then `bye`.

mod believed;
mod inbox;
mod reason;

use std::path::PathBuf;

use plimsoll::capture::Argument;
use plimsoll::gpu::DeviceUse;
use plimsoll::kernel::{CapturedOutput, KernelSpec};
use plimsoll::run::Output;
use plimsoll::timing::{Protocol, Samples};
use serde::{Deserialize, Serialize};

pub use believed::{check_names, check_samples, monotonic_ns};
pub use inbox::Inbox;
pub use reason::{Reason, Unavailable};

/// The version that both sides must speak.
pub const VERSION: u32 = 2;
/// Names the descriptor of the socket in a worker's environment.
pub const CHANNEL: &str = "PLIMSOLL_CHANNEL";
/// Names the descriptor of the shared memory for outputs in a worker's environment.
pub const OUTPUTS: &str = "PLIMSOLL_OUTPUTS";
/// Names the descriptor of the shared memory for values in a worker's environment.
pub const VALUES: &str = "PLIMSOLL_VALUES";
/// Names the descriptor of the socket in a worker's environment over which it asks for the values of its next launch.
pub const TURNS: &str = "PLIMSOLL_TURNS";

/// A storage, as a range of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StorageRange {
    /// The file, absolute.
    pub path: PathBuf,
    /// The offset of the storage.
    pub offset: u64,
    /// The storage's length.
    pub bytes: u64,
}

/// One bound call: positional arguments, parallel to the parameters' names, over storages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallMessage {
    /// The parameters' names.
    pub params: Vec<String>,
    /// The arguments.
    pub args: Vec<Argument>,
    /// The storages that the arguments' tensors view.
    pub storages: Vec<StorageRange>,
    /// The tensors that the captured call returned, for kernels that are given their outputs.
    pub outputs: Vec<CapturedOutput>,
}

/// Where bytes are put into an argument: the storage, the offset in it, and the number of bytes.
pub type ByteRange = (usize, u64, u64);

/// A message of the supervisor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Request {
    /// The first message: load this kernel.
    Hello {
        /// [`VERSION`].
        protocol: u32,
        /// The kernel to load.
        kernel: KernelSpec,
        /// The number of the GPU to launch on; absent for the CPU.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        device: Option<u32>,
        /// Whether the device's memory is held to a ceiling, so that its context should take little of it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        small_context: bool,
    },
    /// Launch the kernel once and leave its outputs in the shared memory.
    Launch {
        /// Names this request in the answer.
        id: u64,
        /// The call.
        call: CallMessage,
    },
    /// Keep these calls resident together and time each separately.
    Profile {
        /// Names this request in the answers.
        id: u64,
        /// The batch.
        calls: Vec<CallMessage>,
        /// How each call is timed.
        protocol: Protocol,
        /// Whether replays of a CUDA graph of one launch are timed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        graph: bool,
    },
    /// The outputs of the last timed call are judged: go on.
    Next,
    /// Keep this call resident: regions of launches of it follow.
    Audit {
        /// Names this request in the answer.
        id: u64,
        /// The call.
        call: CallMessage,
    },
    /// Launch the call of the audit this many times, each time on other values, and time each launch.
    Region {
        /// Names this request in the answer.
        id: u64,
        /// For each launch, the values to put into the arguments before it. The worker asks for them by a byte over the
        /// socket for turns; when a byte comes back, those of this launch are in the shared memory for values, one after
        /// the other.
        launches: Vec<Vec<ByteRange>>,
        /// Whether only some outputs are kept: the worker then asks for each by another byte, after its launch has
        /// returned, and keeps it if the byte that comes back is not 0. All are kept if not.
        asks: bool,
        /// The parts of arguments whose contents are kept after the outputs: the kernel may change them.
        contents: Vec<ByteRange>,
        /// The fill of the outputs' memory before each launch, if the kernel is given it.
        fill: u8,
    },
    /// Restore the captured values, and name the arguments that the kernel has changed.
    Settle {
        /// Names this request in the answer.
        id: u64,
    },
    /// Before any kernel is loaded: a region of launches that do nothing, in turns as well. As many bytes are kept of each launch as are
    /// put in before it.
    Idle {
        /// Names this request in the answer.
        id: u64,
        /// For each launch, the values to put in before it.
        launches: Vec<Vec<ByteRange>>,
        /// How many outputs each launch returns. A worker whose outputs lie in one piece of memory may return one.
        outputs: usize,
        /// The number of the GPU that launches are timed on, as in `hello`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        device: Option<u32>,
        /// As in `hello`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        small_context: bool,
    },
    /// Drop every mapped input, output and cache.
    #[serde(rename = "release")]
    DropCaches,
    /// End.
    Bye,
}

/// The result of one launch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The time of the launch, as the worker saw it.
    pub elapsed_ns: u64,
    /// The flattened outputs; tensors are in the shared memory.
    pub outputs: Vec<Output>,
    /// The arguments whose bytes the kernel changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mutated: Vec<String>,
    /// The device memory that the launch took; absent on the CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceUse>,
    /// Further files of the kernel, found by this launch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<PathBuf>,
}

impl Outcome {
    /// Adds arguments that the kernel changed in other launches, each once.
    pub fn add_mutated(&mut self, names: Vec<String>) {
        self.mutated.extend(names);
        self.mutated.sort_unstable();
        self.mutated.dedup();
    }
}

/// A message of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Reply {
    /// The kernel is loaded.
    Hello {
        /// [`VERSION`].
        protocol: u32,
        /// `builtin`, `torch` or `python`.
        worker: String,
        /// Its process id.
        pid: u32,
        /// The software that the kernel runs on.
        #[serde(default)]
        versions: std::collections::BTreeMap<String, String>,
        /// Files of the kernel beside its own, as far as loading has shown.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        sources: Vec<PathBuf>,
    },
    /// A launch is done.
    Launched {
        /// Of the request.
        id: u64,
        /// The result.
        #[serde(flatten)]
        outcome: Outcome,
    },
    /// A call of a batch is timed.
    Timed {
        /// Of the request.
        id: u64,
        /// The index of the call in the batch.
        index: usize,
        /// The measurements.
        #[serde(flatten)]
        samples: Samples,
        /// One more launch, on arguments and outputs at other addresses. The worker waits for `next` before going on.
        again: Outcome,
    },
    /// A batch is done.
    Profiled {
        /// Of the request.
        id: u64,
    },
    /// The call of an audit is resident.
    Ready {
        /// Of the request.
        id: u64,
    },
    /// A region is over.
    Region {
        /// Of the request.
        id: u64,
        /// When each launch began, by [`monotonic_ns`]; empty for a device.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        starts_ns: Vec<u64>,
        /// The time of each launch, as the worker saw it.
        durations_ns: Vec<u64>,
        /// The kept outputs.
        outputs: Vec<Vec<Output>>,
    },
    /// The captured values are restored.
    Settled {
        /// Of the request.
        id: u64,
        /// The arguments whose bytes the kernel changed.
        mutated: Vec<String>,
    },
    /// Everything was dropped.
    #[serde(rename = "released")]
    CachesDropped,
    /// The worker waits for another process that builds the kernel; the answer comes later.
    Waits,
    /// Something failed; without an id it concerns the worker as a whole.
    Error {
        /// Of the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<u64>,
        /// The index of the call in the batch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        index: Option<usize>,
        /// The kind of failure.
        kind: Reason,
        /// The message, on one line.
        message: String,
        /// A traceback, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
}

#[cfg(test)]
mod tests {
    use plimsoll::record::FailureKind;

    use super::*;

    #[test]
    fn messages_are_written_as_the_protocol_says() {
        let kernel = "builtin:embedding".parse().unwrap();
        let hello = Request::Hello { protocol: VERSION, kernel, device: None, small_context: false };
        let text = r#"{"type":"hello","protocol":2,"kernel":{"builtin":"embedding"}}"#;
        assert_eq!(serde_json::to_string(&hello).unwrap(), text);
        assert_eq!(serde_json::to_string(&Request::DropCaches).unwrap(), r#"{"type":"release"}"#);
        assert_eq!(serde_json::to_string(&Reply::CachesDropped).unwrap(), r#"{"type":"released"}"#);
        let text = r#"{"type":"error","id":7,"index":null,"kind":"host-oom","message":"m","detail":null}"#;
        assert!(matches!(
            serde_json::from_str(text).unwrap(),
            Reply::Error { id: Some(7), index: None, kind: Reason::Failure(FailureKind::HostOom), .. }
        ));
    }
}
