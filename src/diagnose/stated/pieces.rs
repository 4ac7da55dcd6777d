//! Fragmentation over time: what an allocator holds rises while no more of it is in use, and the large blocks of a machine's
//! free memory become small ones.

use std::collections::BTreeMap;

use super::rows::{Column, Columns, Series};
use super::{regex, rise};

impl Columns<'_> {
    /// Readings of what an allocator holds that rise, beside as many of what is in use, which stays as it is.
    pub(super) fn in_pieces(&self) -> Option<Series> {
        const READINGS: usize = 4;
        const NEAR: usize = 12;
        /// How many times what is in use is held at the end, and how many times as much as at the start.
        const MUCH: f64 = 1.5;
        let held = regex!(r"(?i)reserved|used_memory_rss\b|\bresident:|\bmapped:|\bsystem bytes\b");
        let used = regex!(r"(?i)(?:^|\W)(?:allocated(?:_bytes)?|used_memory|in[ _]use(?: bytes)?)\b");
        let other = regex!(r"(?i)human|max|peak|retained|capacity|limit");
        let ends = |column: &Column<'_>| (column.values[0], column.values[column.values.len() - 1]);
        let of = |column: &&Column<'_>, named: &super::Pattern| {
            column.values.len() >= READINGS && named.is_match(&column.name) && !other.is_match(&column.name)
        };
        let stays = |column: &Column<'_>, held: &Column<'_>| {
            let (least, most) = column
                .values
                .iter()
                .fold((f64::MAX, 0.0f64), |(least, most), &value| (value.min(least), value.max(most)));
            let beside = |(own, held): (&(usize, _), &(usize, _))| own.0.abs_diff(held.0) < NEAR;
            least > 0.0
                && most <= 1.05 * least
                && ends(held).1 >= MUCH * ends(column).1
                && column.cells.len() == held.cells.len()
                && column.cells.iter().zip(&held.cells).all(beside)
        };
        let in_pieces = |column: &&Column<'_>| {
            let (first, last) = ends(column);
            of(column, held)
                && last >= MUCH * first
                && rise(&column.values)
                && self.columns.iter().any(|other| of(&other, used) && stays(other, column))
        };
        let found = self.columns.iter().find(in_pieces)?;
        Some(found.series(0, found.cells.len() - 1, found.cells.len()))
    }
}

/// The free blocks of a zone by `/proc/buddyinfo`, whose largest are gone while a quarter of the memory is still free.
pub(super) fn small_blocks(lines: &[&str]) -> Option<Series> {
    /// The orders of the largest blocks, and how many times fewer are left.
    const LARGE: usize = 3;
    const FEWER: f64 = 20.0;
    let row = regex!(r"^\s*(?P<zone>Node \d+, zone\s+\w+)(?P<blocks>(?:\s+\d+){8,16})\s*$");
    let mut zones: BTreeMap<String, Vec<(usize, Vec<f64>)>> = BTreeMap::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some(found) = row.captures(line) {
            let blocks = found["blocks"].split_whitespace().map(|count| count.parse().unwrap_or(0.0)).collect();
            zones.entry(found["zone"].to_owned()).or_default().push((at, blocks));
        }
    }
    zones.into_iter().find_map(|(name, rows)| {
        let [(above, first), .., (below, last)] = &rows[..] else { return None };
        let pages = |blocks: &[f64], from: usize| {
            let of_order = |(order, count): (usize, &f64)| count * f64::from(1u32 << order);
            blocks.iter().enumerate().skip(from).map(of_order).sum::<f64>()
        };
        let large = |blocks: &[f64]| pages(blocks, blocks.len() - LARGE);
        let fell = large(first) > FEWER * large(last) && 4.0 * pages(last, 0) >= pages(first, 0);
        let shown = |blocks: &[f64]| format!("{} pages in large blocks", large(blocks));
        fell.then(|| Series {
            lines: [*above, *below],
            first: shown(first),
            last: shown(last),
            readings: rows.len(),
            ratio: None,
            name,
        })
    })
}

#[cfg(test)]
mod tests;
