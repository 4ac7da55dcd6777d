//! [`failure`]: the message for a broken ceiling of a test. A summary comes first, details below, all in plain text.

mod tables;
#[cfg(test)]
mod tests;
mod timeline;
mod verdicts;

use super::counted::{HeapVerdict, exact};
use crate::alloc::HeapReadings;
use crate::ceiling::CeilingVerdict;
use crate::meter::{Metric, PhaseReadings, Source};
use crate::text::{Palette, Screen, counted, labelled};

/// The width of a failure message, chosen to fit beside a test runner's own marks.
const WIDTH: usize = 110;
/// The width of the labels at the start of its lines.
const LABEL: usize = 9;
/// Maximum number of threads named.
const THREADS: usize = 3;

/// The contents of a failure message of a test or block.
#[derive(Clone, Copy, Debug)]
pub struct Failure<'a> {
    /// The test or block.
    pub name: &'a str,
    /// The user's own message.
    pub message: Option<&'a str>,
    /// The verdicts on its ceilings, including those that passed.
    pub verdicts: &'a [CeilingVerdict],
    /// The verdicts on its allocator's counts.
    pub heap_verdicts: &'a [HeapVerdict],
    /// The readings of each phase.
    pub phases: &'a [PhaseReadings],
    /// The allocator's counts.
    pub heap: Option<&'a HeapReadings>,
    /// Remarks that matter for trusting the figures.
    pub notes: &'a [String],
}

/// Formats the whole message: which ceiling is broken and by how much, the source of the reading and its phase; then
/// all ceilings, resident memory over time, its kinds at start, peak and end, the mappings that grew, the heap, faults,
/// stalls and kills, and notes.
pub fn failure(failure: &Failure<'_>) -> String {
    let screen = Screen::new(WIDTH, Palette::plain());
    let mut sections = vec![
        verdicts::head(failure),
        verdicts::all(failure, &screen),
        timeline::over_time(failure.phases, &screen),
        tables::split(failure.phases, &screen),
        tables::mappings(failure.phases, &screen),
    ];
    let mut facts = String::new();
    let mut fact = |label: &str, text: &str| facts += &labelled(label, screen.palette.dim, text, LABEL, &screen);
    if let Some(heap) = failure.heap {
        fact("heap", &of_heap(heap));
    }
    if let Some(activity) = tables::activity(failure.phases) {
        fact("activity", &activity);
    }
    for note in between_samples(failure.phases).iter().chain(failure.notes) {
        fact("note", note);
    }
    sections.push(facts);
    sections.retain(|section| !section.is_empty());
    sections.join("\n")
}

fn of_heap(heap: &HeapReadings) -> String {
    let mut text = format!(
        "peak {}, retained {}, {}, {}, {} in all; {}",
        heap.peak,
        heap.retained,
        calls(heap.allocations, "allocation"),
        calls(heap.reallocations, "reallocation"),
        heap.allocated,
        exact(heap.scope)
    );
    if heap.threads.len() > 1 {
        let most = heap.threads.iter().take(THREADS);
        let most: Vec<String> = most.map(|thread| format!("{} {}", thread.name, thread.allocated)).collect();
        text += &format!("; most by {}", most.join(", "));
    }
    text
}

fn calls(count: u64, of: &str) -> String {
    counted(count, of, &format!("{of}s"))
}

/// Says so if the exact peak is well above every sample, because only samples know the kinds of memory.
fn between_samples(phases: &[PhaseReadings]) -> Option<String> {
    let seen = phases.iter().filter_map(|phase| phase.at_peak).map(|split| split.rss).max()?;
    let exact = phases.iter().filter_map(|phase| phase.readings.get(&Metric::PeakRss));
    let peak = exact.filter(|reading| reading.source == Source::Exact).map(|reading| reading.bytes).max()?;
    let spike = peak.saturating_sub(seen);
    (spike.bytes() > peak.bytes() / 20).then(|| {
        format!("the peak of {peak} lay between two samples: the kernel kept its size, but not its kinds or its time")
    })
}
