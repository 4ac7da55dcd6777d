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

/// What is lost in fewer blocks, and less than this many bytes, a program needs once.
const LOST: f64 = (1 << 20) as f64;
const BLOCKS: f64 = 100.0;

/// What the late profile has more, or what was lost, if the lines are of such a tool.
pub(super) fn concluded(lines: &[&str]) -> Option<Series> {
    let profiles = || {
        let of_tools = [of_pprof, of_tracemalloc, of_a_jvm, of_objgraph, of_pympler];
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

/// What a heap holds more at its peak than that of an earlier version, by heaptrack's difference of two recordings.
pub(super) fn compared(lines: &[&str]) -> Option<Series> {
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
    // One place holds more each time that two moments are compared.
    let of_it: Vec<_> = rows.iter().filter(|(_, row)| row["place"] == largest["place"]).collect();
    let rises = |two: &[&(usize, Captures<'_>)]| {
        &two[1].1["sign"] == "+" && bytes(&two[1].1["held"]) > bytes(&two[0].1["held"])
    };
    if of_it.len() >= COMPARED && of_it.windows(2).all(rises) {
        let (last, row) = of_it.last()?;
        let more = bytes(&row["held"]) - bytes(&largest["held"]);
        return (more >= LEAST_LOSS).then(|| (*first, *last, ByteSize::new(more as u64).to_string()));
    }
    let held: f64 = rows.iter().map(|(_, row)| bytes(&row["held"])).sum();
    let signed = |row: &Captures<'_>| if &row["sign"] == "+" { bytes(&row["more"]) } else { -bytes(&row["more"]) };
    let more: f64 = rows.iter().map(|(_, row)| signed(row)).sum();
    // Between two equal moments of the work: a program that starts takes memory, too.
    let work = regex!(r"(?i)\b(?:requests?|iterations?|epochs?|hours?|identical|cycles|rounds|calls|jobs|messages)\b");
    let above = first.checked_sub(1).filter(|_| lines[..*first].iter().any(|line| work.is_match(line)))?;
    (more >= LEAST_LOSS && 2.0 * more >= held).then(|| (above, *first, largest["more"].to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_late_profile_has_more_is_growth() {
        let of = |text: &str| concluded(&text.lines().collect::<Vec<_>>()).map(|found| found.last);
        let pprof = |command: &str, shown: &str| {
            of(&format!("$ go tool pprof {command}\nType: inuse_space\nShowing nodes accounting for {shown} total\n"))
        };
        assert_eq!(
            pprof("-top -base a.pb.gz b.pb.gz", "913.52MB, 98.41% of 928.30MB"),
            Some("928.30MB more".to_owned())
        );
        assert_eq!(pprof("-diff_base=a.pb.gz b.pb.gz", "1.52GB, 98.41% of 1.60GB"), Some("1.60GB more".to_owned()));
        assert_eq!(pprof("-top -base a.pb.gz b.pb.gz", "-3.52MB, 98.41% of 928.30MB"), None);
        assert_eq!(pprof("-top -base a.pb.gz b.pb.gz", "3.52MB, 98.41% of 3.60MB"), None);
        assert_eq!(pprof("-top b.pb.gz", "913.52MB, 98.41% of 928.30MB"), None);
        assert_eq!(pprof("-alloc_space -base a.pb.gz b.pb.gz", "913.52MB, 98.41% of 928.30MB"), None);
        let python = |above: &str, row: &str| of(&format!("{above}\n/app/a.py:48: {row}, average=133 B\n"));
        let grown = "size=311 MiB (+305 MiB), count=2450112 (+2401108)";
        assert_eq!(python("between 1,000 and 50,000 requests", grown), Some("305 MiB more".to_owned()));
        assert_eq!(python("after the start", grown), None);
        let again = |more: &[u32]| {
            let row = |mib: &u32| format!("a.py:48: size={mib} MiB (+18 MiB), count=241022 (+236914), average=80 B\n");
            of(&more.iter().map(row).collect::<String>())
        };
        assert_eq!(again(&[18, 36, 54, 72]), Some("54.00 MiB more".to_owned()));
        assert_eq!(again(&[18, 36, 54, 30]), None);
        assert_eq!(python("after 10 requests", "size=311 MiB (+12 MiB), count=2450112 (+2401108)"), None);
        assert_eq!(
            of("Total: reserved=6402112KB +2911040KB, committed=5188320KB +2904212KB"),
            Some("2904212KB more".to_owned())
        );
        assert_eq!(of("Total: reserved=6402112KB +2911KB, committed=5188320KB +2904KB"), None);
        assert_eq!(python("after 10 requests", "size=311 MiB (-305 MiB), count=2450112 (-2401108)"), None);
    }

    #[test]
    fn objects_that_are_more_each_time_are_growth() {
        let of = |text: &str| concluded(&text.lines().collect::<Vec<_>>()).map(|found| found.last);
        let growth = |counts: [u32; 4]| {
            let row = |(at, count): (usize, &u32)| format!("after batch {at}\nRequest {count:>10} {:>+8}\n", 50_000);
            format!("function 2071 +2071\n{}", counts.iter().enumerate().map(row).collect::<String>())
        };
        assert_eq!(of(&growth([50_000, 100_000, 150_000, 200_000])), Some("150000 Request more".to_owned()));
        assert_eq!(of(&growth([50_000, 50_000, 50_000, 50_000])), None);
        let table = |list: i32| {
            format!(
                "  types |   # objects |   total size\n======= | =========== | ============\n  bytearray |  30000 |  30.24 MB\n  list | {list} | 234.45 KB\n"
            )
        };
        assert_eq!(of(&table(0).repeat(4)), Some("120.96 MiB more".to_owned()));
        assert_eq!(of(&table(30_000).repeat(4)), None, "all that there is, four times");
        assert_eq!(of(&table(0).repeat(3)), None);
    }

    #[test]
    fn what_a_later_version_holds_more_is_a_regression() {
        let of = |peak: &str| {
            let text =
                format!("reading file \"b.zst\"\nreading diff file \"a.zst\"\npeak heap memory consumption: {peak}\n");
            compared(&text.lines().collect::<Vec<_>>()).map(|found| found.last)
        };
        assert_eq!(of("165.70M"), Some("165.70 MiB more".to_owned()));
        assert_eq!(of("-165.70M"), None);
        assert_eq!(of("312.40K"), None);
        assert!(compared(&["peak heap memory consumption: 165.70M"]).is_none(), "one recording");
    }

    #[test]
    fn what_was_lost_at_the_end_is_growth() {
        let of = |text: &str| concluded(&[text]).map(|found| found.last);
        for (text, expected) in [
            ("==1== definitely lost: 41,472,000 bytes in 864,000 blocks", Some("39.55 MiB lost at the end")),
            ("==1== definitely lost: 72 bytes in 1 blocks", None),
            (
                "SUMMARY: AddressSanitizer: 393216 byte(s) leaked in 6144 allocation(s).",
                Some("384.00 KiB lost at the end"),
            ),
            ("SUMMARY: LeakSanitizer: 24 byte(s) leaked in 1 allocation(s).", None),
            ("total memory leaked: 221.34M", Some("221.34 MiB lost at the end")),
            ("Process 812: 5120 leaks for 41943040 total leaked bytes.", Some("40.00 MiB lost at the end")),
            ("      12 unique,  4096 total, 262144 byte(s) of leak(s)", Some("256.00 KiB lost at the end")),
        ] {
            assert_eq!(of(text).as_deref(), expected, "{text}");
        }
    }
}
