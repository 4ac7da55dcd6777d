//! Rows that repeat with other numbers: lines of a log, of a table, or of several blocks that people paste one after
//! another. Whatever program printed them, what differs from row to row are the readings.

use std::collections::HashMap;

use super::across::{Across, across, instants, matrix};
use super::axis::{counts_up, heads_a_reading, heads_times, in_equal_steps, is_timed, is_watched};
use super::column::{ABOVE, gone, is_named, is_of_memory, is_of_sizes, is_other, is_scaled, name};
use super::course::course;
use super::numbers::{Number, numbers};
use super::{GROWN, levels_off, regex, rise};
use crate::telemetry::is_of_work;

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
            let single = matrix(line).or_else(|| across(lines, at, &numbers)).or_else(|| course(line));
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
        columns.extend(instants(lines).into_iter().map(|(name, cells)| Column::timed(name, cells)));
        for rows in order.iter().map(|shape| &rows[shape][..]).filter(|rows| rows.len() > 1) {
            // All of them, or those of one block.
            let blocks = rows.chunk_by(|a, b| a.0 + 1 == b.0).filter(|block| (2..rows.len()).contains(&block.len()));
            let devices = of_devices(lines, rows).or_else(|| of_names(lines, rows)).unwrap_or_default();
            for rows in std::iter::once(rows).chain(blocks).chain(devices.iter().map(|rows| &rows[..])) {
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
                && !self.is_stored(first)
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
                    || values.len() >= MANY_READINGS && steps().all(|step| step > -0.05 * rise) && !levels_off(values))
        };
        let found = self.columns.iter().find(|column| {
            column.values.len() + 1 >= READINGS
                && evenly(&column.values)
                && self.is_near_memory(column.cells[0].0)
                && !self.is_stored(column.cells[0].0)
                && !self.follows_work(column)
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
        // Rows that go on below say how they go on.
        let goes_on = |column: &Column<'_>| {
            let within = |other: &&Column<'_>| {
                let of = |cell: &(usize, Number<'_>)| (cell.0, cell.1.start);
                other.cells.len() > column.cells.len()
                    && other.cells.iter().any(|cell| of(cell) == of(&column.cells[0]))
            };
            self.columns.iter().filter(within).any(|other| !rise(&other.values))
        };
        let rises = |column: &&Column<'_>| {
            column.values.len() >= READINGS
                && rise(&column.values)
                && enough(column)
                && (!column.timed || self.is_near_memory(column.cells[0].0))
                && !goes_on(column)
                && !self.is_stored(column.cells[0].0)
                && !self.follows_work(column)
        };
        self.columns.iter().filter(rises).max_by_key(|column| (column.sized, column.values.len())).map(Column::whole)
    }

    /// What stands above the first row of a column, the nearest first.
    fn above(&self, column: &Column<'_>) -> impl Iterator<Item = &'a str> {
        let first = column.cells[0].0;
        self.lines[first.saturating_sub(ABOVE)..first].iter().rev().copied()
    }

    /// Whether the first column of its table has times.
    pub(super) fn is_headed_by_times(&self, column: &Column<'_>) -> bool {
        let header = self.above(column).find(|line| line.contains(char::is_alphabetic));
        column.alike && header.is_some_and(heads_times)
    }

    /// Whether another column of its table, of how much work is held, rises with it: at least half as fast.
    fn follows_work(&self, column: &Column<'_>) -> bool {
        let rows: Vec<_> = column.cells.iter().map(|(at, _)| (*at, numbers(self.lines[*at]).1)).collect();
        let rise = |first: f64, last: f64| (last - first) / first.max(1.0);
        let memory = rise(column.values[0], column.values[column.values.len() - 1]);
        let heads = |line: &str| line.split_whitespace().next().is_some_and(is_of_work);
        let headed = self.above(column).find(|line| line.contains(char::is_alphabetic)).is_some_and(heads);
        (0..rows[0].1.len()).any(|other| {
            let values = rows.iter().filter_map(|(_, numbers)| numbers.get(other)?.value).collect::<Vec<_>>();
            values.len() == rows.len()
                && 2.0 * rise(values[0], values[values.len() - 1]) >= memory
                && (other == 0 && headed || is_of_work(&name(self.lines, &rows, other)))
        })
    }

    /// Whether each row begins with how often the same work was done: from nothing up in equal steps, or from one and
    /// with the name of the memory.
    fn counts(&self, column: &Column<'_>) -> bool {
        const READINGS: usize = 6;
        let count = |(at, number): &(usize, Number<'_>)| {
            let (first, rest) = self.lines[*at][..number.start].trim_start().split_once(char::is_whitespace)?;
            let first = first.trim_end_matches([':', ',', '|', ')']);
            let count = first.parse::<u64>().ok()?;
            (!rest.contains(char::is_alphanumeric) || count > 0 && is_named(rest)).then_some(count)
        };
        let Some(counts) = column.cells.iter().map(count).collect::<Option<Vec<_>>>() else { return false };
        // A header says what is counted, which may be what the memory holds.
        let first = column.cells[0].0;
        let named = is_named(&self.lines[first][..column.cells[0].1.start]);
        let headed = || !name(self.lines, &[(first, numbers(self.lines[first]).1)], 0).is_empty();
        counts.len() >= READINGS
            && (counts[0] == 0 || counts[..2] == [1, 2] && named)
            && in_equal_steps(&counts)
            && !headed()
    }

    /// Whether as far above each row stands how often the same work was done.
    fn is_counted(&self, column: &Column<'_>) -> bool {
        (1..=ABOVE).any(|distance| {
            let apart = column.cells.windows(2).all(|two| two[1].0 > two[0].0 + distance);
            let head = |at: &usize| at.checked_sub(distance).map(|at| self.lines[at]);
            let heads = column.cells.iter().map(|(at, _)| head(at)).collect::<Option<Vec<_>>>();
            apart && column.alike && heads.is_some_and(|heads| counts_up(&heads))
        })
    }

    /// Whether its rows are one line of a monitor, printed again and again: they have the same names, and in a list of
    /// processes the same number.
    fn is_watched(&self, column: &Column<'_>) -> bool {
        let processes = regex!(r"(?i)\b(?:ps|top|htop|smem|tasklist|get-process|pid|nvidia-smi)\b");
        let names = |at: usize| {
            let words = self.lines[at].split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '{' | '}'));
            let words = words.filter(|word| word.contains(char::is_alphabetic));
            words.filter(|word| !regex!(r"^\W*\d[\d.,:]*[A-Za-z%]{0,3}\W*$").is_match(word)).collect::<Vec<_>>()
        };
        let number =
            |at: usize| self.lines[at].split_whitespace().find(|word| word.bytes().all(|c| c.is_ascii_digit()));
        let first = column.cells[0].0;
        let same = |is: &dyn Fn(usize) -> bool| column.cells[1..].iter().all(|(at, _)| is(*at));
        column.alike
            && self.above(column).any(is_watched)
            && same(&|at| names(at) == names(first))
            && (!self.above(column).any(|line| processes.is_match(line)) || same(&|at| number(at) == number(first)))
    }

    /// Whether a row is of what is on a disk, which grows from day to day, whatever its name is.
    fn is_stored(&self, at: usize) -> bool {
        let stored = regex!(
            r"(?i)pg_size_pretty|relname|tablespace|\b(?:du|df) -|\bdisk|\bmount(?:ed|point)?\b|\bbackups?\b|\bbuckets?\b|\blogs? size"
        );
        self.lines[at.saturating_sub(ABOVE)..=at].iter().any(|line| stored.is_match(line))
    }

    /// Whether a row, or what stands closely above it, is of memory.
    pub(super) fn is_near_memory(&self, at: usize) -> bool {
        const NEAR: usize = 8;
        self.lines[at.saturating_sub(NEAR)..=at].iter().any(|line| {
            regex!(r"(?i)\b(?:\w*memory\w*|(?:mem|rss|v?ram)(?:_\w+)?|heap\w*|kbmem\w+|working set|resident|fb_used|maxrss|peak|kubectl top|private bytes|task manager|htop|nvidia-smi|wired|old gen(?:eration)?|metaspace|kmalloc|slab|s?unreclaim\w*|mem(?:available|free)|bytes_in_use|\w+_heap_\w+|[pu]ss(?:_\w+)?|footprint|leak(?:s|ed|ing)?|traced|pm\(mb\))(?:\b|\W)|\bRES\b|\bOU\b|\b(?:binary|ets): ?\d")
                .is_match(line)
                && !is_scaled(line)
                || is_watched(line)
        })
    }
}

