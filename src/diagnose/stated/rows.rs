//! Rows that repeat with other numbers: lines of a log, of a table, or of several blocks that people paste one after
//! another. Whatever program printed them, what differs from row to row are the readings.

use std::collections::HashMap;

use super::axis::{heads_a_reading, is_timed};
use super::numbers::{Number, numbers};
use super::regex;

/// Longer lines are not rows.
const LONGEST: usize = 600;
/// How far above its first row what heads a table, or says what is measured, may be.
const ABOVE: usize = 12;
/// Longer lines are not of a list.
const LISTED: usize = 100;
/// The least number without a unit that may be an amount beside nothing but other numbers.
const LEAST: f64 = 50_000.0;

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
struct Column<'a> {
    cells: Vec<(usize, Number<'a>)>,
    values: Vec<f64>,
    name: String,
    sized: bool,
    /// Whether the rows differ in nothing but their numbers.
    alike: bool,
}

/// All columns of memory in a text.
pub(super) struct Columns<'a> {
    lines: &'a [&'a str],
    columns: Vec<Column<'a>>,
}

impl<'a> Columns<'a> {
    pub(super) fn of(lines: &'a [&'a str]) -> Self {
        let mut rows: HashMap<String, Vec<(usize, Vec<Number<'a>>)>> = HashMap::new();
        let (mut order, mut list, mut columns) = (Vec::new(), Vec::new(), Vec::new());
        for (at, line) in lines.iter().enumerate() {
            let (shape, numbers) = if line.len() <= LONGEST { numbers(line) } else { (String::new(), Vec::new()) };
            let mut sized = numbers.iter().filter(|number| number.sized && number.value.is_some());
            match (sized.next(), sized.next()) {
                (Some(number), None) if line.len() <= LISTED => list.push((at, number.clone())),
                _ => columns.extend(listed(lines, std::mem::take(&mut list))),
            }
            if numbers.iter().any(|number| number.value.is_some()) {
                let rows = rows.entry(shape.clone()).or_default();
                if rows.is_empty() {
                    order.push(shape);
                }
                rows.push((at, numbers));
            }
        }
        columns.extend(listed(lines, list));
        for rows in order.iter().map(|shape| &rows[shape][..]).filter(|rows| rows.len() > 1) {
            // All of them, or those of one block.
            let blocks = rows.chunk_by(|a, b| a.0 + 1 == b.0).filter(|block| (2..rows.len()).contains(&block.len()));
            for rows in std::iter::once(rows).chain(blocks) {
                columns.extend((0..rows[0].1.len()).filter_map(|column| of_column(lines, rows, column)));
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
                && (first.abs_diff(claim) <= NEAR || self.is_near_memory(first))
        };
        self.columns.iter().filter(fits).max_by_key(|column| (column.sized, column.values.len())).map(Column::whole)
    }

    /// Readings of several versions, of which the newest has at least `more` times as much as the oldest.
    pub(super) fn by_version(&self, more: f64) -> Option<Series> {
        let version = |at: usize, number: &Number<'_>| -> Option<Vec<u32>> {
            let first = regex!(r"^[\s|*\x60\x22-]*(?:(?:\w+ )?v?(\d+(?:\.\d+)+)|(?:release|version|build|r) ?(\d+))\b")
                .captures(self.lines[at])?;
            let version = first.get(1).or(first.get(2)).filter(|version| version.end() <= number.start)?;
            version.as_str().split('.').map(|part| part.parse().ok()).collect()
        };
        self.columns.iter().find_map(|column| {
            let mut versions: Vec<(Vec<u32>, usize)> = Vec::new();
            for (index, (at, number)) in column.cells.iter().enumerate() {
                versions.push((version(*at, number)?, index));
            }
            versions.sort_by(|a, b| a.0.cmp(&b.0));
            let (oldest, newest) = (versions.first()?, versions.last()?);
            let grown = oldest.0 != newest.0 && column.values[newest.1] >= more * column.values[oldest.1];
            let found = grown && self.is_near_memory(column.cells[0].0);
            found.then(|| column.series(oldest.1, newest.1, 2))
        })
    }

    /// Readings at several times that rise evenly, and are half more at the end, or three quarters if they are few.
    pub(super) fn by_time(&self) -> Option<Series> {
        const READINGS: usize = 5;
        let timed = |(at, number): &(usize, Number<'_>)| {
            is_timed(&self.lines[*at][..number.start])
                || at.checked_sub(1).is_some_and(|above| heads_a_reading(self.lines[above]))
        };
        let evenly = |values: &[f64]| {
            let rise = values[values.len() - 1] - values[0];
            let last = values[values.len() - 1] - values[values.len() - 2];
            let more = values[0] * if values.len() < READINGS { 0.75 } else { 0.5 };
            values.windows(2).all(|two| two[1] > two[0])
                && rise >= more
                && 3.0 * last * (values.len() - 1) as f64 >= rise
        };
        let found = self.columns.iter().find(|column| {
            column.values.len() + 1 >= READINGS
                // The first may be from before the work began.
                && column.cells[1..].iter().all(timed)
                && evenly(&column.values)
                && self.is_near_memory(column.cells[0].0)
        });
        found.map(Column::whole)
    }

    /// Whether a row, or what stands closely above it, is of memory.
    fn is_near_memory(&self, at: usize) -> bool {
        const NEAR: usize = 8;
        self.lines[at.saturating_sub(NEAR)..=at].iter().any(|line| {
            regex!(r"(?i)\b(?:\w*memory\w*|mem|rss|ram|vram|heap|working set|resident|fb_used|maxrss|peak|kubectl top|private bytes|task manager|htop|nvidia-smi|wired|old gen(?:eration)?|metaspace|kmalloc|slab|pss|pm\(mb\))(?:\b|\W)|\bRES\b|\bOU\b")
                .is_match(line)
                && !is_scaled(line)
        })
    }
}

