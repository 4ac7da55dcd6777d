//! Readings of a single line, whose times stand beside or above them.

use super::axis::is_time;
use super::column::{ABOVE, gone, is_named};
use super::numbers::Number;
use super::regex;

/// The readings of one line.
pub(super) struct Across<'a> {
    pub(super) name: String,
    pub(super) numbers: Vec<Number<'a>>,
    pub(super) values: Vec<f64>,
}

/// The values of a series as Prometheus answers a query of a range: `[[1718000000,"402653184"],..]`.
pub(super) fn matrix(line: &str) -> Option<Across<'_>> {
    let memory = regex!(r"\x22(\w*(?:memory|_rss|heap|alloc)\w*bytes\w*)\x22").captures(line)?;
    let pairs = regex!(r"\[1\d{9}(?:\.\d+)?, ?\x22(\d+(?:\.\d+)?)\x22\]").captures_iter(line);
    let numbers: Vec<Number<'_>> = pairs
        .map(|pair| {
            let value = pair.get(1).expect("the value");
            Number { start: value.start(), written: value.as_str(), value: value.as_str().parse().ok(), sized: true }
        })
        .collect();
    let values = numbers.iter().filter_map(|number| number.value).collect();
    (numbers.len() > 1).then(|| Across { name: memory[1].to_owned(), numbers, values })
}

/// The values of a series as Graphite writes them: `servers.a.rss,1721570400,1721642400,1800|2312889469.7,2331913487.8`.
pub(super) fn graphite(line: &str) -> Option<Across<'_>> {
    let (head, values) = line.split_once('|')?;
    let name = regex!(r"(?i)^([\w.-]*(?:mem|rss|heap|alloc)[\w.-]*),1\d{9},1\d{9},\d+$").captures(head)?;
    let mut start = head.len() + 1;
    let mut numbers = Vec::new();
    for written in values.split(',') {
        // A time without a value has `None`.
        if let Some(value) = written.trim().parse::<f64>().ok().filter(|value| value.is_finite()) {
            numbers.push(Number { start, written, value: Some(value), sized: true });
        }
        start += written.len() + 1;
    }
    let values = numbers.iter().filter_map(|number| number.value).collect();
    (numbers.len() > 1).then(|| Across { name: name[1].to_owned(), numbers, values })
}

/// The values of a series as promtool and the console of Prometheus write them, below the query:
/// `118.2 @[1722470400]`. Each has the name of its metric, and its values with their lines.
pub(super) fn instants<'a>(lines: &[&'a str]) -> Vec<(String, Vec<(usize, Number<'a>)>)> {
    let reading = regex!(r"^\s*(?P<value>\d+(?:\.\d+)?(?:e[+-]?\d+)?) @ ?\[?1\d{9}(?:\.\d+)?\]?\s*$");
    let metric = regex!(r"\b\w*(?:memory|_rss|heap|alloc)\w*bytes\w*");
    let read = |at: usize| {
        let value = reading.captures(lines[at])?.name("value")?;
        let number =
            Number { start: value.start(), written: value.as_str(), value: value.as_str().parse().ok(), sized: true };
        Some((at, number))
    };
    let all: Vec<_> = (0..lines.len()).filter_map(read).collect();
    let blocks = all.chunk_by(|a, b| a.0 + 1 == b.0).filter(|block| block.len() > 1);
    let named = blocks.filter_map(|block| {
        let above = lines[block[0].0.saturating_sub(ABOVE)..block[0].0].iter().rev();
        let name = above.filter_map(|line| metric.find(line)).next()?;
        Some((name.as_str().to_owned(), block.to_vec()))
    });
    named.collect()
}

/// The readings of a line behind the name of what they are of, below a header of their times: `t0  t20  t40`.
pub(super) fn across<'a>(lines: &[&str], at: usize, row: &[Number<'a>]) -> Option<Across<'a>> {
    const READINGS: usize = 4;
    let text = lines[at];
    let values: Vec<f64> = row.iter().filter_map(|number| number.value).collect();
    let name = text[..row.first()?.start].trim();
    if values.len() < READINGS || values.len() < row.len() || !is_named(name) {
        return None;
    }
    // `day 1` is one column.
    let joined =
        |line: &str| regex!(r"(?i)\b(day|week|hour|epoch|run|round) (\d)").replace_all(line, "$1$2").into_owned();
    let is_header = |line: &&&str| {
        let line = joined(line);
        let words = line.split(|c: char| c.is_whitespace() || matches!(c, '|' | ',' | ';'));
        let last = words.rev().filter(|word| !word.is_empty()).take(row.len());
        last.filter(|word| is_time(word)).count() == row.len()
    };
    lines[at.saturating_sub(ABOVE)..at].iter().find(is_header)?;
    let values = gone(text, &row[0], name, values);
    Some(Across { name: name.to_owned(), numbers: row.to_vec(), values })
}
