//! Memory by kind at start, peak and end, and what memory cost.

use super::LABEL;
use crate::bytes::ByteSize;
use crate::meter::{ActivityScope, MemorySplit, PhaseReadings};
use crate::text::{Align, Cell, Column, Screen, Table, clean, counted, duration};

/// Maximum number of mappings shown.
const MAPPINGS: usize = 8;

/// The rows of the table, each with the part that it shows.
type Part = fn(&MemorySplit) -> Option<ByteSize>;
const KINDS: [(&str, Part); 5] = [
    ("resident", |split| Some(split.rss)),
    ("  anonymous", |split| split.anon),
    ("  file-backed", |split| split.file),
    ("  shared", |split| split.shmem),
    ("swapped", |split| split.swap),
];

/// Memory by kind at the start of the first phase, in the largest sample, and at the end of the last phase, with the
/// growth of peak and end over the start. Empty if none of it was read.
pub(super) fn split(phases: &[PhaseReadings], screen: &Screen) -> String {
    let start = phases.first().and_then(|phase| phase.at_start);
    let peak = phases.iter().filter_map(|phase| phase.at_peak).max_by_key(|split| split.rss);
    let end = phases.last().and_then(|phase| phase.at_end);
    if start.is_none() && peak.is_none() && end.is_none() {
        return String::new();
    }
    let show = |amount: Option<ByteSize>| amount.map_or("n/a".to_owned(), |amount| amount.to_string());
    let rows: Vec<[String; 6]> = KINDS
        .iter()
        .map(|(name, part)| {
            let [start, peak, end] = [start, peak, end].map(|split| split.as_ref().and_then(part));
            let growth =
                |now: Option<ByteSize>| now.zip(start).map_or(String::new(), |(now, start)| signed(start, now));
            [(*name).to_owned(), show(start), show(peak), show(end), growth(peak), growth(end)]
        })
        .collect();
    table(["memory", "start", "peak", "end", "start to peak", "start to end"], 1, rows, screen)
}

/// The mappings that grew most in the phase with the largest resident set. Empty if none were read or none grew.
pub(super) fn mappings(phases: &[PhaseReadings], screen: &Screen) -> String {
    let worst = phases.iter().max_by_key(|phase| (!phase.mappings.is_empty(), phase.at_peak.map(|split| split.rss)));
    let grown = worst.map_or(&[][..], |phase| &phase.mappings);
    let rows: Vec<[String; 5]> = grown
        .iter()
        .filter(|mapping| mapping.after > mapping.before)
        .take(MAPPINGS)
        .map(|mapping| {
            [
                clean(&mapping.name),
                mapping.kind.label().to_owned(),
                mapping.before.to_string(),
                mapping.after.to_string(),
                signed(mapping.before, mapping.after),
            ]
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    table(["mappings that grew most", "kind", "before", "after", "growth"], 2, rows, screen)
}

/// A table whose first `texts` columns are left-aligned text and whose figures are right-aligned.
fn table<const N: usize>(titles: [&'static str; N], texts: usize, rows: Vec<[String; N]>, screen: &Screen) -> String {
    let align = |at| if at < texts { Align::Left } else { Align::Right };
    let mut columns: Vec<Column> =
        titles.into_iter().enumerate().map(|(at, title)| Column::new(title, align(at), 0)).collect();
    columns[0].fit(&" ".repeat(LABEL));
    for row in &rows {
        columns.iter_mut().zip(row).for_each(|(column, text)| column.fit(text));
    }
    let table = Table::new(columns, 1, *screen);
    let rows = rows.into_iter().map(|row| table.row(&row.map(Cell::plain)));
    std::iter::once(table.header()).chain(rows).collect()
}

/// The difference with its sign; `=` if there is none.
fn signed(before: ByteSize, after: ByteSize) -> String {
    match after.cmp(&before) {
        std::cmp::Ordering::Equal => "=".to_owned(),
        std::cmp::Ordering::Greater => format!("+{}", after.saturating_sub(before)),
        std::cmp::Ordering::Less => format!("-{}", before.saturating_sub(after)),
    }
}

/// Page faults, stalls, kills and processor time over all phases; `None` if nothing was read.
pub(super) fn activity(phases: &[PhaseReadings]) -> Option<String> {
    let sum = |part: fn(&PhaseReadings) -> Option<u64>| {
        phases.iter().try_fold(0u64, |sum, phase| Some(sum.saturating_add(part(phase)?)))
    };
    let of = |scope: ActivityScope| match scope {
        ActivityScope::System => "whole system",
        ActivityScope::Cgroup => "control group",
    };
    let last = phases.last()?.activity;
    let mut facts = Vec::new();
    if let Some(minor) = sum(|phase| phase.activity.minor_faults) {
        facts.push(counted(minor, "minor fault", "minor faults"));
    }
    if let Some(major) = sum(|phase| phase.activity.major_faults) {
        facts.push(counted(major, "major fault", "major faults"));
    }
    if let Some((user, system)) = sum(|phase| phase.activity.cpu_user_ns).zip(sum(|phase| phase.activity.cpu_system_ns))
    {
        facts.push(format!("processor {} user, {} kernel", duration(user as f64), duration(system as f64)));
    }
    if let Some(some) = sum(|phase| phase.activity.some_stall_us) {
        let full = sum(|phase| phase.activity.full_stall_us);
        let full = full.map_or(String::new(), |full| format!(" ({} all tasks)", duration(full as f64 * 1e3)));
        let stalled = match some {
            0 => "no stall for memory".to_owned(),
            some => format!("stalled for memory {}{full}", duration(some as f64 * 1e3)),
        };
        facts.push(format!("{stalled}, {}", of(last.stalls_of)));
    }
    if let Some(kills) = sum(|phase| phase.activity.oom_kills) {
        facts.push(match kills {
            0 => format!("no OOM kill, {}", of(last.oom_kills_of)),
            kills => format!("{}, {}", counted(kills, "OOM kill", "OOM kills"), of(last.oom_kills_of)),
        });
    }
    (!facts.is_empty()).then(|| facts.join("; "))
}
