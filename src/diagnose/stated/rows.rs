//! Rows that repeat with other numbers: lines of a log, of a table, or of several blocks that people paste one after
//! another. Whatever program printed them, what differs from row to row are the readings.

use std::collections::HashMap;

use plimsoll_statistics::trend::rises_throughout;

use super::across::{Across, across, graphite, instants, matrix};
use super::axis::{heads_a_reading, is_timed};
use super::collections::OldCollections;
use super::column::{ABOVE, are_parts, gone, is_by_size, is_named, is_of_memory, is_of_sizes, is_other, name};
use super::course::course;
use super::numbers::{Number, numbers};
use super::{GROWN, MORE, levels_off, regex, rise};
use crate::telemetry::{clock, newest_first};

/// Longer lines are not rows.
pub(super) const LONGEST_ROW: usize = 600;
/// Longer lines are not of a list.
const LISTED: usize = 100;

/// Readings of memory, one from each of several rows.
pub(super) struct Series {
    /// The first and the last row.
    pub(super) lines: [usize; 2],
    pub(super) first: String,
    pub(super) last: String,
    pub(super) readings: usize,
    /// How many times the first reading the last one is; absent if that is 0.
    pub(super) ratio: Option<f64>,
    /// What the rows call it.
    pub(super) name: String,
}

/// The numbers of rows that belong together, in order.
pub(super) struct Column<'a> {
    pub(super) cells: Vec<(usize, Number<'a>)>,
    pub(super) values: Vec<f64>,
    pub(super) name: String,
    pub(super) sized: bool,
    /// Whether the rows differ in nothing but their numbers.
    pub(super) alike: bool,
    /// Whether the rows go on elsewhere, and do not rise there.
    goes_on: bool,
    /// Whether the readings of a single line have their times beside or above them.
    timed: bool,
}

/// All columns of memory in a text.
pub(super) struct Columns<'a> {
    pub(super) lines: &'a [&'a str],
    pub(super) columns: Vec<Column<'a>>,
}

