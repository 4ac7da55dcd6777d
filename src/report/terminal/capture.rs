//! The parts of the document that only a run on a capture has: what was checked, one row per entry, proofs of released
//! memory, batches.

use std::fmt::Write;

use super::entries::EntryTable;
use super::problems::problems;
use super::versus::versus;
use super::worst::{ROWS, worst};
use crate::record::{
    Batching, CapturePolicy, CaptureSemantics, EntryResult, ProfileStatus, Record, Release, ReleaseReason, SourceKind,
    Validation,
};
use crate::report::kernels::{kernel, place};
use crate::report::summary::times_words;
use plimsoll_capture::Digest;
use plimsoll_capture::batch::OverCap;
use plimsoll_capture::timing::{Flush, MOST_LAUNCHES, Protocol, Stop};
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::text::Screen;
use plimsoll_memory::text::{LABEL, counted, cut, duration, labelled, styled};

/// The lines of the header: capture, kernel, comparison and timing.
pub(super) fn header(semantics: &CaptureSemantics, policy: Option<&CapturePolicy>, screen: &Screen) -> String {
    let mut text = String::new();
    let entries = counted(semantics.entries.len(), "entry", "entries");
    let source = policy.map_or(String::new(), |policy| {
        let kind = match policy.source.kind {
            SourceKind::Folder if policy.source.path.ends_with(".pt") => "file",
            SourceKind::Folder => "folder",
            SourceKind::Store => "store",
        };
        format!("{} ({kind}): ", policy.source.path)
    });
    let mut line = |label: &str, value: &str| text.push_str(&labelled(label, screen.palette.dim, value, LABEL, screen));
    line("capture", &format!("{source}{entries}, {}", semantics.bytes()));
    let kernel = |of| kernel(of, &str::to_owned);
    line("kernel", &(kernel(&semantics.kernel) + place(semantics)));
    if let Some(versus) = &semantics.versus {
        let pairs = counted(versus.pairs.get() as usize, "pair", "pairs");
        line("versus", &format!("{}, in turns, {pairs} an entry", kernel(&versus.kernel)));
    }
    if let Some(comparison) = &semantics.comparison {
        line("comparison", &comparison.to_string());
    }
    if let Some(reference) = &semantics.reference {
        line("reference", &format!("{}: its outputs are expected, not the captured ones", kernel(reference)));
    }
    if let Some(protocol) = semantics.timing {
        line("timing", &protocol_words(protocol));
    }
    text
}

/// A row an entry, their times as one, and the failures once more with their causes.
pub(super) fn results(semantics: &CaptureSemantics, record: &Record, screen: &Screen) -> String {
    let table = EntryTable::new(semantics, screen);
    let mut text = format!("\n{}", table.header());
    let results = &record.results.entries;
    let (mut rows, mut entries) = (results.reader(), semantics.entries.reader());
    for place in worst(results.iter().map(|result| badness(&result))) {
        if let Some(result) = rows.get(place) {
            text.push_str(&table.row(entries.get(place).map(|entry| entry.bytes), result));
        }
    }
    if let Some(more) = results.len().checked_sub(ROWS).filter(|more| *more > 0) {
        let line = format!("… and {more} faster ones that passed; the record has them all");
        text.push_str(&format!(" {}\n", styled(&cut(&line, screen.width() - 1), screen.palette.dim)));
    }
    text.push_str(&timing(record, screen));
    text.push_str(&problems(&record.results.entries, screen));
    text.push_str(&versus(semantics, record, screen));
    text
}

/// The entries that get a row, in the order of the capture: those that did not pass, then the slowest.
fn badness(result: &EntryResult) -> (bool, f64) {
    let validated = result.validation.as_ref().is_none_or(Validation::passed);
    let passed = validated && result.profile.as_ref().is_none_or(|profile| profile.status == ProfileStatus::Timed);
    let mean = result.profile.as_ref().and_then(|profile| profile.statistics).map(|statistics| statistics.mean_ns);
    (passed, mean.unwrap_or_default())
}

fn protocol_words(protocol: Protocol) -> String {
    let (warmup, launches) = (protocol.warmup(), protocol.launches());
    match protocol {
        Protocol::KernelForge { .. } => format!("kernelforge: {warmup} warm-up launches, then the mean of {launches}"),
        Protocol::Samples { .. } => format!("samples: {warmup} warm-up launches, then {launches} timed one by one"),
        Protocol::Cold { .. } => {
            format!("cold: {warmup} warm-up launches, then {launches} timed one by one, the cache emptied before each")
        }
        Protocol::Until { relative_error, time_ns, .. } => format!(
            "until: {warmup} warm-up launches, then {launches} or more timed one by one, until the standard error of their \
             mean is {relative_error} or they took {}",
            duration(time_ns as f64)
        ),
    }
}

/// What the digests of the entries cover.
pub(super) fn coverage(semantics: &CaptureSemantics) -> &'static str {
    match semantics.entries.iter().filter(|entry| entry.covers == Digest::Full).count() {
        0 => "storages by their CRC-32",
        full if full == semantics.entries.len() => "every byte",
        _ => "storages by their CRC-32, every byte without one",
    }
}

