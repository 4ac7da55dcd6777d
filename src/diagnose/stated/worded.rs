//! What a text says of memory by all its words: that it grows, or that a newer version needs more, in forms and languages
//! that no rule knows.

use super::super::classify::{Passages, QUIET, TREND, around};
use super::amount::{amounts, plain};
use super::collections::is_collection;
use super::numbers::numbers;
use super::rows::LONGEST_ROW;
use super::{GROWN, Verdict, regex};
use crate::phase::is_frame;
use crate::window::Line;

/// The odds below which words and amounts are a report of memory that grows, as a logarithm in hundredths.
const REPORTS: i32 = -60;
/// The number of lines of one shape that only a program writes.
const MANY_ROWS: usize = 4;
/// What the columns of the table of trends stand for.
const COLUMNS: [Verdict; 4] = [Verdict::HostGrowth, Verdict::Leak, Verdict::Regression, Verdict::ResidualGrowth];

/// What the words of a text say of memory, and the line that says it most.
pub(super) fn verdict(passages: &Passages) -> Option<(Verdict, usize)> {
    let of = |at: usize| {
        let range = around(passages.lines, at);
        let [odds] = QUIET.odds_of(passages, range.clone(), &signs(&passages.lines[range]));
        (odds, at)
    };
    let (_, at) = candidates(passages).map(of).min().filter(|(odds, _)| *odds < REPORTS)?;
    let range = around(passages.lines, at);
    let odds = TREND.odds_of(passages, range.clone(), &signs(&passages.lines[range.clone()]));
    let verdict = COLUMNS[(0..COLUMNS.len()).max_by_key(|column| odds[*column])?];
    let frame = |text: &str| is_frame(text) || regex!(r"^\s*at \S+\(").is_match(text);
    // Words say it, not a row of numbers, or one of many that differ in their numbers alone.
    let worded = |at: &usize| {
        let text = &passages.lines[*at].text;
        let of = |is: fn(char) -> bool| text.chars().filter(|c| is(*c)).count();
        let shape = |line: &Line| (line.text.len() <= LONGEST_ROW).then(|| numbers(&line.text).0);
        let own = shape(&passages.lines[*at]);
        let alike =
            passages.lines.iter().filter(|line| line.text.len().abs_diff(text.len()) < 16 && shape(line) == own);
        // What somebody typed says nothing of what came of it.
        let typed = regex!(r"^\s*(?:\S+@\S+[:~]\S*)?[$%] ").is_match(text);
        // What a program logs as ordinary is none of its errors.
        let routine = regex!(r"\d\d:\d\d:\d\d\S*\W+(?:INFO|DEBUG|TRACE)\b").is_match(text);
        !text.starts_with('|')
            && !typed
            && !routine
            && !frame(text)
            && !is_collection(text)
            && 2 * of(char::is_alphabetic) >= of(|c| c.is_ascii_digit())
            && alike.take(MANY_ROWS).count() < MANY_ROWS
    };
    let strongest = range.min_by_key(|at| QUIET.odds_of(passages, *at..*at + 1, &[])).filter(worded)?;
    Some((verdict, strongest))
}

/// Lines around which figures of memory stand.
pub(in super::super) fn candidates(passages: &Passages) -> impl Iterator<Item = usize> {
    passages.places().filter(|at| {
        let figures = |at: usize| passages.lines[at].text.contains(|c: char| c.is_ascii_digit());
        let mut around = around(passages.lines, *at);
        around.clone().any(figures) && around.any(|at| passages.is_of_memory(at))
    })
}

/// How the amounts in lines follow each other, as words of the tables.
pub(in super::super) fn signs(lines: &[Line]) -> Vec<&'static str> {
    let of_line = |line: &Line| amounts(&plain((&line.text[..]).into()));
    let amounts: Vec<f64> = lines.iter().flat_map(of_line).map(|amount| amount.bytes).collect();
    let [first, .., last] = amounts[..] else {
        return vec![if amounts.is_empty() { "<no-amount>" } else { "<one-amount>" }];
    };
    let rises = amounts.windows(2).filter(|two| two[1] > two[0]).count();
    let mut signs = vec![match rises {
        all if all + 1 == amounts.len() => "<rise>",
        most if 3 * most > 2 * amounts.len() => "<mostly-rise>",
        _ => "<rise-and-fall>",
    }];
    if last >= GROWN * first {
        signs.push("<last-is-more>");
    }
    if first >= GROWN * last {
        signs.push("<last-is-less>");
    }
    signs
}
