//! Two kernels timed in turns: one row per entry, and the speedup over all entries.

use super::problems::problems;
use super::worst::{ROWS, worst};
use crate::record::{Aggregation, CaptureSemantics, EntryResult, Pairs, Record, Speedup};
use crate::report::speedup::{between, ratio, sentence};
use plimsoll_memory::text::Screen;
use plimsoll_memory::text::{Align, Cell, Column, Table};
use plimsoll_memory::text::{LABEL, clean, cut, duration, labelled, styled};

/// Placeholder for a figure that was not taken.
const ABSENT: &str = "-";

/// Writes the times of both kernels, the speedup of each entry and of all, and failures of the other kernel; empty for
/// a single kernel.
pub(super) fn versus(semantics: &CaptureSemantics, record: &Record, screen: &Screen) -> String {
    let (Some(versus), Some(other)) = (&record.results.versus, &semantics.versus) else { return String::new() };
    let palette = &screen.palette;
    let aggregation = semantics.aggregation.unwrap_or(Aggregation::EntryMeans);
    let mut columns = vec![
        Column::new("in turns", Align::Left, 0),
        Column::new("per launch", Align::Right, 2),
        Column::new("of the other", Align::Right, 2),
        Column::new("speedup", Align::Right, 0),
        Column::new("interval", Align::Right, 1),
    ];
    for (column, widest) in columns.iter_mut().zip(["", "59 min 59 s", "59 min 59 s", "-12.345x", "12.345 to 12.345"]) {
        column.fit(widest);
    }
    for result in &record.results.entries {
        columns[0].fit(&clean(&result.name));
    }
    let table = Table::new(columns, 1, *screen);
    let mut text = format!("\n{}", table.header());
    let time = |result: &EntryResult| {
        let statistics = result.profile.as_ref().and_then(|profile| profile.statistics);
        statistics.map_or(Cell::new(ABSENT, palette.dim), |it| Cell::plain(duration(aggregation.time_ns(&it))))
    };
    let badness = |pairs: &Pairs| {
        let ratio = pairs.speedup.as_ref().map(|speedup| speedup.ratio);
        (ratio.is_some(), -ratio.unwrap_or_default())
    };
    let (mut own, mut others) = (record.results.entries.reader(), versus.entries.reader());
    let mut all_pairs = versus.pairs.reader();
    for place in worst(versus.pairs.iter().map(|pairs| badness(&pairs))) {
        let (Some(own), Some(others), Some(pairs)) = (own.get(place), others.get(place), all_pairs.get(place)) else {
            continue;
        };
        let absent = || Cell::new(ABSENT, palette.dim);
        let speedup = pairs.speedup.as_ref();
        text.push_str(&table.row(&[
            Cell::plain(clean(&own.name)),
            time(own),
            time(others),
            speedup.map_or_else(absent, |speedup| Cell::new(ratio(speedup), style(speedup, screen))),
            speedup.and_then(between).map_or_else(absent, Cell::plain),
        ]));
    }
    if let Some(more) = versus.pairs.len().checked_sub(ROWS).filter(|more| *more > 0) {
        let line = format!("… and {more} more with a larger speedup; the record has them all");
        text.push_str(&format!(" {}\n", styled(&cut(&line, screen.width() - 1), palette.dim)));
    }
    if let Some(all) = &versus.speedup {
        let words = sentence(all, &clean(&other.kernel.name));
        text.push_str(&labelled("speedup", style(all, screen), &words, LABEL, screen));
    }
    let troubles = problems(&versus.entries, screen);
    if !troubles.is_empty() {
        text.push_str(&format!("\n {}:{troubles}", clean(&other.kernel.name)));
    }
    text
}

/// Green if faster, red if slower, plain if undecided.
fn style(speedup: &Speedup, screen: &Screen) -> anstyle::Style {
    match speedup.interval {
        Some(interval) if interval.low > 1.0 => screen.palette.good,
        Some(interval) if interval.high < 1.0 => screen.palette.bad,
        _ => anstyle::Style::new(),
    }
}