impl<'a> Columns<'a> {
    pub(super) fn of(lines: &'a [&'a str]) -> Self {
        let mut rows: HashMap<String, Vec<Row<'a>>> = HashMap::new();
        let (mut order, mut list, mut columns) = (Vec::new(), Vec::new(), Vec::new());
        for (at, line) in lines.iter().enumerate() {
            let (shape, numbers) = if line.len() <= LONGEST_ROW { numbers(line) } else { (String::new(), Vec::new()) };
            let mut sized = numbers.iter().filter(|number| number.sized && number.value.is_some());
            match (sized.next(), sized.next()) {
                (Some(number), None) if line.len() <= LISTED => list.push((at, number.clone())),
                _ => columns.extend(listed(lines, std::mem::take(&mut list))),
            }
            let single = matrix(line)
                .or_else(|| graphite(line))
                .or_else(|| across(lines, at, &numbers))
                .or_else(|| course(line));
            columns.extend(single.map(|single| Column::of_a_line(at, single)));
            if numbers.iter().any(|number| number.value.is_some()) {
                let rows = rows.entry(shape.clone()).or_default();
                if rows.is_empty() {
                    order.push(shape);
                }
                rows.push((at, numbers));
            }
        }
        columns.extend(listed(lines, list));
        let old = OldCollections::of(lines);
        columns.extend(instants(lines).into_iter().map(|(name, cells)| Column::timed(name, cells)));
        for rows in order.iter().map(|shape| &rows[shape][..]).filter(|rows| rows.len() > 1) {
            // All of them, or those of one block.
            let blocks = rows.chunk_by(|a, b| a.0 + 1 == b.0).filter(|block| (2..rows.len()).contains(&block.len()));
            let devices = of_devices(lines, rows).or_else(|| of_names(lines, rows)).unwrap_or_default();
            for part in std::iter::once(rows).chain(blocks).chain(devices.iter().map(|rows| &rows[..])) {
                let of_a_block = part.len() < rows.len() && part[0].0 + part.len() == part[part.len() - 1].0 + 1;
                let found = (0..part[0].1.len()).filter_map(|column| {
                    let found = of_column(lines, part, column, &old)?;
                    let goes_on = of_a_block && goes_on(rows, &found.values, column);
                    Some(Column { goes_on, ..found })
                });
                let found: Vec<Column<'_>> = found.collect();
                // A key of memory is that of the first amount behind it: others may be of anything.
                let named = found.iter().any(|column| is_named(&column.name) && column.name.ends_with([':', '=']));
                let is_change = |(at, number): &(usize, Number<'_>)| lines[*at][..number.start].ends_with('+');
                columns.extend(found.into_iter().filter(|column| {
                    !named || column.name.contains(char::is_alphabetic) || is_change(&column.cells[0])
                }));
            }
        }
        Self { lines, columns }
    }

    /// The readings that fit `is`, which gets them in order, near line `claim` or near what names memory: those of most
    /// rows, and with a unit if there are any.
    pub(super) fn series(&self, claim: usize, least: usize, is: impl Fn(&[f64]) -> bool) -> Option<Series> {
        const NEAR: usize = 40;
        let fits = |column: &&Column<'_>| {
            let enough = if column.alike { least } else { least.max(4) };
            let first = column.cells[0].0;
            column.values.len() >= enough
                && is(&column.values)
                && !self.is_stored(column)
                && !self.follows_work(column)
                && (first.abs_diff(claim) <= NEAR || self.is_near_memory(first))
        };
        self.columns.iter().filter(fits).max_by_key(|column| (column.sized, column.values.len())).map(Column::whole)
    }

    /// Readings at several times that rise evenly, and are half more at the end, or three quarters if they are few.
    pub(super) fn by_time(&self) -> Option<Series> {
        const READINGS: usize = 5;
        /// At least this many rise as a whole even if some of them fall a little.
        const MANY_READINGS: usize = 8;
        let timed = |(at, number): &(usize, Number<'_>)| {
            is_timed(&self.lines[*at][..number.start])
                || regex!(r"^\s+@?1[5-9]\d{8}(?:\d{3})?$")
                    .is_match(&self.lines[*at][number.start + number.written.len()..])
                || at.checked_sub(1).is_some_and(|above| heads_a_reading(self.lines[above]))
        };
        let evenly = |values: &[f64]| {
            let rise = values[values.len() - 1] - values[0];
            let last = values[values.len() - 1] - values[values.len() - 2];
            let steps = || values.windows(2).map(|two| two[1] - two[0]);
            let mean = rise / (values.len() - 1) as f64;
            let steady = values.len() > READINGS && steps().all(|step| step > 0.5 * mean && step < 1.6 * mean);
            let more = values[0]
                * if values.len() < READINGS {
                    0.75
                } else if steady {
                    GROWN - 1.0
                } else {
                    0.5
                };
            rise >= more
                && (steps().all(|step| step > 0.0) && 3.0 * last >= mean
                    || values.len() > READINGS && steps().all(|step| step > -0.05 * rise) && !levels_off(values))
        };
        // Many readings may go up and down, if their level does not.
        let grows = |values: &[f64]| {
            let (first, last) = (values[0], values[values.len() - 1]);
            evenly(values)
                || values.len() >= MANY_READINGS && last >= GROWN * first && rises_throughout(values, READINGS + 1)
        };
        let found = self.columns.iter().find(|column| {
            column.values.len() + 1 >= READINGS
                && !column.goes_on
                && grows(&column.values)
                && (self.is_near_memory(column.cells[0].0) || regex!(r"(?i)rss|alloc|heap|resident").is_match(&column.name))
                && !self.is_stored(column)
                && !self.is_of_things(column)
                && !self.follows_work(column)
                && !self.levels_off_below(column)
                // The first may be from before the work began.
                && (column.timed
                    || column.cells[1..].iter().all(timed)
                    || self.is_headed_by_times(column)
                    || self.is_watched(column)
                    || self.is_counted(column)
                    || self.counts(column))
        });
        found.map(Column::whole)
    }

    /// Readings that rise, at whatever times and of whatever they are.
    pub(super) fn rising(&self) -> Option<Series> {
        const READINGS: usize = 3;
        // Of what is free a quarter must be gone, and none of it come back.
        let enough = |column: &Column<'_>| {
            let (first, last) = (column.values[0], column.values[column.values.len() - 1]);
            (column.cells[0].1.value == Some(first) || last >= 2.0 * first)
                && column.values.windows(2).all(|two| two[0] - two[1] <= 0.3 * (last - first))
        };
        // Rows that go on elsewhere say how they go on.
        let goes_on = |column: &Column<'_>| {
            let within = |other: &&Column<'_>| {
                let of = |cell: &(usize, Number<'_>)| (cell.0, cell.1.start);
                other.cells.len() > column.cells.len()
                    && other.cells.iter().any(|cell| of(cell) == of(&column.cells[0]))
            };
            column.goes_on || self.columns.iter().filter(within).any(|other| !rise(&other.values))
        };
        let rises = |column: &&Column<'_>| {
            column.values.len() >= READINGS
                && rise(&column.values)
                && enough(column)
                && (!column.timed || self.is_near_memory(column.cells[0].0))
                && !goes_on(column)
                && !self.is_of_counts(column)
                && !self.is_of_things(column)
                && !self.is_stored(column)
                && !self.follows_work(column)
                && !self.levels_off_below(column)
        };
        self.columns.iter().filter(rises).max_by_key(|column| (column.sized, column.values.len())).map(Column::whole)
    }

    /// Whether many readings of memory keep their level, and no others rise.
    pub(super) fn are_steady(&self) -> bool {
        const READINGS: usize = 4;
        let of_memory = |column: &&Column<'_>| self.is_near_memory(column.cells[0].0);
        let steady = |column: &Column<'_>| {
            let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
            let (earlier, later) = column.values.split_at(column.values.len() / 2);
            most(later) < MORE * most(earlier)
        };
        let many = |column: &&Column<'_>| column.values.len() >= READINGS;
        self.columns.iter().all(steady) && self.columns.iter().filter(many).any(|column| of_memory(&column))
    }
}

