//! An [`Incident`] as an [`Event`]: verdict, explanation, advice.

use super::advice::{Known, advice};
use super::decide::{Decision, decide, identify};
use super::findings::{Event, KnownBatch, Numbers};
use super::incident::{Class, Incident};
use super::optimizer::{Optimizer, State};
use super::progress::Progress;
use super::sighting::{Lengths, Sighting, Work};
use super::verdict::{Kind, Verdict};
use crate::estimate::Ladder;
use plimsoll_memory::bytes::{ByteSize, GIB};
use plimsoll_memory::text::counted;

/// A larger host request is taken to exceed the machine if the text does not state the machine's memory.
const BEYOND_MOST_MACHINES: u64 = 256 * GIB;

/// The event that describes `incident`.
pub(super) fn event(incident: Incident, batch: Option<&KnownBatch>, ladder: Option<&Ladder>) -> Described {
    let Incident { class, sighting, occurrences, .. } = incident;
    let Progress { complete, reached, .. } = sighting.progress;
    let mut numbers = sighting.numbers;
    let (kind, verdict, explanation) = match class {
        Class::Device | Class::Library if sighting.huge => {
            (Kind::VramOom, Verdict::SingleHugeRequest, huge(numbers.tried, numbers.allowed))
        }
        Class::Library if sighting.capped => {
            let text = "A pool or a share of the device that the process was given is full; the device may have more.";
            (Kind::VramOom, Verdict::ProcessCap, text.to_owned())
        }
        Class::Device => {
            let (verdict, explanation) = match sighting.stated {
                Some(verdict) => (verdict, stated(verdict).to_owned()),
                None => on_a_device(&mut numbers, &sighting),
            };
            (Kind::VramOom, verdict, explanation)
        }
        Class::Library => (Kind::VramOom, Verdict::LibraryAllocFail, library(numbers.tried)),
        Class::HostAlloc => host_allocation(numbers.tried, sighting.huge),
        Class::Kernel { group: Some(true), .. } | Class::Limit => {
            (Kind::CgroupOom, Verdict::CgroupKill, limit(numbers.allowed, sighting.backend.as_deref()))
        }
        Class::Kernel { .. } => {
            let text = "The kernel's own report: the machine ran out of memory and a process was killed.";
            (Kind::HostOom, Verdict::HostKill, text.to_owned())
        }
        Class::Machine => {
            let text = "A service of the machine reports a kill for lack of memory.";
            (Kind::HostOom, Verdict::HostKill, text.to_owned())
        }
        Class::Ray => {
            let text =
                "Ray's memory monitor killed a worker because its node was above the threshold; the kernel did not.";
            (Kind::RayOom, Verdict::RayMemoryMonitor, text.to_owned())
        }
        Class::SharedMemory => {
            let text = "Shared memory (/dev/shm) is full: a worker could not pass on its batch. Main and device \
                memory are not the cause.";
            (Kind::Shm, Verdict::ShmExhausted, text.to_owned())
        }
        Class::LoaderKilled => {
            let text = "A DataLoader worker was killed with SIGKILL. The sender is usually the kernel, for lack of \
                host memory, but nothing here proves it.";
            (Kind::SigkillUnattributed, Verdict::DataloaderWorkerKill, text.to_owned())
        }
        Class::Killed => {
            let text = "SIGKILL, cause not shown: no line from the kernel, a control group, the batch system or Ray \
                says who sent it.";
            (Kind::SigkillUnattributed, Verdict::SigkillUnattributed, text.to_owned())
        }
        Class::Pressure => {
            let times = counted(occurrences, "time", "times");
            (Kind::Report, Verdict::NearCapacity, format!("Nothing failed: the log reports it {times}."))
        }
    };
    let mut also = sighting.also;
    let needs_more = matches!(verdict, Verdict::Capacity | Verdict::SingleHugeRequest | Verdict::LibraryAllocFail);
    let elsewhere = also.contains(&Verdict::Eval) || also.contains(&Verdict::OptimizerStep);
    // A library that simulates or draws takes no steps of an optimizer.
    let learns =
        !sighting.backend.as_deref().is_some_and(|backend| ["kokkos", "opencl", "vulkan", "metal"].contains(&backend));
    let trains = learns && !matches!(sighting.work, Work::Inference | Work::Loading | Work::Serving);
    // A step that allocates the state, or follows the one that did, fails for what the state adds.
    let allocates = also.contains(&Verdict::OptimizerStep)
        && (complete == Some(1) || sighting.optimizer.as_ref().is_some_and(|optimizer| optimizer.creates));
    if needs_more && trains && (complete == Some(1) && !elsewhere || allocates) {
        also.push(Verdict::OptimizerState);
    }
    let mut explanation: String = explanation;
    if let Some(meaning) = sighting.meaning.filter(|_| !matches!(class, Class::Kernel { .. })) {
        explanation = format!("{meaning} {explanation}");
    }
    let mut event = Event {
        kind,
        backend: sighting.backend,
        software: sighting.asks,
        verdict,
        also,
        numbers,
        evidence: sighting.evidence,
        occurrences,
        rank: sighting.rank,
        pid: sighting.pid,
        job: sighting.job,
        device: sighting.device,
        host: sighting.host,
        victim: sighting.victim,
        advice: Vec::new(),
        explanation,
    };
    let optimizer = sighting.optimizer.as_ref();
    event.advice = advice(&event, Known { work: sighting.work, batch, ladder, tallest: None, optimizer, complete });
    event.explanation.push_str(&aside(&event, &sighting.progress, optimizer, sighting.work));
    let may_be_longest = event.kind == Kind::VramOom
        && needs_more
        && !elsewhere
        && trains
        && reached.is_some_and(|step| step > FEW_STEPS)
        && sighting.lengths != Lengths::Ruled;
    name_what_grew(&mut event);
    Described { event, may_be_longest }
}

