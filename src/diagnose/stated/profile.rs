//! What tools that look for leaks conclude: the difference of two profiles of a heap, an early and a late one (Go's
//! `pprof -base`, Python's `tracemalloc`, the JVM's `summary.diff`), and what was lost at the end of a program.

use std::collections::BTreeMap;

use ::regex::Captures;
use plimsoll_memory::bytes::ByteSize;

use super::amount::{amounts, unit};
use super::regex;
use super::rows::Series;
use crate::ascii::Pattern;

/// A smaller difference may have any cause, in bytes.
const LEAST_LOSS: f64 = (16 << 20) as f64;
/// How far below a command its totals may be, in lines.
const BELOW: usize = 12;

/// How often one place has to hold more than before.
const COMPARED: usize = 4;
/// How many times the less of two even steps the other one is at most.
const EVENLY: f64 = 1.3;

/// What is lost in fewer blocks, and less than this many bytes, a program needs once.
const LOST: f64 = (1 << 20) as f64;
const BLOCKS: f64 = 100.0;

/// What the late profile has more, or what was lost, if the lines are of such a tool.
pub(super) fn concluded(lines: &[&str]) -> Option<Series> {
    let profiles = || {
        let of_tools = [of_pprof, of_tracemalloc, of_a_jvm, of_objgraph, of_pympler, of_memleak];
        of_tools.iter().find_map(|of_tool| of_tool(lines))
    };
    let difference = || {
        let (first, last, more) = profiles()?;
        Some(([first, last], 2, "the earlier profile", format!("{more} more")))
    };
    let lost = || lost(lines).map(|(at, lost)| ([at, at], 1, "", format!("{lost} lost at the end")));
    let (lines, readings, first, last) = difference().or_else(lost)?;
    Some(Series { lines, first: first.to_owned(), last, readings, ratio: None, name: "heap".to_owned() })
}

/// What a program needs more than an earlier version of it, by a tool that has compared both.
pub(super) fn compared(lines: &[&str]) -> Option<Series> {
    of_heaptrack(lines).or_else(|| of_rustc_perf(lines))
}

/// By how much the compiler of Rust needs more memory on average, as its benchmarks report a commit.
fn of_rustc_perf(lines: &[&str]) -> Option<Series> {
    /// A smaller difference is noise, in percent.
    const LEAST: f64 = 2.0;
    let heading = lines.iter().position(|line| regex!(r"(?i)^\W*max[ -]?rss\b").is_match(line))?;
    let row = regex!(r"^\|\s*Regressions\b[^|]*\|\s*(\d[\d.]*)%\s*\|");
    let (at, more) = lines.iter().enumerate().skip(heading).take(BELOW).find_map(|(at, line)| {
        let more: f64 = row.captures(line)?[1].parse().ok()?;
        Some((at, more))
    })?;
    let (first, name) = ("the commit before".to_owned(), "max rss".to_owned());
    let ratio = Some(1.0 + more / 100.0);
    (more >= LEAST).then(|| Series {
        lines: [heading, at],
        first,
        last: format!("{more} % more"),
        readings: 2,
        ratio,
        name,
    })
}

/// What a heap holds more at its peak, by heaptrack's difference of two recordings.
fn of_heaptrack(lines: &[&str]) -> Option<Series> {
    let of_two = lines.iter().position(|line| line.trim_start().starts_with("reading diff file \""))?;
    let peak = regex!(r"^\s*peak heap memory consumption: (\d[\d.]*)([KMG])");
    let (at, found) = lines.iter().enumerate().skip(of_two).find_map(|(at, line)| Some((at, peak.captures(line)?)))?;
    let more = found[1].parse::<f64>().ok()? * unit(&found[2]);
    let last = || format!("{} more", ByteSize::new(more as u64));
    let (first, name) = ("the earlier recording".to_owned(), "heap".to_owned());
    (more >= LEAST_LOSS).then(|| Series { lines: [of_two, at], first, last: last(), readings: 2, ratio: None, name })
}