impl<'a> Column<'a> {
    fn of_a_line(at: usize, Across { name, numbers, values }: Across<'a>) -> Self {
        let cells = numbers.into_iter().map(|number| (at, number)).collect();
        Self { values, ..Self::timed(name, cells) }
    }

    /// Readings with their times, or in the order of their commits.
    pub(super) fn timed(name: String, cells: Vec<(usize, Number<'a>)>) -> Self {
        let values = cells.iter().filter_map(|(_, number)| number.value).collect();
        Self { cells, values, name, sized: true, alike: true, goes_on: false, timed: true }
    }

    /// The readings at these places.
    pub(super) fn part(&self, places: &[usize]) -> Self {
        let cells = places.iter().map(|at| self.cells[*at].clone()).collect();
        let values = places.iter().map(|at| self.values[*at]).collect();
        let &Self { sized, alike, goes_on, timed, .. } = self;
        Self { cells, values, name: self.name.clone(), sized, alike, goes_on, timed }
    }
}

impl Column<'_> {
    /// All readings, in order.
    fn whole(&self) -> Series {
        self.series(0, self.cells.len() - 1, self.cells.len())
    }

    /// As many readings, of which these two are the first and the last.
    pub(super) fn series(&self, first: usize, last: usize, readings: usize) -> Series {
        let [(above, first), (below, last)] = [&self.cells[first], &self.cells[last]];
        Series {
            lines: [*above, *below],
            first: first.written.to_owned(),
            last: last.written.to_owned(),
            readings,
            ratio: last.value.zip(first.value).map(|(last, first)| last / first).filter(|ratio| ratio.is_finite()),
            name: self.name.clone(),
        }
    }
}

/// A row: its line and its numbers.
type Row<'a> = (usize, Vec<Number<'a>>);

/// The fewest rows of one of several devices, processes or pods.
const READINGS: usize = 4;

/// The rows of each device, if a table has several in turns.
fn of_devices<'a>(lines: &[&str], rows: &[Row<'a>]) -> Option<Vec<Vec<Row<'a>>>> {
    let id = regex!(r"(?i)^\W*(?:pid|(?:gpu|npu|xpu|device|card|rank)(?:[ _]?(?:id|index|idx))?)\W*$");
    let number = |row: &Row<'a>, column: usize| row.1.get(column).map(|number| number.written);
    let of = |column: &usize| {
        let (first, second) = (number(&rows[0], *column), number(&rows[1], *column));
        first != second && id.is_match(&name(lines, rows, *column))
    };
    let column = (0..rows[0].1.len()).filter(|_| rows.len() >= 2 * READINGS).find(of)?;
    Some(in_turns(rows, |row| number(row, column)))
}

/// The rows of each process or pod, if a table has several in turns: each row begins with its name.
fn of_names<'a>(lines: &[&str], rows: &[Row<'a>]) -> Option<Vec<Vec<Row<'a>>>> {
    let name = |row: &Row<'a>| {
        let first = lines[row.0].split_whitespace().next()?;
        (first.contains(char::is_alphabetic) && !is_timed(first)).then_some(first)
    };
    let several = rows.len() >= 2 * READINGS && name(&rows[0]) != name(&rows[1]);
    (several && rows.iter().all(|row| name(row).is_some())).then(|| in_turns(rows, name))
}

