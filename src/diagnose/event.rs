//! An [`Incident`] as an [`Event`]: verdict, explanation, advice.

use super::advice::{Known, advice};
use super::decide::{decide, identify};
use super::findings::{Event, KnownBatch};
use super::incident::{Class, Incident};
use super::sighting::Work;
use super::verdict::{Kind, Verdict};
use crate::estimate::Ladder;
use plimsoll_memory::bytes::{ByteSize, GIB};

/// A larger host request is taken to exceed the machine if the text does not state the machine's memory.
const BEYOND_MOST_MACHINES: u64 = 256 * GIB;

/// The event that describes `incident`.
pub(super) fn event(incident: Incident, batch: Option<&KnownBatch>, ladder: Option<&Ladder>) -> Event {
    let Incident { class, sighting, occurrences, .. } = incident;
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
            identify(&mut numbers, &sighting.processes);
            let mut decision = decide(&numbers);
            if sighting.work == Work::Serving && numbers.tried.is_none() {
                decision.explanation =
                    "The memory left on the device after weights and other data is too small for the server's KV \
                     cache."
                        .to_owned();
            }
            (Kind::VramOom, decision.verdict, decision.explanation)
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
    };
    let mut also = sighting.also;
    let needs_more = matches!(verdict, Verdict::Capacity | Verdict::SingleHugeRequest | Verdict::LibraryAllocFail);
    let elsewhere = also.contains(&Verdict::Eval) || also.contains(&Verdict::OptimizerStep);
    if sighting.step == Some(1) && needs_more && !elsewhere && sighting.work != Work::Inference {
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
    event.advice = advice(&event, Known { work: sighting.work, batch, ladder, tallest: None });
    event.explanation.push_str(&aside(&event, sighting.step));
    event
}

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
fn aside(event: &Event, step: Option<u64>) -> String {
    let mut text = String::new();
    for also in &event.also {
        text.push_str(match also {
            Verdict::FirstBackward => {
                " It happened in a backward pass, when gradients are added to the stored activations."
            }
            Verdict::OptimizerStep => {
                " It happened in the optimizer's step, where Adam allocates its moments the first time."
            }
            Verdict::OptimizerState => {
                " It happened after the first step, in which Adam allocates the optimizer's state."
            }
            Verdict::Eval => " It happened in an evaluation.",
            Verdict::EvalAccumulation => " Its predictions were being concatenated: they accumulate on the device.",
            Verdict::LongestBatch => " It happened late: most likely at the longest input so far.",
            Verdict::DataloaderWorkerKill => " The victim was a DataLoader worker.",
            _ => "",
        });
    }
    if let Some(step) = step.filter(|_| event.kind == Kind::VramOom) {
        text.push_str(&match step {
            0 => " No step was complete.".to_owned(),
            1 => String::new(),
            step => format!(" The run had reached step {step}."),
        });
    }
    text
}