/// The summary of valgrind, LeakSanitizer, heaptrack, Dr. Memory or the `leaks` of macOS.
fn lost(lines: &[&str]) -> Option<(usize, ByteSize)> {
    // Of each the bytes, their unit and the blocks, as far as it prints them.
    let summaries = [
        regex!(r"\bdefinitely lost: (?P<bytes>[\d,]+)(?P<unit>) bytes in (?P<blocks>[\d,]+) blocks"),
        regex!(r"SUMMARY: \w*Sanitizer: (?P<bytes>\d+)(?P<unit>) byte\(s\) leaked in (?P<blocks>\d+) allocation"),
        regex!(r"\btotal memory leaked: (?P<bytes>[\d.]+)(?P<unit>[KMG]?)(?P<blocks>)B?\b"),
        regex!(r"\bProcess \d+: (?P<blocks>\d+) leaks? for (?P<bytes>\d+)(?P<unit>) total leaked bytes"),
        regex!(r"\b\d+ unique, +(?P<blocks>\d+) total, +(?P<bytes>\d+)(?P<unit>) byte\(s\) of leak\(s\)"),
    ];
    let number = |text: &str| text.replace(',', "").parse::<f64>().unwrap_or(0.0);
    lines.iter().enumerate().find_map(|(at, line)| {
        let found = summaries.iter().find_map(|summary| summary.captures(line))?;
        let bytes = number(&found["bytes"]) * unit(&found["unit"]);
        (bytes >= LOST || number(&found["blocks"]) >= BLOCKS).then(|| (at, ByteSize::new(bytes as u64)))
    })
}

/// The objects of a type that are more each time that they are counted, by `objgraph.show_growth()`.
fn of_objgraph(lines: &[&str]) -> Option<(usize, usize, String)> {
    let row = regex!(r"^\s*(?P<type>[A-Za-z_][\w.]*) +(?P<count>\d+) +\+(?P<more>\d+)\s*$");
    let number = |(_, row): &(usize, Captures<'_>), name: &str| row[name].parse::<f64>().unwrap_or(0.0);
    by_type(lines, row).into_iter().find_map(|(name, rows)| {
        let goes_on = |two: &[(usize, Captures<'_>)]| {
            number(&two[1], "count") == number(&two[0], "count") + number(&two[1], "more")
        };
        let rises = rows.len() >= COMPARED
            && rows.iter().all(|row| number(row, "more") >= BLOCKS)
            && rows.windows(2).all(goes_on);
        let more: f64 = rows[1..].iter().map(|row| number(row, "more")).sum();
        rises.then(|| (rows[0].0, rows[rows.len() - 1].0, format!("{more} {name}")))
    })
}

/// The objects of a type that take more in each of pympler's differences.
fn of_pympler(lines: &[&str]) -> Option<(usize, usize, String)> {
    let row = regex!(r"^\s*(?P<type>[A-Za-z_][\w.]*) \| +(?P<count>-?\d+) \| +(?P<more>-?\d[\d.]* +[KMG]?B)\s*$");
    let types = by_type(lines, row);
    // Of all that there is, no type has none.
    if !types.values().flatten().any(|(_, row)| row["count"].starts_with(['0', '-'])) {
        return None;
    }
    let bytes = |(_, row): &(usize, Captures<'_>)| {
        let amount = amounts(&row["more"]).first().map_or(0.0, |amount| amount.bytes);
        if row["more"].starts_with('-') { -amount } else { amount }
    };
    types.values().find_map(|rows| {
        let more: f64 = rows.iter().map(bytes).sum();
        let rises = rows.len() >= COMPARED && rows.iter().all(|row| bytes(row) > 0.0) && more >= LEAST_LOSS;
        rises.then(|| (rows[0].0, rows[rows.len() - 1].0, ByteSize::new(more as u64).to_string()))
    })
}

/// What was allocated and not freed at one place, more at each report of `memleak`.
fn of_memleak(lines: &[&str]) -> Option<(usize, usize, String)> {
    const REPORTS: usize = 3;
    let row = regex!(r"^\s*(\d+) bytes in \d+ allocations from stack\b");
    let mut places: BTreeMap<&str, Vec<(usize, f64)>> = BTreeMap::new();
    for (at, two) in lines.windows(2).enumerate() {
        if let Some(bytes) = row.captures(two[0]).and_then(|found| found[1].parse().ok()) {
            places.entry(two[1].trim()).or_default().push((at, bytes));
        }
    }
    places.values().find_map(|rows| {
        let [(first, least), .., (last, most)] = rows[..] else { return None };
        let rises = rows.len() >= REPORTS && rows.windows(2).all(|two| two[1].1 > two[0].1);
        (rises && most - least >= LEAST_LOSS).then(|| (first, last, ByteSize::new((most - least) as u64).to_string()))
    })
}

/// The rows of the form `row` of each type.
fn by_type<'l>(lines: &[&'l str], row: &Pattern) -> BTreeMap<String, Vec<(usize, Captures<'l>)>> {
    let mut types: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some(found) = row.captures(line) {
            types.entry(found["type"].to_owned()).or_default().push((at, found));
        }
    }
    types
}

