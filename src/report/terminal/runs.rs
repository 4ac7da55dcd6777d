//! Several runs of a command: one row each, and their spread.

use super::memory::marked;
use crate::record::RepeatedRun;
use crate::report::runs::{Spreads, end_words, known};
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::meter::{Metric, worst_reading};
use plimsoll_memory::text::Screen;
use plimsoll_memory::text::duration;
use plimsoll_memory::text::{Align, Cell, fitted};

/// If there are more runs than this, only their minimum, median and maximum are shown.
const ROWS: usize = 12;

/// The metrics that get a column if a run has them.
const FIGURES: [(Metric, &str, u8); 4] = [
    (Metric::PeakRss, "peak RSS", 0),
    (Metric::PeakAnon, "peak anon", 1),
    (Metric::PeakPss, "peak PSS", 4),
    (Metric::GpuPeak, "GPU", 3),
];

/// Writes the table of `runs`.
pub(super) fn runs(runs: &[RepeatedRun], screen: &Screen) -> String {
    let metrics = known(FIGURES.map(|(metric, ..)| metric), runs);
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    if runs.len() <= ROWS {
        rows.extend(runs.iter().enumerate().map(|(at, run)| row(at + 1, run, &metrics, screen)));
    }
    let Spreads { wall, cpu, bytes } = Spreads::of(runs, &metrics);
    for (at, title) in Spreads::TITLES.into_iter().enumerate() {
        let time =
            |spread: &Option<[f64; 3]>| Cell::plain(spread.map_or("n/a".to_owned(), |spread| duration(spread[at])));
        let size = |spread: &Option<[f64; 3]>| {
            // The blank keeps the place of the source mark in the rows above.
            Cell::plain(spread.map_or("n/a ".to_owned(), |spread| format!("{} ", ByteSize::new(spread[at] as u64))))
        };
        let cells = [Cell::new(title, screen.palette.heading), time(&wall), time(&cpu)];
        rows.push(cells.into_iter().chain(bytes.iter().map(size)).chain([Cell::plain("")]).collect());
    }
    let titles = FIGURES.into_iter().filter(|(metric, ..)| metrics.contains(metric));
    let columns = [("run", Align::Left, 0), ("time", Align::Right, 2), ("CPU", Align::Right, 6)]
        .into_iter()
        .chain(titles.map(|(_, title, rank)| (title, Align::Right, rank)))
        .chain([("end", Align::Left, 7)]);
    fitted(columns, &rows, screen)
}

fn row(number: usize, run: &RepeatedRun, metrics: &[Metric], screen: &Screen) -> Vec<Cell> {
    let palette = &screen.palette;
    let cpu = run.cpu_time().map_or("n/a".to_owned(), |time| duration(time.as_nanos() as f64));
    let cells = metrics.iter().map(|&metric| match worst_reading(&run.phases, metric) {
        Some((_, reading)) => Cell::plain(marked(reading)),
        None => Cell::new("n/a ", palette.warn),
    });
    let end =
        if run.end.success() { Cell::new("exit 0", palette.dim) } else { Cell::new(end_words(&run.end), palette.warn) };
    let first = [
        Cell::plain(number.to_string()),
        Cell::new(duration(run.wall_ns as f64), palette.dim),
        Cell::new(cpu, palette.dim),
    ];
    first.into_iter().chain(cells).chain([end]).collect()
}
