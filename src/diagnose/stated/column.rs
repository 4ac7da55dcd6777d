//! What a column of numbers is: its name, and whether it is of memory.

use std::collections::HashSet;

use ::regex::Captures;

use super::axis::{heads_times, is_timed};
use super::numbers::{Number, numbers};
use super::regex;

/// How far above its first row what heads a table, or says what is measured, may be.
pub(super) const ABOVE: usize = 12;
/// The least number without a unit that may be an amount beside nothing but other numbers.
const LEAST_AMOUNT: f64 = 50_000.0;
/// The least part of an old generation, in percent, that says anything about it.
const LEAST_PART: f64 = 10.0;

/// Whether a line says that the pieces of the work differ in size, which need more the larger they are. A table that
/// begins with times has courses, whatever else its columns are.
pub(super) fn is_scaled(line: &str) -> bool {
    let sizes = regex!(
        r"(?i)\b(?:bs|batch(?:[ _-]?size)?|seq(?:uence)?|length|resolution|context|concurrency|num_workers|models?|rows|users|threads|dataset|input|connections|sockets|shards)\b"
    );
    // Not in the name of a module, of a file or of a function.
    sizes.is_match(line)
        && sizes.is_match(&regex!(r"\w+(?:[./]\w+)+|--input\b|\b\w+\(|\bgrep (?:-\S+ )*\S+").replace_all(line, ""))
        && !regex!(r"(?i)\bloaded\b|\b(?:fixed|constant|the same|always the|unchanged)\b").is_match(line)
        && line.split_whitespace().filter(|word| *word != "|").count() < 12
        && !heads_times(line)
}

/// Whether line `at`, a row, or what stands closely above it says that the rows are of work of different sizes.
pub(super) fn is_of_sizes(lines: &[&str], at: usize) -> bool {
    regex!(r"(?i)^\W*\d+ (?:tabs?|users?|clients?|workers?|threads?|connections?|nodes?|files?|images?|rows|agents?|players?|gpus?)\b").is_match(lines[at])
        || !starts_timed(lines[at]) && lines[at.saturating_sub(2)..at].iter().any(|line| is_scaled(line))
}

/// Whether no name comes twice.
pub(super) fn all_differ(names: &[String]) -> bool {
    names.iter().collect::<HashSet<_>>().len() == names.len()
}

