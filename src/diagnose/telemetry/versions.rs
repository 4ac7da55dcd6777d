//! [`Versions`]: rows that compare the memory of two versions, `peak allocated  41.2 GiB  58.9 GiB  +43.0 %`. A program
//! or a person writes them, in a form of their own: the numbers prove what they are.

use std::borrow::Cow;

use super::figure::Figure;
use super::kind::{is_of_a_gpu, kind};
use super::line::Line;
use super::sample::{Format, Metric, Sample};
use super::scan::{Number, number, of_bytes, unit};
use crate::ascii::regex;

/// The longest row and header.
const LONGEST_ROW: usize = 300;
/// A ratio nearer to one proves little.
const MUCH: f64 = 1.04;
/// The least amount without any unit that is one of bytes.
const LEAST_BYTES: f64 = 1e8;
/// Rows without a unit follow their header within this many lines.
const NEAR: u64 = 40;

/// What a header says of the rows below it.
#[derive(Debug)]
struct Header {
    /// The bytes of the unit, if it names one.
    unit: Option<u64>,
    /// Whether it names two versions, so that rows need not state the difference.
    pair: bool,
    /// Whether the newer one stands first.
    newest_first: bool,
    /// Whether rows have the new amount, and how much it differs from the old one: `742.80 MiB (+71.20%)`.
    change: bool,
    memory: bool,
    gpu: bool,
    line: u64,
}

/// The comparisons of one process.
#[derive(Debug, Default)]
pub(super) struct Versions {
    header: Option<Header>,
}

/// What stands behind a number.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Of {
    Bytes(u64),
    Percent,
    /// How many times as much: `1.50x`.
    Times,
    /// Something else that is measured.
    Other,
    Nothing,
}

/// A number of a row.
#[derive(Clone, Copy, Debug)]
struct Amount {
    at: usize,
    value: f64,
    /// The largest error of its rounding.
    error: f64,
    signed: bool,
    of: Of,
}

impl Versions {
    /// Takes `line` if it is a row or a header; `above` are the last text and the last heading before it.
    pub(super) fn take(&mut self, line: &Line<'_>, above: [&str; 2], samples: &mut Vec<Sample>) -> bool {
        let text = line.text.trim();
        if text.len() > LONGEST_ROW {
            return false;
        }
        // An amount may be written as code in a table of GitHub.
        let code = text.starts_with('|') && text.contains('`');
        let text = if code { regex!(r"`(\d[\d.,]*)`").replace_all(text, "$1") } else { Cow::from(text) };
        let text = &*text;
        if let Some(mut header) = header(text, line.position.line) {
            header.memory |= above.into_iter().any(of_memory);
            header.gpu |= above.into_iter().any(is_of_a_gpu);
            header.unit = header.unit.or_else(|| above.into_iter().filter(|above| of_memory(above)).find_map(unit_in));
            self.header = Some(header);
            return true;
        }
        let header = self.header.as_ref().filter(|header| line.position.line.saturating_sub(header.line) <= NEAR);
        let Some((label, amounts)) = row(text, header, above) else { return false };
        let gpu = is_of_a_gpu(text) || above.into_iter().any(is_of_a_gpu) || header.is_some_and(|header| header.gpu);
        let other = if gpu { Metric::MaxAllocated } else { Metric::HostUsed };
        let metric = kind(label).filter(|metric| !matches!(metric, Metric::DeviceFree | Metric::DeviceTotal));
        for (step, figure) in amounts.into_iter().enumerate() {
            let mut sample = Sample::new(Format::Versions, line.position);
            sample.with(metric.unwrap_or(other), Some(figure));
            sample.label = Some(label.to_owned()).filter(|label| !label.is_empty());
            // Each row is a run of its own, of two steps.
            sample.step = Some(step as u64);
            line.sign(&mut sample);
            samples.push(sample);
        }
        true
    }
}

/// Whether `text` heads rows that have no text to search for.
pub(super) fn heads(text: &str) -> bool {
    text.len() <= LONGEST_ROW && header(text, 0).is_some_and(|header| header.unit.is_some() || header.pair)
}

