//! The memory of the phases: one row each, with a sparkline.

use std::collections::BTreeMap;

use crate::report::summary::source_mark;
use plimsoll_memory::meter::{Metric, NOT_ASKED_FOR, PhaseReadings, Reading, Source, sparkline};
use plimsoll_memory::text::Screen;
use plimsoll_memory::text::{Align, Cell, fitted};
use plimsoll_memory::text::{clean, duration, interval as interval_words, labelled};

/// The figures of a row with their titles and which are dropped first on a narrow screen.
const FIGURES: [(Metric, &str, u8); 6] = [
    (Metric::PeakRss, "peak RSS", 0),
    (Metric::PeakAnon, "peak anon", 1),
    (Metric::PeakPss, "peak PSS", 4),
    (Metric::GpuPeak, "GPU", 5),
    (Metric::SwapGrowth, "swap growth", 2),
    (Metric::AvailableFloor, "least avail.", 3),
];

/// The columns of a sparkline.
const SPARK: usize = 16;

/// Writes the table of `phases`, then an explanation of its marks.
pub(super) fn memory(phases: &[PhaseReadings], screen: &Screen) -> String {
    let palette = &screen.palette;
    let figures = shown(phases);
    let rows: Vec<Vec<Cell>> = phases
        .iter()
        .map(|phase| {
            let wall = Cell::new(duration(phase.wall_ns as f64), palette.dim);
            let cells = figures.iter().map(|(metric, ..)| match phase.readings.get(metric) {
                Some(reading) => Cell::plain(marked(reading)),
                None => Cell::new("n/a", palette.warn),
            });
            let spark = Cell::new(sparkline(&phase.timeline, SPARK), palette.dim);
            [Cell::plain(clean(&phase.phase)), wall].into_iter().chain(cells).chain([spark]).collect()
        })
        .collect();
    let columns = [("memory", Align::Left, 0), ("time", Align::Right, 7)]
        .into_iter()
        .chain(figures.iter().map(|&(_, title, expendable)| (title, Align::Right, expendable)))
        .chain([("RSS over time", Align::Left, 6)]);
    let mut text = fitted(columns, &rows, screen);
    text.push_str(&legend(phases, screen));
    text
}

/// The figures of these phases, without those that were not requested.
fn shown(phases: &[PhaseReadings]) -> Vec<(Metric, &'static str, u8)> {
    let asked = |metric| {
        phases.iter().any(|phase| match phase.unavailable.get(&metric) {
            // Most machines have no GPU, so that is not worth reporting.
            Some(reason) => reason != NOT_ASKED_FOR && metric != Metric::GpuPeak,
            None => metric != Metric::GpuPeak || phase.readings.contains_key(&metric),
        })
    };
    FIGURES.into_iter().filter(|&(metric, ..)| asked(metric)).collect()
}

/// The figure followed by the mark of its source.
pub(super) fn marked(reading: &Reading) -> String {
    format!("{}{}", reading.bytes, source_sign(Some(reading.source)))
}

/// The mark of a source. It follows the figure; exact figures and figures without a source get a blank instead, so that
/// columns stay aligned.
pub(super) fn source_sign(source: Option<Source>) -> &'static str {
    source.map_or(" ", |source| match source_mark(source) {
        "" => " ",
        mark => mark,
    })
}

/// An explanation of the marks of these sources; `None` without marks.
pub(super) fn marks(sources: &[Source]) -> Option<String> {
    let mut notes = Vec::new();
    let interval = sources.iter().find_map(|source| match source {
        Source::Sampled { interval_ns } => Some(*interval_ns),
        _ => None,
    });
    if let Some(interval) = interval {
        notes.push(format!("~ sampled every {}", interval_words(interval)));
    }
    if sources.contains(&Source::LowerBound) {
        notes.push("≥ at least this much".to_owned());
    }
    if sources.contains(&Source::Exact) {
        notes.push("no mark: the kernel's own counter".to_owned());
    }
    (!notes.is_empty()).then(|| notes.join(" · "))
}

/// Explains the marks that occur, and why figures are missing.
fn legend(phases: &[PhaseReadings], screen: &Screen) -> String {
    let palette = &screen.palette;
    let sources_of = |phase: &PhaseReadings| -> Vec<Source> {
        FIGURES.iter().filter_map(|(metric, ..)| Some(phase.readings.get(metric)?.source)).collect()
    };
    let sources: Vec<Source> = phases.iter().flat_map(sources_of).collect();
    let mut text = String::new();
    text.extend(marks(&sources).map(|notes| labelled("", palette.dim, &notes, 0, screen)));
    for (phase, most) in phases.iter().filter_map(|phase| Some((phase, phase.peak_rss_at_most?))) {
        let why = match phase.processes.len() {
            0 | 1 => "it ended before it could be read again",
            _ => "the marks of its processes or of its control group allow it between two samples",
        };
        let words = format!("peak RSS in {} was at most {most}: {why}", phase.phase);
        text.push_str(&labelled("", palette.dim, &words, 0, screen));
    }
    let held_back = phases.iter().filter_map(|phase| phase.readings.get(&Metric::PeakRss)?.held_back).max();
    if let Some(most) = held_back {
        let words = format!("peak RSS may be up to {most} more, which this kernel counts late (see `plimsoll doctor`)");
        text.push_str(&labelled("", palette.dim, &words, 0, screen));
    }
    for (metric, title, _) in shown(phases) {
        let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for phase in phases {
            if let Some(reason) = phase.unavailable.get(&metric) {
                reasons.entry(clean(reason)).or_default().push(&phase.phase);
            }
        }
        for (reason, phases) in reasons {
            let words = format!("{title} in {}: {reason}", phases.join(", "));
            text.push_str(&labelled("n/a", palette.warn, &words, 4, screen));
        }
    }
    text
}
