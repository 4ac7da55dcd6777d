//! Records for tests: a small `check` of two embedding tables, as a user would get it; what failed, and what was timed in
//! turns with another, is made of it, and so are the records of commands and tests.

mod failing;
mod parts;
mod process;
mod versus;

use std::collections::BTreeMap;

use super::*;
use plimsoll_capture::batch::OverCap;
use plimsoll_capture::compare::{Blindness, Comparison, Elements, LeafOutcome, Mismatch, Range, Side};
use plimsoll_capture::gpu::PlaceKind;
use plimsoll_capture::kernel::KernelIdentity;
use plimsoll_capture::timing::{Protocol, Samples, Statistics};
use plimsoll_capture::{Digest, Dtype, TensorSpec};
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::ceiling::judge;
use plimsoll_memory::command::{EndCause, ProcessEnd};
use plimsoll_memory::meter::{
    CgroupLimits, CgroupVersion, Metric, PhaseReadings, ProcessCount, ReleaseProof, Source, SwapArea, SystemInfo,
};

pub(crate) use failing::failing;
pub(crate) use parts::{ranks, shards};
pub(crate) use plimsoll_memory::testing::assert_snapshot;
pub(crate) use process::{command, repeated, repeated_more, test};
pub(crate) use versus::versus;

/// The entries of [`record`].
const ENTRIES: usize = 4;

pub(crate) fn digest_of(text: &str) -> String {
    format!("blake3:{}", blake3::hash(text.as_bytes()).to_hex())
}

pub(crate) fn entry(index: usize) -> EntrySemantics {
    let (columns, vocabulary) = ([1120, 192][index % 2], 262_144);
    let tensor = |path: &str, dtype, shape: &[u64]| TensorSemantics {
        path: path.to_owned(),
        dtype,
        shape: shape.to_vec(),
        strides: plimsoll_capture::Layout::contiguous(dtype, shape).strides,
    };
    let name = format!("entry_{index:06}.pt");
    EntrySemantics {
        bytes: ByteSize::new(vocabulary * columns * 2 + 8_704),
        digest: digest_of(&name),
        name,
        covers: Digest::Skeleton,
        tensors: vec![
            tensor("input", Dtype::I64, &[1, 7]),
            tensor("weight", Dtype::BF16, &[vocabulary, columns]),
            tensor("output", Dtype::BF16, &[1, 7, columns]),
        ]
        .into(),
    }
}

pub(crate) fn semantics() -> Semantics {
    Semantics::Capture(CaptureSemantics {
        operator: "torch.nn.functional.embedding".to_owned(),
        entries: (0..ENTRIES).map(entry).collect(),
        kernel: KernelIdentity::new("builtin:embedding", None),
        comparison: Some(Comparison::exact()),
        reference: None,
        device: PlaceKind::Cpu,
        graph: false,
        mutates: Vec::new(),
        timing: Some(Protocol::kernelforge()),
        audit: None,
        aggregation: Some(Aggregation::EntryMeans),
        versus: None,
    })
}

/// The semantics of a record of a capture, to change them.
pub(crate) fn capture(record: &mut Record) -> &mut CaptureSemantics {
    match &mut record.semantics {
        Semantics::Capture(semantics) => semantics,
        other => panic!("{other:?} are of no capture"),
    }
}

/// The policy of a record of a capture, to change it.
pub(crate) fn capture_policy(record: &mut Record) -> &mut CapturePolicy {
    match &mut record.policy {
        Policy::Capture(policy) => policy,
        other => panic!("{other:?} is of no capture"),
    }
}

pub(crate) fn policy() -> Policy {
    Policy::Capture(CapturePolicy {
        source: CaptureSource { kind: SourceKind::Folder, path: "captures/gemma4-e2b-gb10".to_owned(), verify: None },
        batching: Some(Batching {
            batch_bytes: Some(ByteSize::gib(1)),
            over_cap: OverCap::Alone,
            batches: vec![
                Batch { first: 0, count: 2, bytes: ByteSize::mib(657), workspace: None, over_cap: false },
                Batch { first: 2, count: 2, bytes: ByteSize::mib(657), workspace: None, over_cap: false },
            ],
        }),
        recycling: Recycling { recycle_after: Some(ByteSize::gib(4)), recycle_rss: None },
        cache_release: CacheRelease::BetweenBatches,
        threads: 2,
        timeout_ns: Some(60_000_000_000),
        isolation: None,
        min_speedup: None,
        sample_interval_ns: 10_000_000,
        digest: Digest::Skeleton,
    })
}

fn environment() -> Environment {
    let cgroup = CgroupLimits {
        version: CgroupVersion::V2,
        memory: Some(ByteSize::gib(32)),
        memory_high: None,
        swap: Some(ByteSize::ZERO),
    };
    let system = SystemInfo {
        kernel: "Linux 6.8.0".to_owned(),
        architecture: "x86_64".to_owned(),
        cpu: Some("AMD EPYC 9354 32-Core Processor".to_owned()),
        cpus: Some(8),
        page: ByteSize::new(4096),
        memory: ByteSize::gib(64),
        swap: Some(ByteSize::gib(8)),
        swap_areas: vec![SwapArea { kind: "file".to_owned(), size: ByteSize::gib(8) }],
        transparent_huge_pages: Some("madvise".to_owned()),
        swappiness: Some(60),
        overcommit: Some(0),
        cgroup: Some(cgroup),
    };
    Environment {
        system: Some(system),
        versions: BTreeMap::from([("torch".to_owned(), "2.11.0".to_owned())]),
        ..Environment::default()
    }
}

