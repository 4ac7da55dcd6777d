//! A record as a terminal document.

use std::fmt::Write;
use std::path::Path;

use anstyle::Style;

use super::entries::EntryTable;
use super::memory::memory;
use super::problems::problems;
use super::style::Screen;
use super::text::{clean, counted, cut, duration, labelled, styled, width};
use crate::bytes::ByteSize;
use crate::capture::Digest;
use crate::capture::batch::OverCap;
use crate::record::{
    Batching, Environment, Record, Release, ReleaseReason, RunState, Semantics, SourceKind, VerdictStatus,
};
use crate::timing::Protocol;

/// The columns of a label at the start of a line.
const LABEL: usize = 12;

/// The document of `record`, which was written to `path` where there is one.
///
/// What was run, a row an entry, the failures once more with their causes, memory by phase, the proofs that memory came
/// back, the batches, the verdicts, and a closing line that says what the exit code means.
pub fn record(record: &Record, path: Option<&Path>, screen: &Screen) -> String {
    let mut text = header(record, screen);
    let table = EntryTable::new(&record.semantics, screen);
    text.push('\n');
    text.push_str(&table.header());
    for result in &record.results.entries {
        text.push_str(&table.row(&record.semantics, result));
    }
    text.push_str(&timing(record, screen));
    text.push_str(&problems(&record.results, screen));
    if !record.phases.is_empty() {
        text.push('\n');
        text.push_str(&memory(&record.phases, screen));
    }
    text.push_str(&policy(record, screen));
    text.push('\n');
    for verdict in &record.verdicts {
        let (mark, style) = mark(verdict.status, screen);
        text.push_str(&labelled(&format!("{mark} {}", clean(&verdict.subject)), style, &verdict.message, 24, screen));
    }
    text.push_str(&closing(record, path, screen));
    text
}

fn header(record: &Record, screen: &Screen) -> String {
    let Record { semantics, policy, environment, .. } = record;
    let mut text = String::new();
    let title = format!("plimsoll {}", clean(record.command.get(1).map_or("", String::as_str)));
    let _ = writeln!(
        text,
        " {}  {}",
        styled(title.trim_end(), screen.palette.heading),
        cut(&clean(&semantics.operator), screen.width().saturating_sub(width(&title) + 3))
    );
    let source = match policy.source.kind {
        SourceKind::Folder => "folder",
        SourceKind::Store => "store",
    };
    let entries = counted(semantics.entries.len(), "entry", "entries");
    let capture = format!("{} ({source}): {entries}, {}", policy.source.path, semantics.bytes());
    let mut line = |label: &str, value: &str| text.push_str(&labelled(label, screen.palette.dim, value, LABEL, screen));
    line("capture", &capture);
    line("kernel", &kernel(semantics));
    if let Some(comparison) = &semantics.comparison {
        line("comparison", &comparison.to_string());
    }
    if let Some(protocol) = semantics.timing {
        line("timing", &protocol_words(protocol));
    }
    line("semantics", &semantics_words(record));
    line("machine", &machine(environment));
    text
}

fn kernel(semantics: &Semantics) -> String {
    let kernel = &semantics.kernel;
    match &kernel.digest {
        Some(digest) => format!("{} ({})", kernel.name, short(digest)),
        None => kernel.name.clone(),
    }
}

/// A digest's first 12 hexadecimal digits, under the name of its function where it has one.
pub(super) fn short(digest: &str) -> String {
    let (function, hex) = digest.split_once(':').unwrap_or(("blake3", digest));
    format!("{}:{}", clean(function), clean(&hex.chars().take(12).collect::<String>()))
}

fn protocol_words(protocol: Protocol) -> String {
    let (warmup, launches) = (protocol.warmup(), protocol.launches());
    match protocol {
        Protocol::KernelForge { .. } => format!("kernelforge: {warmup} warm-up launches, then the mean of {launches}"),
        Protocol::Samples { .. } => format!("samples: {warmup} warm-up launches, then {launches} timed one by one"),
    }
}

fn semantics_words(record: &Record) -> String {
    let full = record.semantics.entries.iter().filter(|entry| entry.covers == Digest::Full).count();
    let covers = match full {
        0 => "storages by their CRC-32",
        full if full == record.semantics.entries.len() => "every byte",
        _ => "storages by their CRC-32, every byte where there is none",
    };
    format!("{}, over {covers}", short(&record.semantics_digest))
}

fn machine(environment: &Environment) -> String {
    let mut parts = Vec::new();
    if let Some(system) = &environment.system {
        let cpu = system.cpu.as_ref().unwrap_or(&system.architecture);
        parts.push(system.cpus.map_or(cpu.clone(), |count| format!("{cpu} x {count}")));
        parts.push(format!("{} RAM", system.memory));
        let limit = system.cgroup.and_then(|cgroup| cgroup.memory);
        parts.extend(limit.map(|limit| format!("{limit} in its cgroup")));
        parts.push(system.kernel.clone());
    }
    parts.extend(environment.gpus.iter().map(|gpu| gpu.name.clone()));
    parts.extend(environment.versions.iter().map(|(name, version)| format!("{name} {version}")));
    if parts.is_empty() { "unknown".to_owned() } else { parts.join(", ") }
}

