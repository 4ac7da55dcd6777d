//! The first lines: the broken ceilings; then every ceiling with its reading.

use anstyle::Style;

use super::super::counted::{HeapVerdict, exact};
use super::{Failure, LABEL};
use crate::alloc::HeapReadings;
use crate::ceiling::{CeilingStatus, CeilingVerdict, trust};
use crate::text::{Align, Cell, Column, Screen, Table, clean, labelled};

/// One sentence on the first broken ceiling, the user's own message, and how many more are broken.
pub(super) fn head(failure: &Failure<'_>) -> String {
    let many_phases = failure.phases.len() > 1;
    let says: Vec<String> = [CeilingStatus::Broken, CeilingStatus::NotMeasurable]
        .into_iter()
        .flat_map(|status| {
            let memory = failure
                .verdicts
                .iter()
                .filter(move |verdict| verdict.status == status)
                .map(|verdict| of_memory(verdict, many_phases));
            let heap = failure.heap_verdicts.iter().filter(move |verdict| verdict.status == status).map(of_count);
            memory.chain(heap)
        })
        .collect();
    let mut text = clean(failure.name);
    match &says[..] {
        [] => text += ": every ceiling holds",
        [first] => text += &format!(": {first}"),
        [first, rest @ ..] => text += &format!(": {first}; {} more below", rest.len()),
    }
    text.push('\n');
    if let Some(message) = failure.message {
        text += &format!("{}\n", message.lines().map(clean).collect::<Vec<_>>().join("\n"));
    }
    text
}

fn of_memory(verdict: &CeilingVerdict, many_phases: bool) -> String {
    let limit = format!("its {} of {}", if verdict.metric.is_floor() { "floor" } else { "ceiling" }, verdict.limit);
    match (&verdict.reading, verdict.by) {
        (Some(reading), Some(by)) => {
            let side = verdict.metric.past();
            let share = share(by.bytes(), verdict.limit.bytes());
            let phase = verdict.phase.as_ref().filter(|_| many_phases);
            let phase = phase.map_or(String::new(), |phase| format!(" in phase `{}`", clean(phase)));
            // The table below names the counter.
            let trust = trust(reading);
            let trust = trust.split([',', '(']).next().unwrap_or_default().trim_end();
            format!("{} is {}{phase} ({trust}), {by}{share} {side} {limit}", verdict.metric, reading.bytes)
        }
        _ => format!("{} is not measurable, so it is unknown whether {limit} holds", verdict.metric),
    }
}

fn of_count(verdict: &HeapVerdict) -> String {
    let show = |figure| verdict.counter.show(figure);
    let limit = format!("its ceiling of {}", show(verdict.limit));
    match verdict.count {
        Some(count) => {
            let by = count.saturating_sub(verdict.limit);
            let share = share(by, verdict.limit);
            format!("{} is {} (exact), {}{share} above {limit}", verdict.counter, show(count), show(by))
        }
        None => format!("{} is not measurable, so it is unknown whether {limit} holds", verdict.counter),
    }
}

/// ` (50 %)`: the excess as a share of the limit.
fn share(by: u64, limit: u64) -> String {
    match limit {
        0 => String::new(),
        limit => {
            let percent = by as f64 / limit as f64 * 100.0;
            let decimals = usize::from(percent < 9.95);
            format!(" ({percent:.decimals$} %)")
        }
    }
}

/// One row per ceiling, broken ones first; then the reasons for those that could not be measured.
pub(super) fn all(failure: &Failure<'_>, screen: &Screen) -> String {
    let memory = failure.verdicts.iter().map(|verdict| Row::of_memory(verdict, failure.phases.len() > 1));
    let heap = failure.heap_verdicts.iter().map(|verdict| Row::of_count(verdict, failure.heap));
    let mut rows: Vec<Row> = memory.chain(heap).collect();
    rows.sort_by_key(|row| match row.status {
        CeilingStatus::Broken => 0,
        CeilingStatus::NotMeasurable => 1,
        CeilingStatus::Holds => 2,
    });
    let titles = ["ceiling", "", "limit", "reading", "over", "source"];
    let align = |at| if matches!(at, 0 | 1 | 5) { Align::Left } else { Align::Right };
    let mut columns: Vec<Column> =
        titles.into_iter().enumerate().map(|(at, title)| Column::new(title, align(at), 0)).collect();
    columns[0].fit(&" ".repeat(LABEL));
    for row in &rows {
        columns.iter_mut().zip(&row.cells).take(5).for_each(|(column, text)| column.fit(text));
    }
    let table = Table::new(columns, 1, *screen);
    let mut text = table.header();
    for row in &rows {
        let mut cells = row.cells.each_ref().map(Cell::plain);
        // The source column gets the remaining width, because the name of a phase can have any length.
        cells[5] = Cell::spanning(&row.cells[5], Style::new());
        text += &table.row(&cells);
    }
    for (name, reason) in rows.iter().filter_map(|row| row.reason.as_ref()) {
        text += &labelled("n/a", screen.palette.warn, &format!("{name}: {reason}"), LABEL, screen);
    }
    text
}

/// A ceiling as a row.
struct Row {
    status: CeilingStatus,
    cells: [String; 6],
    /// What could not be measured, and why.
    reason: Option<(&'static str, String)>,
}

impl Row {
    fn of_memory(verdict: &CeilingVerdict, many_phases: bool) -> Self {
        let name = verdict.metric.name();
        let mut source = verdict.reading.as_ref().map_or(String::new(), trust);
        if let Some(phase) = verdict.phase.as_ref().filter(|_| many_phases && verdict.reading.is_some()) {
            // Cut before the counter, whose end may be cut off.
            let at = source.find(" (").unwrap_or(source.len());
            source.insert_str(at, &format!(" in `{}`", clean(phase)));
        }
        let cells = [
            mark(verdict.status, name),
            verdict.metric.sign().to_owned(),
            verdict.limit.to_string(),
            verdict.reading.as_ref().map_or("n/a".to_owned(), |reading| reading.bytes.to_string()),
            verdict.by.map_or(String::new(), |by| by.to_string()),
            source,
        ];
        Self { status: verdict.status, cells, reason: reason(verdict.status, name, &verdict.message) }
    }

    fn of_count(verdict: &HeapVerdict, heap: Option<&HeapReadings>) -> Self {
        let show = |figure| verdict.counter.show(figure);
        let over = verdict.count.and_then(|count| count.checked_sub(verdict.limit)).filter(|&over| over > 0);
        let name = verdict.counter.name();
        let cells = [
            mark(verdict.status, name),
            "≤".to_owned(),
            show(verdict.limit),
            verdict.count.map_or("n/a".to_owned(), show),
            over.map_or(String::new(), show),
            heap.map_or(String::new(), |heap| exact(heap.scope)),
        ];
        Self { status: verdict.status, cells, reason: reason(verdict.status, name, &verdict.message) }
    }
}

/// The reason is the end of the verdict's line.
fn reason(status: CeilingStatus, name: &'static str, message: &str) -> Option<(&'static str, String)> {
    let (_, reason) = message.split_once("not measurable: ").filter(|_| status == CeilingStatus::NotMeasurable)?;
    Some((name, reason.to_owned()))
}

fn mark(status: CeilingStatus, name: &str) -> String {
    let mark = match status {
        CeilingStatus::Broken => '✗',
        CeilingStatus::NotMeasurable => '?',
        CeilingStatus::Holds => '✓',
    };
    format!("{mark} {name}")
}