impl Column<'_> {
    /// All readings, in order.
    fn whole(&self) -> Series {
        self.series(0, self.cells.len() - 1, self.cells.len())
    }

    /// As many readings, of which these two are the first and the last.
    fn series(&self, first: usize, last: usize, readings: usize) -> Series {
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

/// Whether a line says that the pieces of the work differ in size, which need more the larger they are.
fn is_scaled(line: &str) -> bool {
    regex!(
        r"(?i)\b(?:batch(?:[ _-]?size)?|seq(?:uence)?|length|resolution|context|concurrency|num_workers|models?|rows|users|threads|dataset|input)\b"
    )
    .is_match(line)
        && !regex!(r"(?i)\bloaded\b").is_match(line)
        && line.split_whitespace().count() < 12
}

/// Whether what stands closely above line `at` says that the rows are of work of different sizes.
fn is_headed_by_sizes(lines: &[&str], at: usize) -> bool {
    lines[at.saturating_sub(2)..at].iter().any(|line| is_scaled(line))
}

/// Consecutive lines with one amount each, whatever their words are.
fn listed<'a>(lines: &[&str], cells: Vec<(usize, Number<'a>)>) -> Option<Column<'a>> {
    let (first, _) = cells.first().filter(|_| cells.len() > 1)?;
    let words = |at: usize| lines[at].chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    if is_headed_by_sizes(lines, *first) || cells.iter().any(|(at, number)| is_other(lines[*at], number)) {
        return None;
    }
    let alike = cells.windows(2).all(|two| words(two[0].0) == words(two[1].0));
    let values = gone(lines[*first], &cells[0].1, cells.iter().filter_map(|(_, number)| number.value).collect());
    Some(Column { values, name: String::new(), sized: true, alike, cells })
}