fn header(text: &str, line: u64) -> Option<Header> {
    let peaks = || regex!(r"(?i)\bpeak\b").is_match(text) && unit_in(text).is_some();
    let of = |unit, pair, change| Header {
        unit,
        pair,
        newest_first: false,
        change,
        memory: of_memory(text) || peaks(),
        gpu: is_of_a_gpu(text),
        line,
    };
    // Each part of Go's benchstat has a header of its own.
    let bars = text.contains('│');
    if bars && text.contains("vs base") || text.contains("/op") && (bars || text.starts_with("name ")) {
        return Some(of((text.contains("B/op") || text.contains("-bytes ")).then_some(1), false, false));
    }
    if !(text.contains("  ") || text.contains(['|', '\t'])) {
        return None;
    }
    // Bencher compares with what it has kept.
    if text.contains("(Result \u{394}%)") {
        return Some(of(unit_in(text), false, true));
    }
    // A name may have its commit: `base=4f1e90c`, `Current: 3fa2b1c`.
    let text = &*regex!(r"(\b[A-Za-z]+)(?:[=:@]|: )[0-9a-f]{7,40}\b").replace_all(text, "$1");
    if text.bytes().any(|byte| matches!(byte, b'=' | b':')) {
        return None;
    }
    let names = regex!(
        r"(?i)\b(?:baseline|base|before|old|previous|prev|main|master|ref(?:erence)?)\b[^|\n]*(?:\||\s{2,}|\t).*\b(?:candidate|after|new|current|head|this pr|pr|branch|patched|main)\b|\b(?:stable|control|prod(?:uction)?)\b[^|\n]*(?:\||\s{2,}|\t).*\b(?:canary|treatment|experiment)\b|\(v?\d+\.\d+(?:\.\d+)+\)[^|\n]*\|.*\(v?\d+\.\d+(?:\.\d+)+\)|\bv?\d+\.\d+(?:\.\d+)?\S*(?:\s*\||\s{2,}|\t)\s*(?:(?:[A-Za-z][\w+-]* )?v?\d+\.\d+\.\d+\S*|(?:main|head|master|nightly|trunk|this pr|candidate)\b)"
    );
    // A version may have its unit or its role beside it: `v2.2.0 (baseline)`.
    let plain = regex!(r" ?\([^()|]*\)").replace_all(text, "");
    let newest_first =
        regex!(r"(?i)\|\s*(?:current|new|after|contender)\b[^|]*\|\s*(?:previous|prev|old|before|baseline)\b")
            .is_match(text);
    // Both may share a cell.
    let shared = regex!(r"(?i)\((?:old|before|base(?:line)?) vs\.? (?:new|after|head|current)\)").is_match(text);
    // A row has amounts, and commits stand in brackets.
    if !(names.is_match(text) || names.is_match(&plain) || newest_first || shared)
        || amounts(&regex!(r"\[\w+\]|\(\w+\)|<\S+>|`\w+`").replace_all(text, ""))
            .iter()
            .any(|amount| !matches!(amount.of, Of::Nothing))
    {
        return None;
    }
    Some(Header { newest_first, ..of(unit_in(text), true, false) })
}