/// What a JVM has committed since its baseline: at least a fifth more.
fn of_a_jvm(lines: &[&str]) -> Option<(usize, usize, String)> {
    let total = regex!(r"^Total: reserved=\d+[KM]B [+-]\d+[KM]B, committed=(\d+[KM]B) \+(\d+[KM]B)");
    lines.iter().enumerate().find_map(|(at, line)| {
        let found = total.captures(line)?;
        let [committed, more] = [1, 2].map(|group| amounts(&found[group]).first().map_or(0.0, |amount| amount.bytes));
        (more >= LEAST_LOSS && 6.0 * more >= committed).then(|| (at, at, found[2].to_owned()))
    })
}

fn of_pprof(lines: &[&str]) -> Option<(usize, usize, String)> {
    let command = lines.iter().position(|line| {
        regex!(r"\bpprof\b.* --?(?:diff_)?base[ =]").is_match(line) && !regex!(r"alloc_|cpu|profile\?").is_match(line)
    })?;
    let total = regex!(r"^\s*Showing nodes accounting for \d[^,]*, [\d.]+% of (\d[\d.]*[kMGT]B) total");
    let mut below = lines.iter().enumerate().skip(command).take(BELOW);
    let (at, total) = below.find_map(|(at, line)| Some((at, total.captures(line)?.get(1)?.as_str())))?;
    (amounts(total).first()?.bytes >= LEAST_LOSS).then(|| (command, at, total.to_owned()))
}

fn of_tracemalloc(lines: &[&str]) -> Option<(usize, usize, String)> {
    let row = regex!(
        r"(?P<place>[^\s:]+:\d+): size=(?P<held>\d[\d.]* [KMG]?i?B) \((?P<sign>[+-])(?P<more>\d[\d.]* [KMG]?i?B)\), count=\d+ \([+-]\d+\)"
    );
    let rows: Vec<_> = lines.iter().enumerate().filter_map(|(at, line)| Some((at, row.captures(line)?))).collect();
    let bytes = |text: &str| amounts(text).first().map_or(0.0, |amount| amount.bytes);
    let (first, largest) = rows.first()?;
    // Between two equal moments of the work: a program that starts takes memory, too.
    let work = regex!(r"(?i)\b(?:requests?|iterations?|epochs?|hours?|identical|cycles|rounds|calls|jobs|messages)\b");
    let above = first.checked_sub(1).filter(|_| lines[..*first].iter().any(|line| work.is_match(line)));
    // One place holds more each time that two moments are compared.
    let of_it: Vec<_> = rows.iter().filter(|(_, row)| row["place"] == largest["place"]).collect();
    let rises = |two: &[&(usize, Captures<'_>)]| {
        &two[1].1["sign"] == "+" && bytes(&two[1].1["held"]) > bytes(&two[0].1["held"])
    };
    let evenly = |two: &[&(usize, Captures<'_>)]| {
        let [before, after] = [&two[0].1, &two[1].1].map(|row| bytes(&row["more"]));
        after <= EVENLY * before && before <= EVENLY * after
    };
    let again = of_it.len() > 1 && above.is_some() && of_it.windows(2).all(evenly);
    if (again || of_it.len() >= COMPARED) && of_it.windows(2).all(rises) {
        let (last, row) = of_it.last()?;
        let more = bytes(&row["held"]) - bytes(&largest["held"]);
        return (more >= LEAST_LOSS).then(|| (*first, *last, ByteSize::new(more as u64).to_string()));
    }
    let held: f64 = rows.iter().map(|(_, row)| bytes(&row["held"])).sum();
    let signed = |row: &Captures<'_>| if &row["sign"] == "+" { bytes(&row["more"]) } else { -bytes(&row["more"]) };
    let more: f64 = rows.iter().map(|(_, row)| signed(row)).sum();
    let above = above?;
    (more >= LEAST_LOSS && 2.0 * more >= held).then(|| (above, *first, largest["more"].to_owned()))
}

#[cfg(test)]
mod tests;