fn timing(record: &Record, screen: &Screen) -> String {
    let Some(all) = record.results.timing else { return String::new() };
    let entries = counted(all.count as usize, "entry", "entries");
    let std = all.std_ns.map_or(String::new(), |std| format!(", std {}", duration(std)));
    let value = format!(
        "median {}, mean {}{std}, min {}, max {} over {entries}",
        duration(all.median_ns),
        duration(all.mean_ns),
        duration(all.min_ns),
        duration(all.max_ns),
    );
    labelled("per launch", screen.palette.dim, &value, LABEL, screen)
}

fn policy(record: &Record, screen: &Screen) -> String {
    let mut text = String::new();
    for release in &record.releases {
        let (mark, style) = match (release.proof.gone, release.proof.recovered) {
            (true, Some(true)) => ("✓ release", screen.palette.good),
            (true, _) => ("? release", screen.palette.warn),
            (false, _) => ("✗ release", screen.palette.bad),
        };
        text.push_str(&labelled(mark, style, &release_words(release), LABEL, screen));
    }
    if let Some(batching) = &record.policy.batching {
        text.push_str(&labelled("batches", screen.palette.dim, &batching_words(batching), LABEL, screen));
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

fn release_words(release: &Release) -> String {
    let reason = match release.reason {
        ReleaseReason::RecycleAfter => "recycled after its share of bytes",
        ReleaseReason::RssMark => "recycled at the RSS mark",
        ReleaseReason::BeforeProfiling => "ended before profiling",
        ReleaseReason::Failure => "replaced after a failure",
        ReleaseReason::Finished => "ended with the run",
        ReleaseReason::Interrupted => "ended by the interruption",
    };
    let proof = &release.proof;
    let gone = if proof.gone { "gone" } else { "still there" };
    let mut words = format!("worker {} {reason}: {gone} after {}", release.worker, duration(proof.waited_ns as f64));
    if let Some(rss) = proof.worker_rss_at_end {
        let _ = write!(words, ", {rss} RSS given back");
    }
    if let (Some(at_end), Some(after)) = (proof.available_at_end, proof.available_after) {
        let _ = write!(words, ", available {at_end} → {after}");
    }
    match proof.recovered {
        Some(true) => {}
        Some(false) => words.push_str(", not recovered"),
        None => words.push_str(", recovery not measurable"),
    }
    words
}

fn batching_words(batching: &Batching) -> String {
    let batches = counted(batching.batches.len(), "batch", "batches");
    let largest = batching.batches.iter().map(|batch| batch.bytes).max().unwrap_or(ByteSize::ZERO);
    let mut words = match batching.cap {
        Some(cap) => format!("{batches} of at most {cap}, the largest {largest}"),
        None => format!("{batches} without a cap, the largest {largest}"),
    };
    let over = batching.batches.iter().filter(|batch| batch.over_cap).count();
    if over > 0 && batching.over_cap == OverCap::Alone {
        let _ = write!(words, "; {} over the cap, alone", counted(over, "entry", "entries"));
    }
    words
}

fn mark(status: VerdictStatus, screen: &Screen) -> (&'static str, Style) {
    match status {
        VerdictStatus::Pass => ("✓", screen.palette.good),
        VerdictStatus::Fail => ("✗", screen.palette.bad),
        VerdictStatus::NotMeasurable | VerdictStatus::Inconclusive => ("?", screen.palette.warn),
    }
}

fn closing(record: &Record, path: Option<&Path>, screen: &Screen) -> String {
    let palette = &screen.palette;
    let (word, meaning, style) = match record.exit_code {
        0 => ("HOLDS", "every verdict passed", palette.good),
        1 => ("FAILED", "a ceiling, a comparison or a gate failed", palette.bad),
        3 => ("NOT JUDGED", "a figure was not measurable or a verdict is inconclusive", palette.warn),
        _ => ("ERROR", "bad usage or unreadable input", palette.bad),
    };
    let state = match record.state {
        RunState::Complete => "",
        RunState::Interrupted => ", interrupted",
        RunState::Failed => ", cut short",
    };
    let took = duration(record.wall_ns as f64);
    let meaning = format!("{meaning} (exit {}{state}, {took})", record.exit_code);
    let mut text = format!("\n{}", labelled(word, style, &meaning, width(word) + 2, screen));
    if let Some(path) = path {
        // A path is not cut: it is there to be copied.
        let _ = writeln!(text, " {}", styled(&clean(&format!("record in {}", path.display())), palette.dim));
    }
    text
}