fn timing(record: &Record, screen: &Screen) -> String {
    let Some(all) = record.results.timing else { return String::new() };
    let (mut flush, mut stops) = (None, Vec::new());
    for entry in &record.results.entries {
        let Some(profile) = &entry.profile else { continue };
        // All entries of a run share one setting.
        flush = flush.or(profile.flush);
        stops.extend(profile.stop);
    }
    let mut text = labelled("per launch", screen.palette.dim, &times_words(&all), LABEL, screen);
    for (label, value) in [("flush", flush.map(flush_words).unwrap_or_default()), ("ended", stop_words(&stops))] {
        if !value.is_empty() {
            text.push_str(&labelled(label, screen.palette.dim, &value, LABEL, screen));
        }
    }
    text
}

/// What was written to empty the cache.
fn flush_words(flush: Flush) -> String {
    let cache = flush.cache.map_or("whose size is not known".to_owned(), |cache| format!("of {cache}"));
    format!("{} written before each launch, for a last-level cache {cache}", flush.written)
}

/// What ended the measurements; empty if the number of launches was fixed.
fn stop_words(stops: &[Stop]) -> String {
    let of = |stop, words: &str| {
        let entries = stops.iter().filter(|ended| **ended == stop).count();
        (entries > 0).then(|| format!("{} {words}", counted(entries, "entry", "entries")))
    };
    let parts = [
        of(Stop::RelativeError, "at the standard error"),
        of(Stop::Time, "at the time"),
        of(Stop::Launches, &format!("at {MOST_LAUNCHES} launches")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Writes the proofs of released memory, and the batches.
pub(super) fn policy(record: &Record, screen: &Screen) -> String {
    let mut text = String::new();
    // Releases of the same kind are listed once.
    let plain = |release: &&Release| release.reason == ReleaseReason::NextPair && release.proof.recovered == Some(true);
    for release in record.releases.iter().filter(|release| !plain(release)) {
        let (mark, style) = match (release.proof.gone, release.proof.recovered) {
            (true, Some(true)) => ("✓ release", screen.palette.good),
            (true, _) => ("? release", screen.palette.warn),
            (false, _) => ("✗ release", screen.palette.bad),
        };
        text.push_str(&labelled(mark, style, &release_words(release), LABEL, screen));
    }
    let others = record.releases.iter().filter(plain).count();
    if others > 0 {
        let words =
            format!("{} that ended with their pair released their memory", counted(others, "worker", "workers"));
        text.push_str(&labelled("✓ release", screen.palette.good, &words, LABEL, screen));
    }
    if let Some(batching) = record.policy.capture().and_then(|policy| policy.batching.as_ref()) {
        text.push_str(&labelled("batches", screen.palette.dim, &batching_words(batching), LABEL, screen));
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

fn release_words(release: &Release) -> String {
    let reason = match release.reason {
        ReleaseReason::RecycleAfter => "recycled after its quota of bytes",
        ReleaseReason::RecycleRss => "recycled at the RSS mark",
        ReleaseReason::BeforeProfiling => "ended before profiling",
        ReleaseReason::NextPair => "ended with its pair",
        ReleaseReason::Failure => "replaced after a failure",
        ReleaseReason::Killed => "killed by others between two launches",
        ReleaseReason::Finished => "ended with the run",
        ReleaseReason::Interrupted => "ended by the interruption",
    };
    let proof = &release.proof;
    let gone = if proof.gone { "gone" } else { "still there" };
    let mut words = format!("worker {} {reason}: {gone} after {}", release.worker, duration(proof.waited_ns as f64));
    if let Some(rss) = proof.worker_rss_at_end {
        let _ = write!(words, ", {rss} RSS released");
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
    let mut words = match batching.batch_bytes {
        Some(cap) => format!("{batches} of at most {cap}, the largest {largest}"),
        None => format!("{batches} without a cap, the largest {largest}"),
    };
    if let Some(workspace) = batching.batches.iter().filter_map(|batch| batch.workspace).max() {
        let _ = write!(words, ", {workspace} of it for the kernel itself");
    }
    let over = batching.batches.iter().filter(|batch| batch.over_cap).count();
    if over > 0 && batching.over_cap == OverCap::Alone {
        let _ = write!(words, "; {} over the cap, alone", counted(over, "entry", "entries"));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Profile, sample};
    use plimsoll_capture::timing::{Samples, Statistics};

    #[test]
    fn of_many_entries_those_that_failed_and_the_slowest_have_a_row() {
        let passed = sample::record().results.entries[0].clone();
        let result = |index: usize| {
            let times = [index as f64, index as f64];
            let profile = Profile::timed(Statistics::of(&times).unwrap(), Samples::each(times.to_vec()), 0);
            EntryResult { index, profile: Some(profile), ..passed.clone() }
        };
        let mut results: Vec<_> = (0..ROWS + 100).map(result).collect();
        results[3].validation = Some(Validation::not_run("interrupted"));
        let shown: Vec<usize> = worst(results.iter().map(badness));
        let expected: Vec<usize> = [3].into_iter().chain(101..ROWS + 100).collect();
        assert_eq!(shown, expected);
        assert_eq!(worst(results[..ROWS].iter().map(badness)).len(), ROWS);
    }
}