/// Makes the verdict what the process was doing. Predictions that pile up are more specific than that there was no room
/// for more, or that the last piece was large; without numbers, so is a part of the training step.
fn name_what_grew(event: &mut Event) {
    const PHASES: [Verdict; 3] = [Verdict::OptimizerState, Verdict::OptimizerStep, Verdict::FirstBackward];
    let bytes = |size: Option<ByteSize>| size.map(ByteSize::bytes);
    let (tried, capacity) = (bytes(event.numbers.tried), bytes(event.numbers.capacity));
    let full = matches!(event.verdict, Verdict::Capacity | Verdict::LibraryAllocFail);
    let piece = event.verdict == Verdict::SingleHugeRequest
        && tried.zip(capacity).is_some_and(|(tried, capacity)| tried <= capacity / 2);
    let place = |verdict: Verdict| event.also.iter().position(|also| *also == verdict);
    let piles = place(Verdict::EvalAccumulation).filter(|_| full || piece);
    let unsaid = full && event.numbers == Numbers::default();
    if let Some(at) = piles.or_else(|| PHASES.into_iter().filter(|_| unsaid).find_map(place)) {
        std::mem::swap(&mut event.verdict, &mut event.also[at]);
    }
}

/// An event, and what figures of the same text may add to it.
pub(super) struct Described {
    pub(super) event: Event,
    /// Whether a longer input explains it if memory did not grow until then.
    pub(super) may_be_longest: bool,
}

/// After this many steps at one level of memory, the next step differs by its input.
const FEW_STEPS: u64 = 10;

fn huge(tried: Option<ByteSize>, most: Option<ByteSize>) -> String {
    match (tried, most) {
        (Some(tried), Some(most)) => format!(
            "One request of {tried} is larger than the largest possible allocation, \
            {most}."
        ),
        (Some(tried), None) => format!("One request of {tried} is larger than the largest possible allocation."),
        (None, _) => "One request is larger than the memory of any device.".to_owned(),
    }
}

/// What the numbers of an allocator say.
fn on_a_device(numbers: &mut Numbers, sighting: &Sighting) -> (Verdict, String) {
    identify(numbers, &sighting.processes);
    let Decision { verdict, explanation } = decide(numbers);
    if sighting.work == Work::Serving && numbers.tried.is_none() {
        let text = "The memory left on the device after weights and other data is too small for the server's KV cache.";
        return (verdict, text.to_owned());
    }
    (verdict, explanation)
}

/// What ordinary words say of a device's failure.
fn stated(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Fragmentation => "The allocator held memory that no tensor used, in pieces that were too small.",
        Verdict::SingleHugeRequest => "One request was larger than what the device had left, or than all of it.",
        Verdict::OtherProcess => "Other processes held memory of the device.",
        Verdict::ProcessCap => "The process reached a limit below the memory of the device.",
        Verdict::PrivatePool => "Private pools (CUDA graphs) held memory that other work could not use.",
        Verdict::FirstBackward => {
            "Memory of the device ran out in a backward pass, when gradients are added to the stored activations."
        }
        Verdict::OptimizerStep => "Memory of the device ran out in the optimizer's step, which may allocate its state.",
        Verdict::Eval => "Memory of the device ran out in an evaluation.",
        Verdict::LongestBatch => "Memory of the device ran out at an input that was longer than those before it.",
        _ => "The device could not hold what the work needs.",
    }
}

fn library(tried: Option<ByteSize>) -> String {
    let what = tried.map_or_else(String::new, |tried| format!(" of {tried}"));
    format!("A library or the driver could not allocate{what} on the device, without the numbers of an allocator.")
}

