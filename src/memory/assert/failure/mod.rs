//! [`failure`]: what a broken ceiling of a test says. Short first, the details below, everything in plain text.

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

/// The columns of a failure: what fits beside a test runner's own marks.
const WIDTH: usize = 110;
/// The columns of the labels at the start of its lines.
const LABEL: usize = 9;
/// So many threads are named.
const THREADS: usize = 3;

/// What is shown of a test or block whose ceilings do not all hold.
#[derive(Clone, Copy, Debug)]
pub struct Failure<'a> {
    /// The test or block.
    pub name: &'a str,
    /// The user's own message.
    pub message: Option<&'a str>,
    /// The verdicts on its ceilings, those that hold as well.
    pub verdicts: &'a [CeilingVerdict],
    /// The verdicts on what its allocator counted.
    pub heap_verdicts: &'a [HeapVerdict],
    /// What was read in each phase.
    pub phases: &'a [PhaseReadings],
    /// What the allocator counted.
    pub heap: Option<&'a HeapReadings>,
    /// What else one should know to trust the figures.
    pub notes: &'a [String],
}

/// The whole message: which ceiling is broken, by how much, where the reading comes from and in which phase; then all
/// ceilings, resident memory over time, its kinds at start, peak and end, the mappings that grew, the heap, faults,
/// stalls and kills, and the notes.
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

/// Says so if the exact peak is well above every sample, of which alone the kinds are known.
fn between_samples(phases: &[PhaseReadings]) -> Option<String> {
    let seen = phases.iter().filter_map(|phase| phase.at_peak).map(|split| split.rss).max()?;
    let exact = phases.iter().filter_map(|phase| phase.readings.get(&Metric::PeakRss));
    let peak = exact.filter(|reading| reading.source == Source::Exact).map(|reading| reading.bytes).max()?;
    let spike = peak.saturating_sub(seen);
    (spike.bytes() > peak.bytes() / 20).then(|| {
        format!("the peak of {peak} lay between two samples: the kernel kept its size, but not its kinds or its time")
    })
}