/// The label of a row, and its two amounts.
fn row<'a>(text: &'a str, header: Option<&Header>, above: [&str; 2]) -> Option<(&'a str, [Figure; 2])> {
    let stated = memchr::memchr2(b'%', b'+', text.as_bytes()).is_some();
    if !stated && header.is_none_or(|header| !header.pair) {
        return None;
    }
    // A sentence may be about a comparison of long ago.
    // Nor are the steps of one run, as rustc lists its passes, those of two versions.
    if text.ends_with(['.', '!', '?']) || !in_columns(text) || regex!(r"^time: *\d").is_match(text) {
        return None;
    }
    let amounts = amounts(text);
    let pair = header.is_some_and(|header| header.pair);
    let newest_first = header.is_some_and(|header| header.newest_first);
    let ordered = |first: Amount, second: Amount| if newest_first { [second, first] } else { [first, second] };
    let proven = amounts.windows(3).find_map(|three| {
        let [before, after] = ordered(three[0], three[1]);
        let three = [before, after, three[2]];
        (proves(&three) || pair && is_ratio(&three)).then_some([before, after])
    });
    // The first cell between bars is a name, which may have numbers.
    let cells = || {
        let name = regex!(r"^\|[^|]*[A-Za-z]{3}[^|]*\|").find(text).map_or(0, |name| name.end());
        &amounts[amounts.partition_point(|amount| amount.at < name)..]
    };
    let bare = || match (header, cells()) {
        (Some(header), [first, second]) if header.pair => Some(ordered(*first, *second)),
        _ => None,
    };
    let changed = || {
        let two = amounts.windows(2).find(|two| {
            header.is_some_and(|header| header.change)
                && matches!(two[0].of, Of::Bytes(_))
                && two[1].of == Of::Percent
                && two[1].signed
        })?;
        let ratio = 1.0 + two[1].value / 100.0;
        let before = Amount { value: two[0].value / ratio, error: two[0].error + 0.01 * two[0].value, ..two[0] };
        (ratio > 0.0).then_some([before, two[0]])
    };
    // The newer one may stand first, and the change before both.
    let other_order = || {
        let mut all =
            amounts.windows(3).flat_map(|three| [[1, 0, 2], [1, 2, 0]].map(|order| order.map(|at| three[at])));
        all.find(|three| proves(three)).map(|[before, after, _]| [before, after])
    };
    let pair = proven.or_else(other_order).or_else(changed).or_else(bare)?;
    let label = label(text, pair[0].at.min(pair[1].at));
    let own = pair.iter().find_map(|amount| if let Of::Bytes(size) = amount.of { Some(size) } else { None });
    // No machine has as many of another unit.
    let bytes = || (of_memory(label) && pair.iter().all(|amount| amount.value >= LEAST_BYTES)).then_some(1);
    let size = own.or_else(|| unit_in(label)).or_else(|| header?.unit).or_else(bytes)?;
    let memory = of_memory(label) || header.is_some_and(|header| header.memory) || above.into_iter().any(of_memory);
    let stored = |text: &str| {
        regex!(
            r"(?i)disk|image|file|download|artifact|bundle|binary|wheel|checkpoint|bandwidth|throughput|traffic|/s\b"
        )
        .is_match(text)
    };
    if !memory || stored(label) || (stored(above[0]) && !of_memory(label)) {
        return None;
    }
    let figure = |amount: Amount| {
        let size = if let Of::Bytes(size) = amount.of { size } else { size };
        let of_memory = matches!(amount.of, Of::Bytes(_) | Of::Nothing) && amount.value > 0.0;
        Figure::rounded(amount.value, size, 2.0 * amount.error).filter(|_| of_memory)
    };
    Some((label, [figure(pair[0])?, figure(pair[1])?]))
}

/// Whether the third number is the change from the first to the second: in percent, or as an amount.
fn proves(three: &[Amount]) -> bool {
    let [before, after, change] = three else { return false };
    if before.value <= 0.0 || after.value <= 0.0 || [before.of, after.of].contains(&Of::Percent) {
        return false;
    }
    let size = |amount: &Amount| if let Of::Bytes(size) = amount.of { size as f64 } else { 1.0 };
    let [a, b] = [before, after].map(|amount| amount.value * size(amount));
    let [a_error, b_error] = [before, after].map(|amount| amount.error * size(amount));
    let (computed, error, stated, rounding) = if change.of == Of::Percent {
        let ratio = b / a;
        (100.0 * (ratio - 1.0), 100.0 * ratio * (a_error / a + b_error / b), change.value, change.error)
    } else if change.signed && matches!(change.of, Of::Bytes(_) | Of::Nothing) {
        (b - a, a_error + b_error, change.value * size(change), change.error * size(change))
    } else {
        return false;
    };
    // Numbers of a digit or two fit everything.
    let exact = error + rounding < computed.abs().max(if change.of == Of::Percent { 4.0 } else { 0.0 }) / 2.0;
    exact && (computed - stated).abs() <= 1.01 * (error + rounding)
}

/// Whether the third number is how many times the first one the second is.
fn is_ratio(three: &[Amount]) -> bool {
    let [before, after, times] = three else { return false };
    let plain = matches!(times.of, Of::Nothing | Of::Times) && !times.signed && times.error < 0.1;
    let ratio = after.value / before.value;
    let error = ratio * (before.error / before.value + after.error / after.value) + times.error;
    plain && before.of == after.of && before.value > 0.0 && (ratio - times.value).abs() <= 1.01 * error && ratio > MUCH
}