impl<'a> Column<'a> {
    fn of_a_line(at: usize, Across { name, numbers, values }: Across<'a>) -> Self {
        let cells = numbers.into_iter().map(|number| (at, number)).collect();
        Self { values, ..Self::timed(name, cells) }
    }

    /// Readings with their times.
    fn timed(name: String, cells: Vec<(usize, Number<'a>)>) -> Self {
        let values = cells.iter().filter_map(|(_, number)| number.value).collect();
        Self { cells, values, name, sized: true, alike: true, timed: true }
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
    let id = regex!(r"(?i)^\W*(?:gpu|npu|xpu|device|card|rank)(?:[ _]?(?:id|index|idx))?\W*$");
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
    if is_of_sizes(lines, *first) || cells.iter().any(|(at, number)| is_other(lines[*at], number)) {
        return None;
    }
    let alike = cells.windows(2).all(|two| words(two[0].0) == words(two[1].0));
    let values = gone(lines[*first], &cells[0].1, "", cells.iter().filter_map(|(_, number)| number.value).collect());
    Some(Column { values, name: String::new(), sized: true, alike, timed: false, cells })
}

fn of_column<'a>(lines: &[&str], rows: &[Row<'a>], column: usize) -> Option<Column<'a>> {
    let cells: Vec<(usize, Number<'a>)> =
        rows.iter().filter_map(|(at, numbers)| Some((*at, numbers.get(column)?.clone()))).collect();
    let values: Vec<f64> = cells.iter().filter_map(|(_, number)| number.value).collect();
    let sized = cells.iter().all(|(_, number)| number.sized);
    let (first, text) = (rows[0].0, lines[rows[0].0]);
    if values.len() < rows.len()
        || is_other(text, &cells[0].1)
        || is_of_sizes(lines, first)
        || !(sized || is_of_memory(lines, rows, column, &values))
    {
        return None;
    }
    let name = name(lines, rows, column);
    // What passed through a network or a disk.
    if regex!(r"(?i)^(?:(?:net|block|disk) )?i/o$|^(?:net|block|pids)$").is_match(name.trim()) {
        return None;
    }
    let values = gone(text, &cells[0].1, &name, values);
    Some(Column { cells, values, name, sized, alike: true, timed: false })
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
            (
                "request batch 1\nrss: 212.0 MB\nrequest batch 2\nrss: 223.8 MB\nrequest batch 3\nrss: 235.5 MB\nrequest batch 4\nrss: 247.1 MB\nrequest batch 5\nrss: 258.0 MB\nrequest batch 6\nrss: 269.8 MB",
                "212.0 MB",
                "269.8 MB",
            ),
            (
                "timestamp,gpu,vram_used\n1755600000,0,20111\n1755600000,1,20110\n1755600300,0,22924\n1755600300,1,20108\n1755600600,0,25735\n1755600600,1,20110\n1755600900,0,28541\n1755600900,1,20108\n1755601200,0,31356\n1755601200,1,20110",
                "20111",
                "31356",
            ),
            (
                "# dcgmi dmon\n#Entity   GPUTL    FBUSD    POWER\nID        %        MB       W\nGPU 4     65       31202    304.7\nGPU 4     62       36613    303.3\nGPU 4     63       42026    301.4\nGPU 4     61       47439    307.6\nGPU 4     65       52850    303.1",
                "31202",
                "52850",
            ),
            (
                "elapsed_s;Rss_kB;Swap_kB\n0;65120;0\n60;83812;0\n120;83612;0\n180;105273;0\n240;126145;0\n300;126100;0\n360;149750;0\n420;169043;0",
                "65120",
                "169043",
            ),
            (
                "print(i, p.memory_info().rss)\n0 71.4 MB\n250 133.9 MB\n500 196.2 MB\n750 258.8 MB\n1000 321.1 MB\n1250 383.5 MB",
                "71.4 MB",
                "383.5 MB",
            ),
            (
                "bytes_in_use\nepoch 0: 3221225472\nepoch 1: 3758096384\nepoch 2: 4294967296\nepoch 3: 4831838208\nepoch 4: 5368709120",
                "3221225472",
                "5368709120",
            ),
            (
                "{~T[14:00:00], binary: 41_220_112}\n{~T[14:10:00], binary: 122_840_900}\n{~T[14:20:00], binary: 204_118_336}\n{~T[14:30:00], binary: 285_790_220}",
                "41_220_112",
                "285_790_220",
            ),
            (
                "[System.Runtime]      t0   t20   t40   t60   t80\n Gen 2 GC Count        3    3     4     3     4\n Working Set (MB)      171  240   308   377   444",
                "171",
                "444",
            ),
            (
                "time    connections   RSS\n07:00   2,010   0.31 GB\n07:30   2,011   0.62 GB\n08:00   2,009   1.09 GB\n08:30   2,010   1.41 GB\n09:00   2,010   1.70 GB",
                "0.31 GB",
                "1.70 GB",
            ),
        ] {
            assert_eq!(found(text), Some((first.to_owned(), last.to_owned())), "{text}");
        }
        for text in [
            "memory\nepoch 1 4.1G\nepoch 2 6.0G\nepoch 3 6.1G\nepoch 4 6.1G\nepoch 5 6.1G",
            "memory\nbatch 8 4.1G\nbatch 16 8.0G\nbatch 32 16.1G\nbatch 64 32.3G\nbatch 128 64G",
            "free -m\n           total     used     free  buff/cache   available\n02:00 Mem: 31905     4221    25570         430       27120\n03:00 Mem: 31905     4201    22407        3593       27130\n04:00 Mem: 31905     4211    18630        7370       27140\n05:00 Mem: 31905     4221    13864       12136       27150\n06:00 Mem: 31905     4201     9579       16421       27160",
            "t,rx_bytes,mem_used_pct\n1730000000,81200112,38.1\n1730000060,121200112,38.1\n1730000120,161200112,38.1\n1730000180,201200112,38.1\n1730000240,241200112,38.1",
            "time    connections   RSS\n07:00   2,010   0.31 GB\n07:30   5,980   0.62 GB\n08:00   12,040   1.09 GB\n08:30   19,900   1.71 GB\n09:00   26,110   2.20 GB",
            "workers used MB\n1 71.4 MB\n2 133.9 MB\n3 196.2 MB\n4 258.8 MB\n5 321.1 MB\n6 383.5 MB",
            "[System.Runtime]      t0   t20   t40   t60   t80\n Free memory (MB)      171  240   308   377   444",
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
