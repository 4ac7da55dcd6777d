//! The numbers of a row, and its shape, which is that of all rows that differ in their numbers alone.

use std::borrow::Cow;

use ::regex::Captures;

use super::amount::unit;
use super::axis::named_times;
use super::{Pattern, regex};

/// The most columns of a row.
const COLUMNS: usize = 24;

/// A number of a row.
#[derive(Clone, Debug)]
pub(super) struct Number<'a> {
    pub(super) start: usize,
    pub(super) written: &'a str,
    /// Absent for a time, a version or a part of a name.
    pub(super) value: Option<f64>,
    /// Whether a unit of bytes follows.
    pub(super) sized: bool,
}

/// A row whose cells have no blanks between the digits of a number: `1 000      1 688`.
pub(super) fn closed(row: Cow<'_, str>) -> Cow<'_, str> {
    // A cell, and the gap behind it.
    let cells = regex!(r"(?:\S+ ?)+(?:\s*$|\s{2,}|\t)");
    let number = regex!(r"^(?P<before>(?:after|step|nach|apr\x{e8}s) )?(?P<digits>\d{1,3}(?: \d{3})+)(?P<gap>\s*)$");
    if !regex!(r"\d \d{3}(?:\s{2}|\s*$|\t)").is_match(&row) || cells.find_iter(&row).count() < 2 {
        return row;
    }
    let close = |cell: &Captures<'_>| match number.captures(&cell[0]) {
        Some(number) => {
            let before = number.name("before").map_or("", |before| before.as_str());
            format!("{before}{}{}", number["digits"].replace(' ', ""), &number["gap"])
        }
        None => cell[0].to_owned(),
    };
    Cow::Owned(cells.replace_all(&row, close).into_owned())
}

/// The name of a commit, a branch or a version behind its key: `"branch":"pr-18"`, `image=api:5.2.7`.
pub(super) fn commits() -> &'static Pattern {
    regex!(
        r#"(?P<key>"?\b(?:commit|sha|rev|revision|branch|ref|tag|build|release|version|image)(?:"\s*:\s*|=))(?P<name>"[^"]*"|[A-Za-z][^\s,;"]*|[0-9a-f]{7,40}\b|\d+\.\d+\.\d+[^\s,;"]*)"#
    )
}

/// The shape of `text`, in which each number is alike, and its numbers.
pub(super) fn numbers(text: &str) -> (String, Vec<Number<'_>>) {
    let written = regex!(
        r"(?P<number>\d{1,3}(?:[,_]\d{3})+(?:\.\d+)?\b|\d\.\d+[eE]\+?\d{1,2}\b|\d+(?:[.:-]\d+)*)(?: ?(?P<unit>[kKmMgGtT]i?[bB]\b|[kKMG]i\b|[kKmMgG]?[bB]ytes\b|B\b)|(?P<short>[kKmMgG]\b| [kKmMgG]$)| ?(?P<percent>%))?|(?P<drawn>[=*#\x{2588}\x{2501}-]{2,})|(?P<none> -\s)"
    );
    // Rows of one form are of several commits, whose names may have numbers.
    let named = commits();
    let names: Vec<_> = named.captures_iter(text).filter_map(|found| Some(found.name("name")?.range())).collect();
    let (mut shape, mut found, mut from) = (String::new(), Vec::new(), 0);
    while let Some(one) = written.captures_at(text, from) {
        let whole = one.get(0).expect("the match");
        if let Some(name) = names.iter().find(|name| name.contains(&whole.start())) {
            push(&mut shape, &text[from.min(name.start)..name.start]);
            shape.push('@');
            from = name.end.max(whole.end());
            continue;
        }
        // A name with digits is one word: of a pod, a hash, a version.
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let apart = text[..whole.start()].char_indices().rev().find(|(_, c)| !word(*c));
        let start = apart.map_or(0, |(at, c)| at + c.len_utf8()).max(from);
        let number = one.name("number");
        let attached = start < whole.start() && !text[start..whole.start()].ends_with('_');
        let rest = &text[whole.end()..];
        // `100k calls` is a count.
        let count = || {
            regex!(r"(?i)^ (?:calls|req\w*|iter\w*|messages|rows|records|users|items|keys|ops|steps|events|connections|param\w*|tokens|points|lines|samples|entries|objects)\b").is_match(rest)
        };
        // `11m 40s` is a time.
        let short = one.name("short").filter(|_| !count() && !regex!(r"^ ?\d+s\b").is_match(rest));
        let counted = one.name("short").is_some() && short.is_none();
        let size = one.name("unit").or(short).map(|unit| unit.as_str().trim_start());
        let goes_on = number.is_some() && size.is_none() && (rest.starts_with(word) || counted);
        // A cell of a table may be empty.
        if one.name("none").is_some() {
            let empty = rest.trim_start().starts_with('|') && text[..whole.start()].trim_end().ends_with('|');
            push(&mut shape, &text[from..whole.start()]);
            push(&mut shape, if empty { " #" } else { " -" });
            // A blank may stand before the next one as well.
            from = whole.end() - 1;
            if empty {
                found.push(Number { start: whole.start() + 1, written: "-", value: None, sized: false });
            }
            continue;
        }
        if number.is_none() {
            push(&mut shape, &text[from..whole.start()]);
            shape.push('~');
            from = whole.end();
            continue;
        }
        push(&mut shape, &text[from..start]);
        shape.push('#');
        if attached || goes_on {
            from = whole.end() + rest.find(|c: char| !word(c)).unwrap_or(rest.len());
            continue;
        }
        let number = number.expect("it is one").as_str();
        let plain = number.replace([',', '_'], "");
        // `0.9/8.0 GiB`: the total has the unit of both.
        let of = regex!(r"^ ?/ ?\d+(?:\.\d+)? ?([kMGT]i?B)\b").captures(rest).filter(|_| size.is_none());
        let size = size.or(of.as_ref().and_then(|of| of.get(1)).map(|unit| unit.as_str()));
        let sized = size.is_some();
        let size = size.map_or(1.0, unit);
        let value = plain.parse::<f64>().ok();
        found.push(Number {
            start: whole.start(),
            written: whole.as_str(),
            value: value.map(|value| value * size).filter(|_| one.name("percent").is_none()),
            sized,
        });
        if found.len() >= COLUMNS {
            break;
        }
        from = whole.end();
    }
    push(&mut shape, &text[from..]);
    // Rows of both sides of a comparison are alike, and those of different days.
    let sides = regex!(r"\b(?:good|bad|before|after|old|new)\b");
    let shape = sides.replace_all(&shape, "@");
    // The days of German, too short to be known anywhere else.
    let shape = regex!(r"^\W*(?:mo|di|mi|do|fr|sa|so) #").replace(&shape, "@ #");
    let shape = regex!(r"# [ap]m\b").replace(&shape, "#");
    let shape = named.replace_all(&shape, "${key}@");
    (named_times().replace_all(&shape, "@").into_owned(), found)
}

/// Adds `text` to a shape, without what differs between rows that are alike.
fn push(shape: &mut String, text: &str) {
    for c in text.chars() {
        if !(c.is_whitespace() && shape.ends_with(' ')) {
            shape.push(if c.is_whitespace() { ' ' } else { c.to_ascii_lowercase() });
        }
    }
}
