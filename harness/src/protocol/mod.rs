//! The worker protocol, version 2: one JSON object a line over a socket that the supervisor passes in.
//!
//! One schema serves the built-in worker and `harness/python/plimsoll_worker.py`. Tensors never travel in it: inputs
//! are paths and offsets of storages, outputs lie in a shared memory that the worker grows. The whole exchange is
//! `hello`, then any number of `launch`, `profile` (with a `next` after each call that was timed) and `release`, then `bye`.

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

pub use believed::{check_names, check_samples};
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

/// A storage, as a range of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StorageRange {
    /// The file, absolute.
    pub path: PathBuf,
    /// Where the storage begins.
    pub offset: u64,
    /// Its length.
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
    /// The tensors that the captured call gave, which tell a kernel that is given its outputs what they are.
    pub outputs: Vec<CapturedOutput>,
}

/// Where bytes are put into an argument: the storage, the place in it, how many.
pub type Place = (usize, u64, u64);

/// What the supervisor says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Request {
    /// The first message: load this kernel.
    Hello {
        /// [`VERSION`].
        protocol: u32,
        /// What to load.
        kernel: KernelSpec,
        /// The number of the GPU to launch it on; absent if that is the CPU.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        device: Option<u32>,
        /// Whether the device's memory is held to a ceiling, and its context is to take little of it.
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
    /// Keep these calls resident together and time each by itself.
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
    /// The outputs of the call that was timed last are judged: go on.
    Next,
    /// Keep this call resident: regions of launches of it follow.
    Audit {
        /// Names this request in the answer.
        id: u64,
        /// The call.
        call: CallMessage,
    },
    /// Launch so many times on the call of the audit, each time on other values, and time each launch.
    Region {
        /// Names this request in the answer.
        id: u64,
        /// For each launch, what is put into the arguments before it. The bytes lie in the shared memory for values, one
        /// after the other.
        launches: Vec<Vec<Place>>,
        /// The launches whose outputs are kept, in order.
        keep: Vec<usize>,
        /// What the memory of outputs is filled with before each launch, if the kernel is handed it.
        fill: u8,
    },
    /// Put back what was captured, and say what the kernel has changed.
    Settle {
        /// Names this request in the answer.
        id: u64,
    },
    /// Before any kernel is loaded: a region of launches that do nothing. As many bytes as are put in before a launch are
    /// kept of it.
    Idle {
        /// Names this request in the answer.
        id: u64,
        /// For each launch, what is put in before it.
        launches: Vec<Vec<Place>>,
    },
    /// Drop every mapped input, output and cache.
    #[serde(rename = "release")]
    DropCaches,
    /// End.
    Bye,
}

/// What one launch gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The time of the launch, as the worker saw it.
    pub elapsed_ns: u64,
    /// Its outputs, flattened; tensors lie in the shared memory.
    pub outputs: Vec<Output>,
    /// The arguments whose bytes the kernel changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mutated: Vec<String>,
    /// What it took of the device's memory; absent on the CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceUse>,
    /// More files that the kernel is made of, which this launch has shown.
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

/// What a worker says.
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
        /// What it runs on.
        #[serde(default)]
        versions: std::collections::BTreeMap<String, String>,
        /// The files that the kernel is made of beside its own, as far as loading it has shown.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        sources: Vec<PathBuf>,
    },
    /// A launch is done.
    Launched {
        /// Of the request.
        id: u64,
        /// What it gave.
        #[serde(flatten)]
        outcome: Outcome,
    },
    /// A call of a batch is timed.
    Timed {
        /// Of the request.
        id: u64,
        /// Of the call in the batch.
        index: usize,
        /// What was measured.
        #[serde(flatten)]
        samples: Samples,
        /// One more launch, on arguments and outputs that lie elsewhere. The worker waits for `next` before it goes on.
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
        /// The time of each launch, as the worker saw it.
        durations_ns: Vec<u64>,
        /// The outputs that were to be kept.
        outputs: Vec<Vec<Output>>,
    },
    /// What was captured is back.
    Settled {
        /// Of the request.
        id: u64,
        /// The arguments whose bytes the kernel changed.
        mutated: Vec<String>,
    },
    /// Everything was dropped.
    #[serde(rename = "released")]
    CachesDropped,
    /// Something failed; without an id it concerns the worker as a whole.
    Error {
        /// Of the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<u64>,
        /// Of the call in the batch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        index: Option<usize>,
        /// What kind of failure.
        kind: Reason,
        /// One line.
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
