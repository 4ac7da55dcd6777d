//! [`Sighting`]: one line, or one message of several lines, about a memory event.

use super::findings::{Evidence, Numbers};
use super::optimizer::Optimizer;
use super::progress::Progress;
use super::verdict::Verdict;
use super::window::Line;

/// What the text shows of the lengths of inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Lengths {
    /// Nothing: they may vary.
    #[default]
    Unknown,
    /// The last input is the longest so far.
    Longest,
    /// All inputs have one length, or an earlier one was longer.
    Ruled,
}

/// What a sighting reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// A device's allocator refused a request.
    Device,
    /// A library or driver refused a request, without the allocator's numbers.
    Library,
    /// An allocation on the host was refused.
    HostAlloc,
    /// The kernel began to look for a process to kill: `invoked oom-killer`.
    KernelBegan,
    /// The limit and usage of the control group in the kernel's report.
    KernelUsage,
    /// The kernel's summary line; whether a control group's limit was the cause.
    KernelChose { group: bool },
    /// The kernel killed a process; whether a control group's limit was the cause, if the line shows it.
    KernelKilled { group: Option<bool> },
    /// A manager reports that the limit of a control group or job was the cause.
    Limit,
    /// A service of the machine reports that the machine's memory was the cause.
    Machine,
    /// Ray's monitor killed a worker.
    Ray,
    /// Shared memory is full.
    SharedMemory,
    /// A DataLoader's worker was killed with SIGKILL.
    LoaderKilled,
    /// A process was killed with SIGKILL.
    Killed,
    /// A program made room on a nearly full device and goes on.
    Pressure,
    /// Something other than memory ended the processes: a time limit, a cancellation, an interrupt.
    OtherEnd(&'static str),
    /// The line looks like an event and is not one, for this reason.
    Dismissed(&'static str),
}

impl Cause {
    /// Whether the cause is an event, not a text that resembles one.
    pub(super) fn is_event(&self) -> bool {
        !matches!(self, Self::Dismissed(_) | Self::OtherEnd(_))
    }
}

/// What the process was doing, as far as the traceback shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Work {
    #[default]
    Unknown,
    Training,
    Inference,
    /// Reading a model into memory.
    Loading,
    /// Starting a server that found no room on the device for its cache.
    Serving,
}

/// One line, or one message of several lines.
#[derive(Clone, Debug)]
pub(super) struct Sighting {
    pub(super) cause: Cause,
    pub(super) backend: Option<String>,
    pub(super) numbers: Numbers,
    /// The processes on the device that the message lists, with the memory of each.
    pub(super) processes: Vec<(u64, u64)>,
    pub(super) rank: Option<u64>,
    pub(super) pid: Option<u64>,
    pub(super) job: Option<String>,
    pub(super) device: Option<u64>,
    pub(super) host: Option<String>,
    pub(super) victim: Option<String>,
    pub(super) also: Vec<Verdict>,
    pub(super) work: Work,
    /// The software that printed the message, if the wording shows it.
    pub(super) software: Option<&'static str>,
    /// The software that made the request: see [`software`](super::software).
    pub(super) asks: Option<String>,
    /// What the wording means, in one sentence.
    pub(super) meaning: Option<&'static str>,
    /// Whether the words are ordinary ones: next to a more specific event they add nothing.
    pub(super) weak: bool,
    /// The verdict on a device's failure that ordinary words give: such a text has no numbers to decide by.
    pub(super) stated: Option<Verdict>,
    /// Whether a request is larger than any memory, or than one allocation may be.
    pub(super) huge: bool,
    /// Whether the full resource is a pool or a share of the device given to the process.
    pub(super) capped: bool,
    /// How far the run had come, if a progress bar or a counter shows it.
    pub(super) progress: Progress,
    /// What the lines above show of the lengths of inputs.
    pub(super) lengths: Lengths,
    /// The optimizer whose step failed.
    pub(super) optimizer: Option<Optimizer>,
    pub(super) evidence: Vec<Evidence>,
}

/// A line of evidence is cut to this many characters.
const QUOTED: usize = 600;

impl Sighting {
    /// What `line` reports.
    pub(super) fn new(cause: Cause, line: &Line) -> Self {
        let origin = line.origin();
        Self {
            cause,
            backend: None,
            numbers: Numbers::default(),
            processes: Vec::new(),
            rank: origin.rank,
            pid: origin.pid,
            job: None,
            device: None,
            host: origin.host.clone(),
            victim: None,
            also: Vec::new(),
            work: Work::default(),
            software: None,
            asks: None,
            meaning: None,
            weak: false,
            stated: None,
            huge: false,
            capped: false,
            progress: Progress::default(),
            lengths: Lengths::default(),
            optimizer: None,
            evidence: vec![evidence(line)],
        }
    }

    pub(super) fn backend(mut self, backend: &str) -> Self {
        self.backend = Some(backend.to_ascii_lowercase());
        self
    }
}

/// `line` as evidence; the caller adds the file.
pub(super) fn evidence(line: &Line) -> Evidence {
    Evidence { file: String::new(), line: line.number, offset: line.offset, text: quoted(&line.text) }
}

/// `text` cut for quoting.
pub(super) fn quoted(text: &str) -> String {
    let text = text.trim();
    let mut quoted: String = text.chars().take(QUOTED).collect();
    if quoted.len() < text.len() {
        quoted.push('…');
    }
    quoted
}
