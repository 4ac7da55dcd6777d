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

/// The readings of a line behind the name of what they are of, below a header of their times: `t0  t20  t40`.
pub(super) fn across<'a>(lines: &[&str], at: usize, row: &[Number<'a>]) -> Option<Across<'a>> {
    const READINGS: usize = 5;
    let text = lines[at];
    let values: Vec<f64> = row.iter().filter_map(|number| number.value).collect();
    let name = text[..row.first()?.start].trim();
    if values.len() < READINGS || values.len() < row.len() || !is_named(name) {
        return None;
    }
    let is_header = |line: &&&str| {
        let words = line.split(|c: char| c.is_whitespace() || matches!(c, '|' | ',' | ';'));
        let last = words.rev().filter(|word| !word.is_empty()).take(row.len());
        last.filter(|word| is_time(word)).count() == row.len()
    };
    lines[at.saturating_sub(ABOVE)..at].iter().find(is_header)?;
    let values = gone(text, &row[0], name, values);
    Some(Across { name: name.to_owned(), numbers: row.to_vec(), values })
}