/// Whether a number is of what may still be used, or of what is set.
fn is_other(text: &str, number: &Number<'_>) -> bool {
    let other = regex!(
        r"(?i)\b(?:limit|capacity|total memory|cache size|virt|vsz|swap|of|downloaded|uploaded|written|wrote|sent|received|read|transferred|copied|processed)\b\W*$"
    );
    other.is_match(&text[..number.start]) || text[..number.start].ends_with("/ ")
}

/// `values`, or what is gone of them if `number`, the first of them, is of free memory.
fn gone(text: &str, number: &Number<'_>, values: Vec<f64>) -> Vec<f64> {
    let free = regex!(r"(?i)(?:\b|_)(?:free|avail\w*|left|remaining)(?:\b|_)[^\d]{0,12}$")
        .is_match(&text[..number.start])
        || regex!(r"(?i)^ ?(?:free|available|left)\b").is_match(&text[number.start + number.written.len()..]);
    if !free {
        return values;
    }
    let most = values.iter().copied().fold(0.0, f64::max);
    values.into_iter().map(|value| 1.25 * most - value).collect()
}

fn of_column<'a>(lines: &[&str], rows: &[(usize, Vec<Number<'a>>)], column: usize) -> Option<Column<'a>> {
    let cells: Vec<(usize, Number<'a>)> =
        rows.iter().filter_map(|(at, numbers)| Some((*at, numbers.get(column)?.clone()))).collect();
    let values: Vec<f64> = cells.iter().filter_map(|(_, number)| number.value).collect();
    let sized = cells.iter().all(|(_, number)| number.sized);
    let (first, text) = (rows[0].0, lines[rows[0].0]);
    if values.len() < rows.len()
        || is_other(text, &cells[0].1)
        || is_headed_by_sizes(lines, first)
        || !(sized || is_of_memory(lines, rows, column, &values))
    {
        return None;
    }
    let name = name(lines, rows, column);
    let values = gone(text, &cells[0].1, values);
    Some(Column { cells, values, name, sized, alike: true })
}

