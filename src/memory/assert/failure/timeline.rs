//! Resident memory over time, with the phases below it.

use super::LABEL;
use crate::bytes::ByteSize;
use crate::meter::{PhaseReadings, TimelinePoint, sparkline};
use crate::text::{Screen, clean, counted, duration, width};

/// The width of the line.
const COLUMNS: usize = 72;
/// Maximum number of rows of marks below it.
const ROWS: usize = 4;

/// The timelines of all phases in sequence on one scale, with a mark where each begins. Empty if no phase has a
/// timeline.
pub(super) fn over_time(phases: &[PhaseReadings], screen: &Screen) -> String {
    let mut points: Vec<TimelinePoint> = Vec::new();
    let mut began = 0u64;
    let mut starts = Vec::new();
    for phase in phases {
        starts.push(began);
        let at = |point: &TimelinePoint| TimelinePoint { at_ns: began.saturating_add(point.at_ns), ..point.clone() };
        points.extend(phase.timeline.iter().map(at));
        began = began.saturating_add(phase.wall_ns);
    }
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return String::new() };
    let (from, span) = (first.at_ns, u128::from(last.at_ns.saturating_sub(first.at_ns)) + 1);
    let columns = COLUMNS.min(screen.width() - LABEL - 20);
    let peak = points.iter().map(|point| point.rss).max().unwrap_or(ByteSize::ZERO);
    let mut text =
        format!(" {:LABEL$}{}  {} in {}\n", "RSS", sparkline(&points, columns), peak, duration(began as f64),);
    let column = |start: u64| (u128::from(start.saturating_sub(from)) * columns as u128 / span) as usize;
    let marks = phases.iter().zip(&starts).map(|(phase, &start)| {
        let column = column(start).min(columns.saturating_sub(1));
        Label::new(column, &format!("{} {}", clean(&phase.phase), duration(phase.wall_ns as f64)), columns)
    });
    text += &rows(marks.collect());
    text
}

/// A label below the column that it refers to.
struct Label {
    begins: usize,
    label: String,
}

impl Label {
    /// Placed right of its corner, or left of it if the line would overflow.
    fn new(column: usize, name: &str, columns: usize) -> Self {
        let long = width(name) + 2;
        if column + long <= columns || column + 1 < long {
            Self { begins: column, label: format!("└ {name}") }
        } else {
            Self { begins: column + 1 - long, label: format!("{name} ┘") }
        }
    }
}

/// Puts each mark into the first row where it does not touch another.
fn rows(marks: Vec<Label>) -> String {
    let mut rows: Vec<String> = Vec::new();
    let mut hidden = 0;
    for Label { begins, label } in marks {
        let free = |row: &String| row.is_empty() || width(row) < begins;
        let at = rows.iter().position(free).unwrap_or(rows.len());
        if at == ROWS {
            hidden += 1;
            continue;
        }
        if at == rows.len() {
            rows.push(String::new());
        }
        let row = &mut rows[at];
        *row += &" ".repeat(begins - width(row));
        *row += &label;
    }
    if hidden > 0 {
        rows.push(format!("and {}", counted(hidden, "more phase", "more phases")));
    }
    rows.iter().map(|row| format!(" {:LABEL$}{row}\n", "")).collect()
}