fn host_allocation(tried: Option<ByteSize>, huge: bool) -> (Kind, Verdict, String) {
    match tried {
        None if huge => {
            let text = "One request on the host is larger than the memory of any machine. No device is involved.";
            (Kind::HostAllocFail, Verdict::HostSingleHugeRequest, text.to_owned())
        }
        Some(tried) if tried.bytes() >= BEYOND_MOST_MACHINES => {
            let text = format!(
                "One request of {tried} on the host is larger than the memory of a machine. No device \
                is involved."
            );
            (Kind::HostAllocFail, Verdict::HostSingleHugeRequest, text)
        }
        Some(tried) => {
            let text = format!("An allocation of {tried} on the host was refused. No device is involved.");
            (Kind::HostAllocFail, Verdict::HostAllocFail, text)
        }
        None => {
            let text = "An allocation on the host was refused; its size is not given. No device is involved.";
            (Kind::HostAllocFail, Verdict::HostAllocFail, text.to_owned())
        }
    }
}

fn limit(allowed: Option<ByteSize>, by: Option<&str>) -> String {
    let whose = match by {
        Some("slurm" | "lsf" | "pbs" | "batch") => "job",
        Some("kubernetes" | "docker" | "yarn") => "container",
        Some("dask") => "worker",
        _ => "control group",
    };
    let much = allowed.map_or_else(String::new, |allowed| format!(" of {allowed}"));
    format!(
        "The memory limit{much} of the {whose} was reached and a process in it was killed; the machine itself may \
         have had memory left."
    )
}

/// What the phase adds to the explanation.
fn aside(event: &Event, progress: &Progress, optimizer: Option<&Optimizer>, work: Work) -> String {
    let mut text = String::new();
    for also in &event.also {
        match also {
            Verdict::OptimizerStep => text.push_str(&in_the_step(progress, optimizer)),
            Verdict::OptimizerState if event.also.contains(&Verdict::OptimizerStep) => {}
            also => text.push_str(match also {
                Verdict::FirstBackward => {
                    " It happened in a backward pass, when gradients are added to the stored activations."
                }
                Verdict::OptimizerState => {
                    " It happened after the first step, in which an optimizer such as Adam allocates its state."
                }
                Verdict::Eval => " It happened in an evaluation.",
                Verdict::EvalAccumulation => " Its predictions were being concatenated: they accumulate on the device.",
                Verdict::LongestBatch => AT_THE_LONGEST,
                Verdict::DataloaderWorkerKill => " The victim was a DataLoader worker.",
                _ => "",
            }),
        }
    }
    if event.kind != Kind::VramOom {
        return text;
    }
    let Progress { complete, reached, epoch, named } = *progress;
    match (complete, reached, epoch) {
        (_, Some(step), Some(epoch)) => text.push_str(&format!(" The run had reached step {step} of epoch {epoch}.")),
        // A bar at 0 without a name may belong to anything.
        (Some(0), ..) if named || work == Work::Training => text.push_str(" No step was complete."),
        (_, Some(step @ 2..), None) => text.push_str(&format!(" The run had reached step {step}.")),
        _ => {}
    }
    text
}

/// What a late failure means if lengths may vary.
pub(super) const AT_THE_LONGEST: &str = " It happened late: most likely at the longest input so far.";

/// What a failure in the optimizer's step means, by the optimizer's name and by how far the run had come.
fn in_the_step(progress: &Progress, optimizer: Option<&Optimizer>) -> String {
    let name = optimizer.and_then(|optimizer| optimizer.name.as_deref());
    let keeps = optimizer.map_or("its state", Optimizer::keeps);
    let creates = optimizer.is_some_and(|optimizer| optimizer.creates);
    // The loss of a first step may have been printed before its optimizer ran.
    let several = progress.complete.is_some_and(|complete| complete > 1) || progress.epoch.is_some();
    let whose = name.map_or_else(|| "the optimizer's step".to_owned(), |name| format!("the step of {name}"));
    if several && !creates {
        let exist = if keeps == "its moments" { "exist" } else { "exists" };
        return format!(
            " It happened in {whose}; {keeps} {exist} since the first one, and what the step computes comes on top."
        );
    }
    match (name, optimizer.map(|optimizer| optimizer.state)) {
        // Plain SGD keeps nothing; its buffers exist if momentum is set.
        (Some(name), Some(State::Momentum)) if !creates && name == "SGD" => format!(" It happened in {whose}."),
        _ if creates => format!(" It happened in {whose}, which allocates {keeps}."),
        (Some(_), _) => format!(" It happened in {whose}, which allocates {keeps} the first time."),
        (None, _) => {
            format!(" It happened in {whose}, where an optimizer such as Adam allocates its moments the first time.")
        }
    }
}