/// What the rows call a column: its key, or its header.
fn name(lines: &[&str], rows: &[(usize, Vec<Number<'_>>)], column: usize) -> String {
    let (at, numbers) = &rows[0];
    let key = before(lines[*at], numbers, column).trim();
    if key.contains(char::is_alphabetic) {
        return key.to_owned();
    }
    let above = lines[at.saturating_sub(ABOVE)..*at].iter().rev().copied();
    head(lines[*at], &numbers[column], above).unwrap_or_default().to_owned()
}

/// The text between a number and the one before it.
fn before<'a>(text: &'a str, numbers: &[Number<'_>], column: usize) -> &'a str {
    let from = column.checked_sub(1).map_or(0, |left| numbers[left].start + numbers[left].written.len());
    &text[from.min(numbers[column].start)..numbers[column].start]
}

/// Whether numbers without a unit are amounts of memory: by their key, by the header of their column, or by what stands
/// above rows of nothing but numbers.
fn is_of_memory(lines: &[&str], rows: &[(usize, Vec<Number<'_>>)], column: usize, values: &[f64]) -> bool {
    let mentions = |text: &str| {
        regex!(r"(?i)\((?:[kmg]i?)?b\)|[rpu]ss|mem|heap|alloc|bytes|resident|working.?set|fb_used|vram|in_use|binary|footprint|free|\{total")
            .is_match(text)
    };
    let named =
        |text: &str| mentions(text) && !regex!(r"(?i)slots|count|objects|limit|increase|percent|%").is_match(text);
    let (at, numbers) = &rows[0];
    let text = lines[*at];
    // Steps and times rise as well.
    let steps: Vec<f64> = values.windows(2).map(|two| two[1] - two[0]).collect();
    if steps.len() > 1 && steps.iter().all(|step| *step == steps[0]) && steps[0] < LEAST {
        return false;
    }
    let key = before(text, numbers, column);
    if named(key) {
        return true;
    }
    if key.contains(char::is_alphabetic) && key.trim_end().ends_with([':', '=']) {
        return false;
    }
    let above = || lines[at.saturating_sub(ABOVE)..*at].iter().rev().copied();
    if let Some(head) = head(text, &numbers[column], above()) {
        return named(head);
    }
    if is_sized_above(lines, *at, values[0]) {
        return true;
    }
    let alone = numbers.iter().filter(|number| number.value.is_some()).count() == 1;
    // Names with digits are versions and the like.
    if !self::numbers(text).0.contains(char::is_alphabetic) {
        let large = alone || values.iter().all(|value| *value >= LEAST);
        let amount = values[0] >= LEAST / 50.0 || numbers[column].written.contains('.');
        return large && amount && above().any(mentions);
    }
    alone && named(text)
}

/// Whether the line above a row ends with an amount of this size: what follows has its unit.
fn is_sized_above(lines: &[&str], at: usize, value: f64) -> bool {
    let Some(above) = at.checked_sub(1).map(|above| lines[above]) else { return false };
    let amount = regex!(r"(\d+(?:\.\d+)?) ?(?:[KMG]i?B|[KMG]i)\W*$").captures(above);
    let amount = amount.and_then(|found| found[1].parse::<f64>().ok());
    amount.is_some_and(|amount| amount <= value && value <= 2.0 * amount)
}

/// The name of a number's column in the header of a table: at the same place between bars or commas, or above it.
fn head<'a>(text: &str, number: &Number<'_>, mut above: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let by = ['|', '\t', ','].into_iter().find(|by| text.contains(*by) && (*by != ',' || !text.contains("  ")));
    let is_head = |text: &str| text.contains(char::is_alphabetic) && !text.ends_with(['.', ':', '!', '?']);
    let Some(by) = by else {
        let gaps = |text: &str| regex!(r"\S\s{2,}\S").find_iter(text).count();
        if gaps(text) < 2 {
            return None;
        }
        let (start, end) = (number.start, number.start + number.written.len());
        let words = |text: &str| text.split_whitespace().count();
        let (columns, place) = (words(text), words(&text[..start]));
        let over = |above: &&str| {
            is_head(above) && above.len() >= end && (gaps(above) >= 2 || gaps(above) == 1 && words(above) == columns)
        };
        // The columns that `ps` is asked for.
        let listed =
            |above: &'a str| regex!(r"\bps\b.* -o ?([\w,=%]+)").captures(above)?.get(1).map(|list| list.as_str());
        let above: Vec<&str> = above.collect();
        let Some(text) = above.iter().copied().find(over) else {
            let list = above.iter().find_map(|above| listed(above))?;
            return list.split([',', '=']).filter(|name| !name.is_empty()).nth(place);
        };
        let over = text.char_indices().filter(|(at, c)| !c.is_whitespace() && *at + 1 >= start && *at <= end);
        let (first, last) =
            over.fold(None, |range: Option<(usize, usize)>, (at, _)| Some((range.map_or(at, |it| it.0), at)))?;
        let begin = text[..first].rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let stop = text[last..].find(char::is_whitespace).map_or(text.len(), |at| last + at);
        return Some(&text[begin..stop]);
    };
    let columns = text.matches(by).count();
    let head = above.find(|text| is_head(text) && text.matches(by).count() == columns)?;
    head.split(by).nth(text[..number.start].matches(by).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rising(text: &str) -> Option<(String, String, usize)> {
        let lines: Vec<&str> = text.lines().collect();
        let found = Columns::of(&lines).series(0, 3, |values| values.windows(2).all(|two| two[1] > two[0]))?;
        Some((found.first, found.last, found.readings))
    }

    #[test]
    fn what_rises_from_row_to_row_is_found_wherever_it_stands() {
        for (text, first, last) in [
            ("ps -o rss=\n09:10 164340\n09:20 166734\n09:30 168360", "164340", "168360"),
            (
                "|Jobs|RSS (KB)|live|\n|--|--|--|\n|0|141,208|402|\n|10|233,940|402|\n|20|329,116|402|",
                "141,208",
                "329,116",
            ),
            ("a 61Mi\nx\na 248Mi\ny\na 431Mi", "61Mi", "431Mi"),
            (
                "{\"n\":500,\"rss\":98664448}\n{\"n\":900,\"rss\":121503744}\n{\"n\":1700,\"rss\":143392768}",
                "98664448",
                "143392768",
            ),
            (
                "\"Time\",\"resident_memory_bytes\"\n\"08:00\",803209216\n\"09:00\",1190428672\n\"10:00\",1571049472",
                "803209216",
                "1571049472",
            ),
            ("free heap=214,688\nfree heap=203,940\nfree heap=193,204", "214,688", "193,204"),
            ("- at first: 640 MB\n- after 1 hour: 1.2 GB\n- 2 hours: 1.7 GB\n- lunch, 4 h: 2.9 GB", "640 MB", "2.9 GB"),
            ("  0: == 58.11 MB\n  1: === 79.30 MB\n  2: ==== 88.02 MB", "58.11 MB", "88.02 MB"),
        ] {
            let found = rising(text).map(|(first, last, _)| (first, last));
            assert_eq!(found, Some((first.to_owned(), last.to_owned())), "{text}");
        }
    }

    #[test]
    fn what_rises_evenly_in_time_needs_nobody_who_says_so() {
        let found = |text: &str| {
            let lines: Vec<&str> = text.lines().collect();
            Columns::of(&lines).by_time().map(|found| (found.first, found.last))
        };
        for (text, first, last) in [
            (
                "Mon MEMORY\n  a-1 4m 74Mi\nTue a-1 4m 131Mi\nWed a-1 5m 190Mi\nThu a-1 4m 246Mi\nFri a-1 4m 305Mi",
                "131Mi",
                "305Mi",
            ),
            (
                "after 1k req { rss: '92 MB' }\nafter 5k req { rss: '148 MB' }\nafter 9k req { rss: '221 MB' }\nafter 20k req { rss: '361 MB' }",
                "92 MB",
                "361 MB",
            ),
            (
                "ps -o pid,rss,cmd -p 4\n08:00\n   4  38220    idled\n09:00\n   4  71904    idled\n10:00\n   4  105688    idled\n11:00\n   4  139320    idled",
                "38220",
                "139320",
            ),
            (
                "t     PM(MB) Handles\n07:30    104     512\n08:00    257     513\n08:30    411     512\n09:00    566     514",
                "104",
                "566",
            ),
            (
                "GPU memory, 0 requests - 4410 MiB\nafter 1 - 4702\nafter 5 - 5866\nafter 10 - 7318\nafter 20 - 10226",
                "4702",
                "10226",
            ),
        ] {
            assert_eq!(found(text), Some((first.to_owned(), last.to_owned())), "{text}");
        }
        for text in [
            "memory\nepoch 1 4.1G\nepoch 2 6.0G\nepoch 3 6.1G\nepoch 4 6.1G\nepoch 5 6.1G",
            "memory\nbatch 8 4.1G\nbatch 16 8.0G\nbatch 32 16.1G\nbatch 64 32.3G\nbatch 128 64G",
            "revenue\nMon 100,000\nTue 200,000\nWed 300,000\nThu 420,000\nFri 530,000",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn steps_times_and_counts_are_no_memory() {
        for text in [
            "rss\nstep 1\nstep 2\nstep 3",
            "mem free 100 MB\nmem free 200 MB\nmem free 300 MB",
            "batch size 8\n8 100 MB\n16 200 MB\n32 300 MB",
            "request 50000\nrequest 70000\nrequest 95000",
            "|Step|RSS (KB)|\n|--|--|\n|1|100,000|\n|2|100,000|\n|3|100,000|",
        ] {
            assert!(rising(text).is_none(), "{text}");
        }
    }
}