/// The rows of each `of`, those of which there are enough.
fn in_turns<'a, K: PartialEq>(rows: &[Row<'a>], of: impl Fn(&Row<'a>) -> K) -> Vec<Vec<Row<'a>>> {
    const MOST: usize = 64;
    let mut found: Vec<Vec<Row<'a>>> = Vec::new();
    for row in rows {
        match found.iter().position(|rows| of(&rows[0]) == of(row)) {
            Some(place) => found[place].push(row.clone()),
            None if found.len() < MOST => found.push(vec![row.clone()]),
            None => {}
        }
    }
    found.retain(|rows| rows.len() >= READINGS);
    found
}

/// Consecutive lines with one amount each, whatever their words are.
fn listed<'a>(lines: &[&str], cells: Vec<(usize, Number<'a>)>) -> Option<Column<'a>> {
    let (first, _) = cells.first().filter(|_| cells.len() > 1)?;
    let words = |at: usize| lines[at].chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    // A list of things by their names is no course: `8.0 MB  layers.0.attn.k_proj.weight`.
    let name = |at: usize| regex!(r"[A-Za-z_]\w*(?:[./]\w+)+").find(lines[at]).map(|name| name.as_str());
    if name(*first).is_some()
        && cells[1..].iter().all(|(at, _)| name(*at).is_some_and(|other| Some(other) != name(*first)))
    {
        return None;
    }
    if is_by_size(lines, &cells) || are_parts(lines, &cells) {
        return None;
    }
    let several_jobs = is_of_several_jobs(lines, &cells.iter().map(|(at, _)| *at).collect::<Vec<_>>());
    if several_jobs || is_of_sizes(lines, *first) || cells.iter().any(|(at, number)| is_other(lines[*at], number)) {
        return None;
    }
    let alike = cells.windows(2).all(|two| words(two[0].0) == words(two[1].0));
    let values = gone(lines[*first], &cells[0].1, "", cells.iter().filter_map(|(_, number)| number.value).collect());
    Some(Column { values, name: String::new(), sized: true, alike, goes_on: false, timed: false, cells })
}

/// Whether the rows of a block, whose readings are `values`, go on elsewhere in amounts of the same order, and do not rise as
/// a whole.
fn goes_on(rows: &[Row<'_>], values: &[f64], column: usize) -> bool {
    const AS_MUCH: f64 = 4.0;
    let all: Vec<f64> = rows.iter().filter_map(|(_, numbers)| numbers.get(column)?.value).collect();
    let (least, most) =
        values.iter().fold((f64::MAX, 0.0), |(least, most), &value| (value.min(least), value.max(most)));
    !all.is_empty() && !rise(&all) && all.iter().all(|value| (least / AS_MUCH..=AS_MUCH * most).contains(value))
}

/// Whether a table of `sacct` has jobs of different names, which do different work.
fn is_of_several_jobs(lines: &[&str], rows: &[usize]) -> bool {
    // A step of a job is called what all are: its job stands above it.
    let name = |at: usize| {
        let names = lines[..=at].iter().rev().filter_map(|line| line.split_whitespace().nth(1));
        let name = names.take(ABOVE).find(|name| !matches!(*name, "batch" | "extern"))?;
        Some(name.replace(|c: char| c.is_ascii_digit(), ""))
    };
    lines[rows[0].saturating_sub(ABOVE)..rows[0]].iter().any(|line| line.contains("JobName"))
        && rows.iter().any(|at| name(*at) != name(rows[0]))
}

fn of_column<'a>(lines: &[&str], rows: &[Row<'a>], column: usize, old: &OldCollections) -> Option<Column<'a>> {
    let mut cells: Vec<(usize, Number<'a>)> =
        rows.iter().filter_map(|(at, numbers)| Some((*at, numbers.get(column)?.clone()))).collect();
    let values: Vec<f64> = cells.iter().filter_map(|(_, number)| number.value).collect();
    let sized = cells.iter().all(|(_, number)| number.sized);
    let (first, text) = (rows[0].0, lines[rows[0].0]);
    if values.len() < rows.len()
        || is_other(text, &cells[0].1)
        || is_of_sizes(lines, first)
        || is_of_several_jobs(lines, &rows.iter().map(|(at, _)| *at).collect::<Vec<_>>())
        || !(sized || is_of_memory(lines, rows, column, &values))
        || old.free(text, first, values[0])
    {
        return None;
    }
    let name = name(lines, rows, column);
    // What passed through a network or a disk, or was ever allocated.
    let passed = regex!(
        r"(?i)^(?:(?:net|block|disk) )?i/o$|^(?:net|block|blk|pids)[=:]?$|\btraffic\b|total[_-]alloc|\b(?:binary|image|file|package|wheel|bundle|download|install\w*)[ _]size\b"
    );
    // `gcs=88.1M` beside `proc=211MB` is a count.
    let short = |number: &Number<'_>| number.sized && number.written.ends_with(['k', 'K', 'M', 'G', 'T']);
    let sizes = || rows[0].1.iter().any(|number| number.sized && number.written.ends_with('B'));
    if passed.is_match(name.trim()) || short(&cells[0].1) && name.ends_with('=') && !is_named(&name) && sizes() {
        return None;
    }
    let mut values = gone(text, &cells[0].1, &name, values);
    if newest_first(cells.iter().map(|(at, _)| clock(lines[*at]))) {
        cells.reverse();
        values.reverse();
    }
    Some(Column { cells, values, name, sized, alike: true, goes_on: false, timed: false })
}

#[cfg(test)]
mod tests;