/// The numbers of `text`, without those of names (`bs32`, `v2.6.0`) and without what stands behind `±`.
fn amounts(text: &str) -> Vec<Amount> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = text[at..].find(|c: char| c.is_ascii_digit()).map(|next| at + next) {
        let mut start = next;
        let head = &text[..next];
        let sign = head.ends_with(['+', '-']);
        if sign {
            start -= 1;
        }
        let before = text[..start].chars().next_back();
        let written = number(&text[start..]).filter(|number| number.decimals >= 0);
        let negative = head.ends_with('-');
        let of_a_cell = head.trim_end().ends_with(['|', '│']);
        let grouped = grouped(&text[next..], of_a_cell);
        let grouped = grouped.map(|found| Number { value: if negative { -found.value } else { found.value }, ..found });
        let written = grouped.or(written);
        let end = written.map_or(next + 1, |written| text.len() - written.rest.len());
        at = end.max(next + 1);
        let in_a_name = before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '@' | '='));
        let Some(written) = written.filter(|_| !in_a_name) else {
            at += text[at..].bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'.').count();
            continue;
        };
        let rest = written.rest;
        // A version, a date, a number with thousands apart.
        if rest.starts_with(['.', '_', '/', ':', ',']) && rest[1..].starts_with(|c: char| c.is_ascii_digit()) {
            at += rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"._/:,".contains(byte)).count();
            continue;
        }
        if text[..start].trim_end().ends_with('±') {
            continue;
        }
        let binary = ["Ki", "Mi", "Gi"].iter().position(|name| {
            rest.strip_prefix(name).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
        });
        let of = if rest.trim_start().starts_with('%') {
            Of::Percent
        } else if let Some(power) = binary {
            Of::Bytes(1 << (10 * (power + 1)))
        } else if let Some((size, _)) = of_bytes(rest).filter(|(_, rest)| !rest.starts_with('/')) {
            Of::Bytes(size)
        } else if rest
            .strip_prefix(['x', '\u{d7}'])
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
        {
            Of::Times
        } else if rest.trim_start_matches(' ').starts_with(|c: char| c.is_alphabetic()) && !rest.starts_with("  ") {
            Of::Other
        } else {
            Of::Nothing
        };
        found.push(Amount { at: start, value: written.value, error: written.step() / 2.0, signed: sign, of });
    }
    found
}

/// The number at the start of `text` whose digits stand in groups: `60,874`, `1,218.9`, `7 312 MiB`, or `7 312` that fills
/// its cell.
fn grouped(text: &str, of_a_cell: bool) -> Option<Number<'_>> {
    // Most numbers have no groups, and are many.
    let digits = text.bytes().take(4).take_while(u8::is_ascii_digit).count();
    if !matches!(text.as_bytes().get(digits), Some(b',' | b' ')) {
        return None;
    }
    let found =
        regex!(r"^(\d{1,3}(?:,\d{3})+(?:\.\d+)?)\b|^(\d{1,3}(?: \d{3})+) [KMG]i?B\b|^(\d{1,3}(?: \d{3})+) *[|│]")
            .captures(text)?;
    let in_cell = || found.get(3).filter(|_| of_a_cell);
    let (written, rest) = text.split_at(found.get(1).or(found.get(2)).or_else(in_cell)?.end());
    let decimals = written.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i32);
    Some(Number { value: written.replace([',', ' '], "").parse().ok()?, decimals, rest })
}

/// Whether the parts of `text` stand apart from each other, or an arrow between them.
fn in_columns(text: &str) -> bool {
    text.contains("  ") || text.contains(['|', '│', '\t', '→']) || text.contains("->") || text.contains("=>")
}

/// The name of a row whose first amount begins at `first`: before its amounts, or behind them.
fn label(text: &str, first: usize) -> &str {
    fn trimmed(text: &str) -> &str {
        text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '|' | '│' | ':' | '*' | '-' | '`' | '=' | '+'))
    }
    let before = trimmed(&text[..first]);
    let cells = text[first..].rsplit(['|', '│']).flat_map(|cell| cell.rsplit("  "));
    let behind = || cells.map(trimmed).find(|cell| cell.starts_with(char::is_alphabetic));
    if before.contains(char::is_alphanumeric) { before } else { behind().unwrap_or(before) }
}

/// The unit that `text` names as a word: `peak (GiB)`.
fn unit_in(text: &str) -> Option<u64> {
    let mut words = text.split(|c: char| !c.is_ascii_alphabetic() && c != '/');
    let own = |word: &str| match word {
        "mb" => Some(1 << 20),
        "gb" => Some(1 << 30),
        _ => unit(word).filter(|(_, rest)| rest.is_empty()).map(|(size, _)| size),
    };
    words.find_map(own)
}

fn of_memory(text: &str) -> bool {
    regex!(r"(?i)mem(?:ory)?\b|_mem|mem_|alloc|reserved|(?:\b|_)rss(?:\b|_)|maxrss|\bram\b|heap|vram|resident|footprint|B/op|working set")
        .is_match(text)
}

#[cfg(test)]
mod tests;