/// Whether rows are of things by one word each, in the order of their sizes.
pub(super) fn is_by_size(lines: &[&str], cells: &[(usize, Number<'_>)]) -> bool {
    const ROWS: usize = 5;
    let word = |at: usize| {
        let word = lines[at].split_whitespace().find(|word| word.contains(char::is_alphabetic))?;
        let ordinal = regex!(
            r"(?i)^\W*(?:first|second|third|fourth|fifth|sixth|seventh|eighth|initial\w*|start\w*|begin\w*|now|then|later|finally|end)\b"
        );
        // `run1` and `run2` are of one thing, `layer.1` and `layer.2` are two.
        let plain = word.replace(|c: char| c.is_ascii_digit() && !word.contains(['.', '/']), "");
        Some(plain).filter(|plain| plain.len() > 2 && !ordinal.is_match(word) && !is_timed(lines[at]))
    };
    let words: Vec<String> = cells.iter().map_while(|(at, _)| word(*at)).collect();
    let sizes: Vec<f64> = cells.iter().filter_map(|(_, number)| number.value).collect();
    cells.len() >= ROWS && words.len() == cells.len() && all_differ(&words) && sizes.is_sorted()
}

/// Whether each amount has a name of its own before its colon, as in a summary: they are parts of one reading.
pub(super) fn are_parts(lines: &[&str], cells: &[(usize, Number<'_>)]) -> bool {
    const ROWS: usize = 3;
    let name = |(at, number): &(usize, Number<'_>)| {
        let before = lines[*at][..number.start].trim_end().strip_suffix(':')?;
        let name = before.rsplit([']', ')', '\t']).next()?.trim();
        let of_memory = regex!(r"(?i)\b(?:mem\w*|heap|total|max\w*|peak|size|used)\b").is_match(name);
        let at_a_time = regex!(
            r"(?i)\d|\b(?:after|before|at|on|in|start\w*|begin\w*|initial\w*|end|final\w*|now|then|later|first|last|next|old|new)\b"
        );
        (of_memory && !at_a_time.is_match(name)).then(|| name.to_owned())
    };
    let names: Vec<String> = cells.iter().map_while(name).collect();
    cells.len() >= ROWS && names.len() == cells.len() && all_differ(&names)
}

/// Whether a row begins with the time of its readings.
fn starts_timed(row: &str) -> bool {
    regex!(r"^\W*(?:\d{1,4}[-/.]\d\d[-/.]\d{2,4}[T ])?\d\d:\d\d").is_match(row)
}

/// Whether a number is of what may still be used, or of what is set.
pub(super) fn is_other(text: &str, number: &Number<'_>) -> bool {
    let other = regex!(
        r"(?i)\b(?:memfree|buffers|cached|limit|capacity|total memory|cache size|virt|vsz|swap|of|downloaded|uploaded|written|wrote|sent|received|read|transferred|copied|processed)\b\W*$"
    );
    let before = &text[..number.start];
    // What a pod may use, or is given.
    let set = regex!(r"(?i)\b(?:limits|requests):\s.*\bmemory: ?$");
    // The cache of ZFS.
    let cache = regex!(r"^\W*(?:\d\S* +)?ARC: \d");
    other.is_match(before) || cache.is_match(text) || set.is_match(before) || before.ends_with("/ ")
}

/// `values`, or what is gone of them if `number`, the first of them, or its column's `name` is of free memory.
pub(super) fn gone(text: &str, number: &Number<'_>, name: &str, values: Vec<f64>) -> Vec<f64> {
    let behind = &text[number.start + number.written.len()..];
    let free = regex!(r"(?i)(?:^|[\\/.])\W*(?:kb)?(?:mem)?(?:free|avail\w*)\b").is_match(name)
        || regex!(r"(?i)(?:\b|_)(?:free|avail\w*|left|remaining)(?:\b|_)[^\d]{0,12}$").is_match(&text[..number.start])
        || regex!(r"(?i)^ ?(?:free|available|left)\b").is_match(behind)
            // What is left on a device after a release is held.
            && !regex!(r"(?i)^ ?left (?:in use|allocated|on)\b").is_match(behind);
    if !free {
        return values;
    }
    let most = values.iter().copied().fold(0.0, f64::max);
    values.into_iter().map(|value| 1.25 * most - value).collect()
}

/// What the rows call a column: its key, or its header.
pub(super) fn name(lines: &[&str], rows: &[(usize, Vec<Number<'_>>)], column: usize) -> String {
    let (at, numbers) = &rows[0];
    let key = before(lines[*at], numbers, column).trim();
    if key.contains(char::is_alphabetic) {
        return key.to_owned();
    }
    let above = lines[at.saturating_sub(ABOVE)..*at].iter().rev().copied();
    head(lines[*at], &numbers[column], above).unwrap_or_default().to_owned()
}

/// The name and the labels before the value of a metric, as Prometheus writes them.
pub(super) fn metric(row: &str) -> Option<Captures<'_>> {
    regex!(r"^\s*(?P<name>[A-Za-z_:][\w:]*)\{(?P<labels>[^}]*)\}\s+").captures(row)
}

/// The text between a number and the one before it.
fn before<'a>(text: &'a str, numbers: &[Number<'_>], column: usize) -> &'a str {
    // The name of a metric stands before its labels.
    let own = metric(&text[..numbers[column].start]).filter(|own| own[0].len() == numbers[column].start);
    if let Some(name) = own.and_then(|own| own.name("name")) {
        return &text[..name.end()];
    }
    let from = column.checked_sub(1).map_or(0, |left| numbers[left].start + numbers[left].written.len());
    let before = &text[from.min(numbers[column].start)..numbers[column].start];
    // Another key and its word may stand between both numbers: `maxmemory_policy:allkeys-lru evicted_keys:`.
    let own = regex!(r"\w[:=][A-Za-z]\S*\s+(\S.*[:=]\s*)$").captures(before).and_then(|own| own.get(1));
    own.map_or(before, |own| &before[own.start()..])
}

fn mentions(text: &str) -> bool {
    regex!(r"(?i)\((?:[kmg]i?)?b\)|[_ ][kmg]i?b$|[rpu]ss|mem|heap|alloc|bytes|resident|working.?set|fb_?use?d|vram|in_?use|binary|footprint|free|slab|sunreclaim|\{total|\b(?:ws|n?pm)\([kmg]|\banon\b|\bswpd\b|\bcommitted\b|type=.(?:current|rest). size")
        .is_match(text)
}

/// Whether `name` is that of an amount of memory.
pub(super) fn is_named(name: &str) -> bool {
    mentions(name) && !regex!(r"(?i)slots|count|objects|limit|increase|percent|%|total[_-]alloc|alloc\w*_total\b|(?:\b|_)m?allocs(?:\b|_)|(?:\b|_)frees(?:\b|_)|(?:\b|_)(?:[rt]x|net|disk|fs|filesystem|volume|traffic|sent|recv|received|written|read)(?:\b|_)").is_match(name)
}

/// Whether `name` is that of the share of a machine's memory that is used.
fn is_share(name: &str) -> bool {
    regex!(
        r"(?i)(?:^|\W|_)(?:mem(?:ory)?|v?ram|vm|hbm)(?:[ _](?:use?d|usage))?(?:[ _]rate)?[ _]?(?:percent|pct|\(%\))\W*$"
    )
    .is_match(name)
}

/// Whether `name` says nothing of what an export is of.
fn is_value(name: &str) -> bool {
    regex!(r"(?i)^\W*_?(?:value|average|maximum)\W*$").is_match(name)
}

/// Whether numbers without a unit are amounts of memory: by their key, by the header of their column, or by what stands
/// above rows of nothing but numbers.
pub(super) fn is_of_memory(lines: &[&str], rows: &[(usize, Vec<Number<'_>>)], column: usize, values: &[f64]) -> bool {
    let (at, numbers) = &rows[0];
    let text = lines[*at];
    // A temperature, a time or a rate.
    let unit = regex!(r"^ ?(?:\x{b0}|(?:C|F|W|V|s|ms|us|ns|sec|min|h|Hz|[kMG]Hz|fps|rpm|x|rps|qps)\b|%|/s|it/s)");
    let behind = &text[numbers[column].start + numbers[column].written.len()..];
    // `min=` is the next key, and so is `min 181,020`.
    let is_key = |behind: &str| regex!(r"^(?:=| [\d,]{4,})").is_match(behind);
    if unit.find(behind).is_some_and(|unit| !is_key(&behind[unit.end()..])) {
        return false;
    }
    let key = before(text, numbers, column);
    // The number of a device or a process is no amount.
    if regex!(r"(?i)\b(?:rank|gpu|npu|device|card|worker|node|pid|thread|core|layer|stage) ?#? ?$").is_match(key) {
        return false;
    }
    let above = || lines[at.saturating_sub(ABOVE)..*at].iter().rev().copied();
    if is_share(key) || head(text, &numbers[column], above()).is_some_and(is_share) {
        return values.iter().all(|value| (1.0..=100.0).contains(value));
    }
    if let Some(amount) = of_a_tool(text, above()) {
        return amount == numbers[column].start;
    }
    // Steps and times rise as well, and as a rule they are no large numbers.
    let steps: Vec<f64> = values.windows(2).map(|two| two[1] - two[0]).collect();
    let even = steps.len() > 1 && steps.iter().all(|step| *step == steps[0]);
    let named = is_named(key.trim_end());
    if even && (steps[0] < LEAST_AMOUNT || steps[0] % 3600.0 == 0.0) && !(named && values[0] >= LEAST_AMOUNT) {
        return false;
    }
    if named {
        return true;
    }
    if key.contains(char::is_alphabetic) && key.trim_end().ends_with([':', '=']) {
        return is_value(key) && above().any(mentions);
    }
    // `npu-smi` prints the used part and the whole without a unit.
    let whole = || regex!(r"^/ ?\d{4,}\b").is_match(&text[numbers[column].start + numbers[column].written.len()..]);
    if whole() && above().any(|line| line.contains("npu-smi") || line.contains("HBM-Usage")) {
        return true;
    }
    // So does `rocm-smi` as rows of commas: the whole, then the used part.
    if regex!(r"\bcard\d+,\d{8,},$").is_match(&text[..numbers[column].start])
        && above().any(|line| line.contains("rocm-smi"))
    {
        return true;
    }
    if let Some(head) = head(text, &numbers[column], above()) {
        let free = matches!(head.trim(), "free" | "kbmemfree" | "MemFree");
        if free && above().any(|line| regex!(r"(?i)buff/cache|\bavailable\b|\bkb(?:avail|cached)\b").is_match(line)) {
            // What fills the cache is free for whoever needs it.
            return false;
        }
        // Of the old generation `jstat` has the amount, or the part of it that is in use.
        let filled = || head == "OU" || values.iter().any(|part| *part >= LEAST_PART);
        let old = matches!(head, "O" | "OU")
            && filled()
            && above().any(|line| line.contains("jstat") || line.contains(" YGC "));
        // A second line of the header has the units.
        let unit = matches!(head, "KB" | "KiB" | "MB" | "MiB" | "GB" | "GiB");
        let used = || regex!(r"(?i)\bmem\b").is_match(text) || above().any(|line| line.contains("buff/cache"));
        // What an export is of stands above it.
        let value = || is_value(head) && values[0] >= LEAST_AMOUNT && (mentions(text) || above().any(mentions));
        return is_named(head) || head == "RES" || old || unit || head == "used" && used() || value();
    }
    // A row of `top` without its header.
    let top = regex!(r"(?:^|\s)\d+ +\S+ +(?:rt|-?\d+) +-?\d+ +[\d.]+[mgt]? +([\d.]+[mgt]?) +[\d.]+[mgt]? [A-Z] ");
    if top.captures(text).and_then(|row| row.get(1)).is_some_and(|res| res.start() == numbers[column].start) {
        return true;
    }
    if is_sized_above(lines, *at, values[0]) {
        return true;
    }
    // A time in seconds since 1970 beside it is not an amount.
    let alone = numbers.iter().filter(|number| number.value.is_some() && !is_timed(number.written)).count() == 1;
    // Names with digits are versions and the like.
    let timed = || is_timed(&text[..numbers[column].start]) && text.split_whitespace().count() <= 3;
    if !self::numbers(text).0.contains(char::is_alphabetic) || timed() {
        let large = alone || values.iter().all(|value| *value >= LEAST_AMOUNT);
        let asked = at.checked_sub(1).is_some_and(|above| lines[above].contains('(') && mentions(lines[above]));
        let amount = values[0] >= LEAST_AMOUNT / 50.0 || numbers[column].written.contains('.') || asked;
        return large && amount && above().any(mentions);
    }
    alone && is_named(text)
}

/// Where the amount of a row begins, if it is a row of a tool that names its amounts only above, or nowhere.
pub(super) fn of_a_tool<'a>(text: &str, mut above: impl Iterator<Item = &'a str>) -> Option<usize> {
    let tools = [
        // A histogram of Java's heap has the number of its objects and their bytes.
        (regex!(r"^\s*(?:\d+:|Total)\s+\d+\s+(\d+)\b"), regex!(r"-histo\b|class_histogram|#bytes\b")),
        // The old generation by `jstat -gc`, behind what both survivors and Eden have and use, and by `jstat -gc -t`.
        (regex!(r"^\s*(?:\d[\d.]*\s+){7}(\d[\d.]*)\s"), regex!(r"^\s*S0C\s.*\sOC\s+OU\s")),
        (regex!(r"^\s*(?:\d[\d.]*\s+){8}(\d[\d.]*)\s"), regex!(r"^\s*Timestamp\s+S0C\s.*\sOC\s+OU\s")),
        // What a process has mapped, and what of that is resident, in pages.
        (regex!(r"^\d+ (\d+) \d+ \d+ 0 \d+ 0$"), regex!(r"/statm\b")),
        // The resident memory of a process in a raw record of `atop`, behind its state, its page size and its virtual memory.
        (regex!(r"^PRM (?:\S+ ){5}\d+ \(.*\) \S \d+ \d+ (\d+) "), regex!(r"^(?:RESET|SEP)$")),
        // The vectors of R.
        (regex!(r"^Vcells +\d+ +(\d+\.\d)\b"), regex!(r"\bused +\(Mb\) +gc trigger\b")),
    ];
    let rows: Vec<_> =
        tools.into_iter().filter_map(|(row, tool)| Some((row.captures(text)?.get(1)?.start(), tool))).collect();
    if rows.is_empty() {
        return None;
    }
    above.find_map(|line| rows.iter().find(|(_, tool)| tool.is_match(line)).map(|(start, _)| *start))
}

/// Whether the line above a row ends with an amount of this size: what follows has its unit.
fn is_sized_above(lines: &[&str], at: usize, value: f64) -> bool {
    let Some(above) = at.checked_sub(1).map(|above| lines[above]) else { return false };
    let amount = regex!(r"(\d+(?:\.\d+)?) ?(?:[KMG]i?B|[KMG]i)\W*$").captures(above);
    let amount = amount.and_then(|found| found[1].parse::<f64>().ok());
    amount.is_some_and(|amount| amount <= value && value <= 2.0 * amount)
}

/// The name of a number's column in the header of a table: at the same place between bars or commas, or above it.
pub(super) fn head<'a>(text: &str, number: &Number<'_>, mut above: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Points of a series, as interfaces for programs return them.
    if regex!(r"^\s*\[[\d.,\s\x22eE+-]+\],?\s*$").is_match(text) {
        return None;
    }
    let by = ['|', '\t', ';', ','].into_iter().find(|by| match by {
        // Wide gaps stand between columns as well as after commas.
        ',' => text.matches(", ").count() > 1 || text.contains(',') && !text.contains("  "),
        by => text.contains(*by),
    });
    // A row of another process has more numbers than words.
    let is_row = |text: &str| {
        let words = || text.split([' ', '\t', ';', ',', '|']).filter(|word| word.contains(char::is_alphanumeric));
        2 * words().filter(|word| word.starts_with(|c: char| c.is_ascii_digit())).count() > words().count()
    };
    let is_head =
        |text: &str| text.contains(char::is_alphabetic) && !text.ends_with(['.', ':', '!', '?']) && !is_row(text);
    let Some(by) = by else {
        let gaps = |text: &str| regex!(r"\S\s{2,}\S").find_iter(text).count();
        let (start, end) = (number.start, number.start + number.written.len());
        let words = |text: &str| text.split_whitespace().count();
        if gaps(text) < 2 {
            // A word of a header for each column.
            const COLUMNS: usize = 5;
            let head = above.next().filter(|above| is_head(above) && words(above) == words(text))?;
            return head.split_whitespace().nth(words(&text[..start])).filter(|_| words(text) >= COLUMNS);
        }
        // A date and a time are one column.
        let dated = regex!(r"^\s*\d+[-./]\d+\S* \d{1,2}:\d\d").is_match(text);
        let (columns, place) = (words(text) - usize::from(dated), words(&text[..start]));
        let over = |above: &&str| {
            is_head(above) && above.len() > start && (gaps(above) >= 2 || gaps(above) == 1 && words(above) == columns)
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
        // Names of several words stand apart from each other, if there are as many as columns.
        let cells = |text: &str| regex!(r"\s{2,}").split(text.trim()).count();
        if cells(text) == columns {
            let begin = text[..first].rfind("  ").map_or(0, |at| at + 2);
            let stop = text[last..].find("  ").map_or(text.len(), |at| last + at);
            return text.get(begin..stop);
        }
        let begin = text[..first].rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let stop = text[last..].find(char::is_whitespace).map_or(text.len(), |at| last + at);
        return Some(&text[begin..stop]);
    };
    let columns = text.matches(by).count();
    let head = above.find(|text| is_head(text) && text.matches(by).count() == columns)?;
    head.split(by).nth(text[..number.start].matches(by).count())
}