fn side(min: f64, max: f64) -> Side {
    Side { nan: 0, inf: 0, range: Some(Range { min, max }) }
}

fn matching(index: usize) -> LeafOutcome {
    let shape = entry(index).tensors[2].shape.clone();
    LeafOutcome {
        path: String::new(),
        passed: true,
        problem: None,
        tolerances: None,
        elements: Some(Elements {
            count: shape.iter().product(),
            mismatches: 0,
            first_mismatch: None,
            max_abs_error: Some(0.0),
            max_rel_error: Some(0.0),
            expected: side(-3.25, 3.5),
            actual: side(-3.25, 3.5),
        }),
        expected: Some(TensorSpec { dtype: Dtype::BF16, shape }),
    }
}

/// An output of which 12 elements do not match.
pub(crate) fn mismatching(index: usize) -> LeafOutcome {
    let mut leaf = matching(index);
    leaf.passed = false;
    let elements = leaf.elements.as_mut().expect("matching leaves have figures");
    elements.mismatches = 12;
    elements.first_mismatch =
        Some(Mismatch { index: vec![0, 3, 17], expected: "0.5".to_owned(), actual: "nan".to_owned() });
    elements.max_abs_error = Some(1.0);
    elements.max_rel_error = Some(0.25);
    elements.actual.nan = 1;
    leaf
}

fn mean(ns: f64) -> Statistics {
    Statistics { count: 1, median_ns: ns, mean_ns: ns, std_ns: None, min_ns: ns, max_ns: ns, p95_ns: ns }
}

fn result(index: usize) -> EntryResult {
    let ns = [1_234.5, 567.25][index % 2] + index as f64;
    let blindness =
        Blindness { zeros: false, nan: false, previous: (index > 0).then_some(false), ..Blindness::default() };
    EntryResult {
        index,
        name: entry(index).name,
        validation: Some(Validation {
            worker: Some(1),
            launch_ns: Some(48_200 + index as u64),
            touched: Some(ByteSize::new(65_536)),
            ..Validation::compared(vec![matching(index)], Some(blindness))
        }),
        profile: Some(Profile::timed(
            mean(ns),
            Samples { launches_per_sample: 100, ..Samples::each(vec![ns]) },
            index / 2,
        )),
    }
}

/// `others`, then the verdicts on `ceilings`.
fn verdicts<const N: usize>(others: [Verdict; N], phases: &[PhaseReadings], ceilings: &str) -> Vec<Verdict> {
    let ceilings = judge(phases, &ceilings.parse().expect("these are ceilings"));
    others.into_iter().chain(ceilings.into_iter().map(Verdict::from)).collect()
}

/// A `check` in which everything held.
pub(crate) fn record() -> Record {
    let semantics = semantics();
    let phases = plimsoll_memory::testing::phases();
    Record {
        diagnosis: None,
        schema: SCHEMA.to_owned(),
        plimsoll: "0.1.0".to_owned(),
        command: ["plimsoll", "check", "captures/gemma4-e2b-gb10", "--kernel", "builtin:embedding"]
            .map(str::to_owned)
            .to_vec(),
        state: RunState::Complete,
        started: "2026-03-02T09:30:00.000Z".to_owned(),
        wall_ns: 731_000_000,
        semantics_digest: semantics.digest(),
        shard: None,
        rank: None,
        semantics,
        policy: policy(),
        environment: environment(),
        runs: Vec::new(),
        parts: Vec::new(),
        releases: vec![Release {
            worker: 1,
            pid: 4242,
            reason: ReleaseReason::BeforeProfiling,
            proof: ReleaseProof {
                gone: true,
                recovered: Some(true),
                tolerance: ByteSize::mib(64),
                waited_ns: 3_400_000,
                available_before: Some(ByteSize::gib(58)),
                available_at_end: Some(ByteSize::gib(57)),
                available_after: Some(ByteSize::gib(58)),
                worker_peak_rss: Some(ByteSize::mib(48)),
                worker_rss_at_end: Some(ByteSize::mib(40)),
            },
        }],
        results: Results {
            versus: None,
            entries: (0..ENTRIES).map(result).collect(),
            timing: Some(Statistics {
                count: 4,
                median_ns: 902.375,
                mean_ns: 902.375,
                std_ns: Some(385.5),
                min_ns: 568.25,
                max_ns: 1_236.5,
                p95_ns: 1_236.2,
            }),
        },
        verdicts: verdicts(
            [
                Verdict::new("validation", VerdictStatus::Pass, "4 of 4 entries match"),
                Verdict::new("profile", VerdictStatus::Pass, "4 of 4 entries timed"),
            ],
            &phases,
            "peak_rss = 1 GiB",
        ),
        phases,
        end: None,
        exit_code: 0,
    }
}
