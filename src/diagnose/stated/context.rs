//! What stands around the rows of a column: when they were read, how much work was done or is held, and what else the text
//! is of.

use super::axis::{counts_up, heads_a_reading, heads_times, in_equal_steps, is_timed, is_watched};
use super::column::{ABOVE, all_differ, is_named, is_scaled, metric, name, of_a_tool};
use super::numbers::{Number, numbers};
use super::rows::{Column, Columns};
use super::{levels_off, regex, rise};
use crate::telemetry::{is_a_size, is_of_data, is_of_work};

/// Whether numbers go up many times, in steps that differ.
fn are_sizes(values: &[f64]) -> bool {
    const MANY_TIMES: f64 = 4.0;
    let steps: Vec<f64> = values.windows(2).map(|two| two[1] - two[0]).collect();
    let [first, rest @ ..] = &steps[..] else { return false };
    values.is_sorted()
        && values[values.len() - 1] >= MANY_TIMES * values[0].max(1.0)
        && rest.iter().any(|step| step != first)
}

/// How much more the last value is than the first, as a share of that.
fn growth(values: &[f64]) -> f64 {
    (values[values.len() - 1] - values[0]) / values[0].max(1.0)
}

/// The numbers at one place of all rows; absent if a row has none there.
fn values_at(rows: &[(usize, Vec<Number<'_>>)], place: usize) -> Option<Vec<f64>> {
    rows.iter().map(|(_, numbers)| numbers.get(place)?.value).collect()
}

/// Whether each of `memory` is the same share of the size beside it, within a twentieth: nothing is held besides.
fn are_parts_of(sizes: &[f64], memory: &[f64]) -> bool {
    let shares: Vec<f64> = memory.iter().zip(sizes).map(|(memory, size)| memory / size).collect();
    let (least, most) =
        shares.iter().fold((f64::MAX, 0.0f64), |(least, most), &share| (least.min(share), most.max(share)));
    shares.len() >= 4 && most <= 1.05 * least
}

/// The words of a header above place `start` of its rows, between gaps.
fn heading(header: &str, start: usize) -> Option<&str> {
    let gaps = regex!(r"\s{2,}");
    let from = gaps.find_iter(header).map(|gap| gap.end()).take_while(|end| *end <= start).last().unwrap_or(0);
    let end = gaps.find_at(header, from).map_or(header.len(), |gap| gap.start());
    (from < end).then(|| &header[from..end])
}

impl<'a> Columns<'a> {
    /// What stands above the first row of a column, the nearest first.
    pub(super) fn above(&self, column: &Column<'_>) -> impl Iterator<Item = &'a str> {
        let first = column.cells[0].0;
        self.lines[first.saturating_sub(ABOVE)..first].iter().rev().copied()
    }

    /// What heads the table of a column.
    fn header(&self, column: &Column<'_>) -> Option<&'a str> {
        self.above(column).find(|line| line.contains(char::is_alphabetic))
    }

    /// Whether the first column of its table has times.
    pub(super) fn is_headed_by_times(&self, column: &Column<'_>) -> bool {
        column.alike && self.header(column).is_some_and(heads_times)
    }

    /// Whether another column of its table, of how much work is held, rises with it: at least half as fast. What falls is
    /// free memory: a cache may fill it.
    pub(super) fn follows_work(&self, column: &Column<'_>) -> bool {
        let rows: Vec<_> = column.cells.iter().map(|(at, _)| (*at, numbers(self.lines[*at]).1)).collect();
        let (first, last) = (&column.cells[0].1, &column.cells[column.cells.len() - 1].1);
        if of_a_tool(self.lines[column.cells[0].0], self.above(column)).is_some() {
            return false;
        }
        if is_of_data(&self.lines[column.cells[0].0][..first.start]) {
            return true;
        }
        if let (Some(first), Some(last)) = (first.value, last.value)
            && column.values[0] != first
        {
            let cache = regex!(r"(?i)^\W*(?:kb)?(?:cached?|buff/cache|page ?cache|file)\W*$");
            return (0..rows[0].1.len()).filter(|other| cache.is_match(&name(self.lines, &rows, *other))).any(
                |other| {
                    let ends =
                        [&rows[0], &rows[rows.len() - 1]].map(|row| row.1.get(other).and_then(|number| number.value));
                    matches!(ends, [Some(before), Some(after)] if 2.0 * (after - before) >= first - last)
                },
            );
        }
        let memory = growth(&column.values);
        if self.follows_work_below(column, memory) {
            return true;
        }
        let heads =
            |line: &str| line.split([' ', '\t', ',', ';', '|']).find(|word| !word.is_empty()).is_some_and(is_of_work);
        let header = self.header(column);
        let headed = header.is_some_and(heads);
        let names = |header: &str| header.trim_start().starts_with(char::is_alphabetic) && !heads_times(header);
        let sized_first = header.is_some_and(names);
        (0..rows[0].1.len()).any(|other| {
            let Some(values) = values_at(&rows, other) else { return false };
            let start = rows[0].1[other].start;
            let of_work = || {
                other == 0 && headed
                    || is_of_work(&name(self.lines, &rows, other))
                    || start != first.start && header.and_then(|header| heading(header, start)).is_some_and(is_of_work)
            };
            let first_size =
                || other == 0 && start < first.start && sized_first && are_parts_of(&values, &column.values);
            (self.is_of_a_size(&rows[0], other) || first_size()) && are_sizes(&values)
                || 2.0 * growth(&values) >= memory && of_work()
        })
    }

    /// Whether a line as far below each row says how much work is held, and that rises as well: at least half as fast as
    /// `memory`.
    fn follows_work_below(&self, column: &Column<'_>, memory: f64) -> bool {
        const BELOW: usize = 4;
        (1..=BELOW).any(|distance| {
            let row = |(at, _): &(usize, Number<'_>)| {
                let line = self.lines.get(at + distance)?;
                Some((at + distance, numbers(line).1)).filter(|(_, numbers)| !numbers.is_empty())
            };
            let Some(rows) = column.cells.iter().map(row).collect::<Option<Vec<_>>>() else { return false };
            let rises = |place: usize| values_at(&rows, place).is_some_and(|values| 2.0 * growth(&values) >= memory);
            (0..rows[0].1.len()).any(|other| is_of_work(&name(self.lines, &rows, other)) && rises(other))
        })
    }

    /// Whether a number of a row is how large the work was: `"seq_len":4096`, `exported 5000 rows`.
    fn is_of_a_size(&self, (at, numbers): &(usize, Vec<Number<'_>>), place: usize) -> bool {
        let (line, number) = (self.lines[*at], &numbers[place]);
        // `items` behind an amount is the next key.
        !number.sized && regex!(r"(?i)^ (?:rows|records|items|files|images|documents|docs|entries|points|vertices|edges|nodes|tokens|samples|keys|vectors)\b")
            .is_match(&line[number.start + number.written.len()..])
            || is_a_size(&line[..number.start])
    }

    /// Whether lines of another form below have the same key with more readings, in which it levels off.
    pub(super) fn levels_off_below(&self, column: &Column<'_>) -> bool {
        let is_key = |word: &&str| word.ends_with(['=', ':']) && *word != "is:";
        let Some(key) = column.name.split_whitespace().next_back().filter(is_key) else { return false };
        let last = column.cells.iter().map(|(at, _)| *at).max().unwrap_or_default();
        let value = |line: &&str| {
            let at = line.find(key)? + key.len();
            numbers(line).1.into_iter().find(|number| number.start >= at)?.value
        };
        let below: Vec<f64> = self.lines[last + 1..].iter().filter_map(value).collect();
        let all = [&column.values[..], &below].concat();
        !below.is_empty() && (!rise(&all) || levels_off(&all))
    }

    /// Whether each row begins with how often the same work was done: from nothing up in equal steps, or from one and
    /// with the name of the memory.
    pub(super) fn counts(&self, column: &Column<'_>) -> bool {
        const READINGS: usize = 6;
        // Whoever counts blocks of the same work says so.
        let same_work = self.above(column).any(|line| {
                regex!(r"(?i)\b(?:identical|same|equal)\b.*\b(?:per|each|every|a) (?:block|batch|round|row|step|cycle|pass|run|line)\b|\b(?:per|each|every) (?:block|batch|round|row|step|cycle|pass|run|line)\b.*\b(?:identical|same|equal)\b").is_match(line)
        });
        let count = |(at, number): &(usize, Number<'_>)| {
            let (first, rest) = self.lines[*at][..number.start].trim_start().split_once(char::is_whitespace)?;
            let first = first.trim_end_matches([':', ',', '|', ')']);
            let count = first.strip_prefix('x').unwrap_or(first).parse::<u64>().ok()?;
            let plain = !rest.contains(if same_work { char::is_alphabetic } else { char::is_alphanumeric });
            (plain || count > 0 && is_named(rest)).then_some(count)
        };
        let Some(counts) = column.cells.iter().map(count).collect::<Option<Vec<_>>>() else { return false };
        // A header says what is counted, which may be what the memory holds.
        let first = column.cells[0].0;
        let named = is_named(&self.lines[first][..column.cells[0].1.start]);
        // `x20` is how often.
        let again = self.lines[first].trim_start().starts_with('x');
        let headed = || !name(self.lines, &[(first, numbers(self.lines[first]).1)], 0).is_empty();
        counts.len() >= READINGS
            && (counts[0] == 0
                || counts[..2] == [1, 2] && same_work
                || counts[..2] == [1, 2] && named
                || counts[0] > 1 && counts[1] == 2 * counts[0] && (!named || again))
            && in_equal_steps(&counts)
            && (again || !headed() || same_work)
    }

    /// Whether each row begins with a count that grows many times, in steps that differ: of how large the work is.
    pub(super) fn is_of_counts(&self, column: &Column<'_>) -> bool {
        let count = |(at, _): &(usize, Number<'_>)| {
            let count = regex!(r"^\s*(\d{1,3}(?:[,_]\d{3})+|\d+)(?:\s|$)").captures(self.lines[*at])?;
            Some(count[1].replace([',', '_'], "").parse::<u64>().ok()? as f64)
        };
        column.cells.iter().map(count).collect::<Option<Vec<f64>>>().is_some_and(|counts| are_sizes(&counts))
    }

    /// Whether as far above each row stands when it was read, or how often the same work was done.
    pub(super) fn is_counted(&self, column: &Column<'_>) -> bool {
        (1..=ABOVE).any(|distance| {
            let apart = column.cells.windows(2).all(|two| two[1].0 > two[0].0 + distance);
            let head = |at: &usize| at.checked_sub(distance).map(|at| self.lines[at]);
            let heads = column.cells.iter().map(|(at, _)| head(at)).collect::<Option<Vec<_>>>();
            // A command may stand in the first one's place.
            let times = |heads: &[&str]| heads[1..].iter().all(|head| heads_a_reading(head));
            apart && column.alike && heads.is_some_and(|heads| counts_up(&heads) || times(&heads))
        })
    }

    /// Whether its rows are one line of a monitor, printed again and again: they have the same names, and in a list of
    /// processes the same number.
    pub(super) fn is_watched(&self, column: &Column<'_>) -> bool {
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
            && (is_watched(self.lines[first]) || self.above(column).any(is_watched))
            && same(&|at| names(at) == names(first))
            && (!self.above(column).any(|line| processes.is_match(line)) || same(&|at| number(at) == number(first)))
    }

    /// Whether each row is of a thing of its own: of another process, with other labels, or of another name below a header
    /// that says what is listed.
    pub(super) fn is_of_things(&self, column: &Column<'_>) -> bool {
        const ROWS: usize = 3;
        let differ = |of: &dyn Fn(&str) -> Option<String>| {
            let names: Vec<String> = column.cells.iter().map_while(|(at, _)| of(self.lines[*at])).collect();
            names.len() == column.cells.len() && all_differ(&names)
        };
        let labels = |row: &str| Some(metric(row)?["labels"].to_owned());
        let pid = |row: &str| Some(regex!(r"\bpid[ =:]{1,2}(\d+)\b").captures(row)?[1].to_owned());
        let name = |row: &str| {
            let row = row.trim_matches(['|', ' ', '\t', '"']);
            let end = regex!(r"\s{2,}|\t|\||,|;").find(row)?.start();
            Some(row[..end].to_owned()).filter(|name| name.contains(char::is_alphabetic) && !is_timed(name))
        };
        let heads = regex!(
            r"(?i)^(?:\W|_)*(?:image )?(?:name|process|command|scene|level|map|page|model|layer|function|module|package|table|tab|file|dataset|scenario|service|container|app(?:lication)?|symbol|site|url|endpoint|kernel|operator|sprite|texture|asset)s?(?: name)?(?:\s{2,}|\t|\W*[|,;])"
        );
        column.cells.len() >= ROWS
            && (differ(&pid) || differ(&labels) || self.above(column).any(|line| heads.is_match(line)) && differ(&name))
    }

    /// Whether a row is of what is on a disk, which grows from day to day, whatever its name is.
    pub(super) fn is_stored(&self, column: &Column<'_>) -> bool {
        let stored = regex!(
            r"(?i)pg_size_pretty|relname|tablespace|\b(?:du|df) -|\bdisk|\bmount(?:ed|point)?\b|\bbackups?\b|\bbuckets?\b|\blogs? size"
        );
        let at = column.cells[0].0;
        // The cache of ZFS is wired, and not free, to FreeBSD.
        let of_zfs = |line: &&str| regex!(r"^\W*(?:\d\S* +)?ARC: \d").is_match(line);
        if self.lines[at].contains(" Wired") && self.lines.iter().any(of_zfs) {
            return true;
        }
        let number = &column.cells[0].1;
        let behind = &self.lines[at][number.start + number.written.len()..];
        if regex!(r"(?i)filesystem|(?:\b|_)(?:fs|disk|volume|pvc)(?:\b|_)").is_match(&column.name)
            || regex!(r"(?i)^ ?(?:allocated )?cumulative").is_match(behind)
        {
            return true;
        }
        // What stands above rows that name memory is of something else.
        let from = if is_named(&column.name) { at } else { at.saturating_sub(ABOVE) };
        self.lines[from..=at].iter().any(|line| stored.is_match(line))
    }

    /// Whether a row, or what stands closely above it, is of memory.
    pub(super) fn is_near_memory(&self, at: usize) -> bool {
        const NEAR: usize = 8;
        self.lines[at.saturating_sub(NEAR)..=at].iter().any(|line| {
            regex!(r"(?i)\b(?:\w*memory\w*|(?:mem|(?:\w+_)?[rpu]ss|v?ram)(?:_\w+)?|heap\w*|kbmem\w+|working set|resident|fb_used|maxrss|peak|kubectl top|private bytes|task manager|htop|nvidia-smi|wired|old gen(?:eration)?|metaspace|kmalloc|slab|s?unreclaim\w*|mem(?:available|free)|bytes_in_use|\w+_heap_\w+|[pu]ss(?:_\w+)?|footprint|leak(?:s|ed|ing)?|traced|(?:ws|pm|npm)\([kmg]b?\)|buff/cache|empty_cache|idf_monitor|malloc_info|jmap|outstanding|gc trigger|statm)(?:\b|\W)|\bRES\b|\bOU\b|%M\b|\b(?:binary|ets): ?\d")
                .is_match(line)
                && !is_scaled(line)
                || is_watched(line)
        })
    }
}
