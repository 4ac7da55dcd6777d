//! What people say of memory in a report: that it grows, or is more than in an older version.
//!
//! A text that is short enough to be a report is read as a whole when it is complete. A sentence with its amounts is a
//! statement of its own; any other is a claim, which needs rows of the text that agree with it ([`rows`]), or telemetry.

mod across;
mod amount;
mod axis;
mod collections;
mod column;
mod commits;
mod context;
mod course;
mod numbers;
mod pieces;
mod plain;
mod profile;
mod rows;
mod sentence;
mod tongue;
mod versions;
mod worded;

use std::borrow::Cow;

use plimsoll_statistics::trend::mann_kendall;

use super::ascii::{Pattern, regex};
use super::classify::{Passages, STEADY};
use super::findings::Evidence;
use super::sighting::{evidence, quoted};
use super::telemetry::is_of_what_remains;
use super::verdict::Verdict;
use super::window::{Lines, clean};
use super::wording;
use rows::{Columns, Series};
use sentence::{after_an_update, is_logged, is_of_a_device, said};
use tongue::Language;
#[cfg(test)]
pub(super) use worded::{candidates, signs};

/// The longest text that is taken for a report.
pub(super) const LONGEST_TEXT: usize = 64 << 10;

/// What a text says of memory.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    /// `host-growth`, `leak`, `regression`, `residual-growth` or `fragmentation`.
    pub(super) verdict: Verdict,
    /// Whether the text has the amounts.
    pub(super) proven: bool,
    /// Whether somebody says so: else rows show it by their order alone.
    pub(super) claimed: bool,
    /// Whether nothing in the text is of a device.
    pub(super) of_host: bool,
    /// The lines, without the file.
    pub(super) evidence: Vec<Evidence>,
    pub(super) explanation: String,
}

impl Statement {
    fn new(verdict: Verdict, proven: bool, evidence: Vec<Evidence>) -> Self {
        let claimed = !evidence.is_empty();
        Self { verdict, proven, claimed, of_host: false, evidence, explanation: String::new() }
    }
}

/// The odds below which figures that rise are growth, as a logarithm in hundredths.
const GROWTH: i32 = -140;

/// How many times the first amount the last one is at least, if memory grew, and if it is that of a newer version.
pub(super) const GROWN: f64 = 1.2;
pub(super) const MORE: f64 = 1.1;

/// The statements of a whole text, whose lines are `lines`, at most one of each kind.
pub(super) fn read(bytes: &[u8], lines: &Lines) -> Vec<Statement> {
    let first = lines.iter().position(|line| line.text.contains(char::is_alphabetic));
    let text = String::from_utf8_lossy(bytes);
    let language = Language::of(&text);
    let title = &language.in_english(first.map_or("", |first| &lines[first].text));
    if is_manual(title) {
        return Vec::new();
    }
    let mut growth: Option<Statement> = None;
    let mut regression: Option<Statement> = None;
    for at in 0..lines.len() {
        // Programs that write logs say less than people do.
        if is_logged(&lines[at].text) {
            continue;
        }
        let text = paragraph(lines, at);
        // What a list is of stands above it.
        let above = at.checked_sub(1).map(|above| lines[above].message()).filter(|above| above.ends_with(':'));
        let topic = above.map(|above| format!("{title} {}", language.in_english(above)));
        let mut found = said(&amount::plain(language.in_english(&text)), topic.as_deref().unwrap_or(title));
        let below = after_an_update(lines, at);
        found.extend(below.map(|_| (Verdict::Regression, true)));
        // What is proven comes last, and takes the place of a claim of the same line.
        found.sort_by_key(|(_, proven)| *proven);
        found.retain(|(verdict, proven)| {
            let known = if *verdict == Verdict::Regression { &regression } else { &growth };
            known.as_ref().is_none_or(|known| *proven && !known.proven)
        });
        // A title has no neighbours that would show what it belongs to, and the name of a counter may be claimed to grow.
        let heads = Some(at) == first;
        let other = || wording::dismissed(lines, at).is_some_and(|reason| !reason.starts_with("a counter"));
        if found.is_empty() || !heads && other() {
            continue;
        }
        for (verdict, proven) in found {
            let mut shown = vec![evidence(&lines[at])];
            if verdict == Verdict::Regression && proven {
                shown.extend(below.map(evidence));
            }
            let statement = Statement::new(verdict, proven, shown);
            *(if verdict == Verdict::Regression { &mut regression } else { &mut growth }) = Some(statement);
        }
    }
    let rows = Rows::of(bytes, &text, language);
    let plain = rows.plain();
    let columns = Columns::of(&plain);
    let mut statements: Vec<Statement> = growth.into_iter().chain(regression).collect();
    for statement in &mut statements {
        let shown = if statement.proven { None } else { rows.agreeing(&columns, statement) };
        rows.prove(statement, shown, title);
    }
    // Versions and times say by themselves what their amounts are.
    if !statements.iter().any(|statement| statement.proven) {
        let by_version = columns.by_version(MORE).or_else(|| columns.by_side(MORE)).or_else(|| columns.by_commit(MORE));
        let by_version =
            by_version.or_else(|| profile::compared(&rows.lines)).map(|found| (Verdict::Regression, found));
        let in_pieces = || columns.in_pieces().or_else(|| pieces::small_blocks(&rows.lines));
        let grown = || {
            profile::concluded(&rows.lines)
                .or_else(|| columns.by_time())
                .or_else(|| columns.rising().filter(|rows| STEADY.odds(lines, line(lines, rows)) < GROWTH))
        };
        let shown = by_version
            .or_else(|| Some((Verdict::Fragmentation, in_pieces()?)))
            .or_else(|| Some((Verdict::HostGrowth, grown()?)));
        if let Some(shown) = shown {
            let mut statement = Statement::new(shown.0, false, Vec::new());
            rows.prove(&mut statement, Some(shown), title);
            statements.push(statement);
        }
    }
    statements
}

/// What all words of a text say of memory, if no sentence and no rows do.
pub(super) fn worded(bytes: &[u8], passages: &Passages) -> Option<Statement> {
    let (verdict, at) = worded::verdict(passages).filter(|_| !wording::failed_otherwise(passages))?;
    let levels = regex!(
        r"(?i)\b(?:after that|from (?:there|then)(?: on)?|since then|then)[,:]? (?:it (?:is|was|stay(?:s|ed)|remain(?:s|ed)) )?(?:level|flat|steady|stable|constant)\b"
    );
    // A table of work of different sizes.
    let sweeps = |line: &str| line.matches('|').count() > 2 && column::is_scaled(line);
    if passages.lines.iter().any(|line| sweeps(&line.text)) {
        return None;
    }
    if passages.lines.iter().any(|line| wording::denies(line.message()) || levels.is_match(line.message())) {
        return None;
    }
    let text = String::from_utf8_lossy(bytes);
    let rows = Rows::of(bytes, &text, Language::of(&text));
    if Columns::of(&rows.plain()).are_steady() {
        return None;
    }
    let mut statement = Statement::new(verdict, true, vec![evidence(&passages.lines[at])]);
    statement.claimed = false;
    rows.prove(&mut statement, None, "");
    Some(statement)
}

/// The row from which on figures of memory rise in a text, if any do.
#[cfg(test)]
pub(super) fn rises(bytes: &[u8], lines: &Lines) -> Option<usize> {
    let text = String::from_utf8_lossy(bytes);
    let rows = Rows::of(bytes, &text, Language::of(&text));
    let plain = rows.plain();
    Some(line(lines, &Columns::of(&plain).rising()?))
}

/// The place of the first row of `rows`.
fn line(lines: &Lines, rows: &Series) -> usize {
    let below = lines.iter().position(|line| line.number > rows.lines[0] as u64);
    below.unwrap_or(lines.len() - 1)
}

/// The lines of a text as they are written.
struct Rows<'a> {
    /// The text as it was, with bytes that are not UTF-8.
    bytes: &'a [u8],
    text: &'a str,
    lines: Vec<&'a str>,
    /// Lines without blanks between the digits of a number.
    plain: Vec<Cow<'a, str>>,
}

impl<'a> Rows<'a> {
    fn of(bytes: &'a [u8], text: &'a str, language: Language) -> Self {
        Self { bytes, text, lines: text.lines().collect(), plain: plain::lines(text, language) }
    }

    fn plain(&self) -> Vec<&str> {
        self.plain.iter().map(|line| &line[..]).collect()
    }

    fn evidence(&self, at: usize) -> Evidence {
        let ends = || memchr::memchr_iter(b'\n', self.bytes);
        let offset = at.checked_sub(1).and_then(|above| ends().nth(above)).map_or(0, |end| end as u64 + 1);
        Evidence { file: String::new(), line: at as u64 + 1, offset, text: quoted(&clean(self.lines[at].as_bytes())) }
    }

    /// The rows that agree with a claim, and what they make of it.
    fn agreeing(&self, columns: &Columns<'_>, statement: &Statement) -> Option<(Verdict, Series)> {
        let claim = statement.verdict;
        let at = statement.evidence.first().map_or(0, |evidence| evidence.line as usize);
        // Bytes of something else grow as well.
        if !regex!(r"(?i)rss|\bpss\b|memory|heap|\bram\b|\bgpu\b|resident|alloc|buffer|footprint|working set|leak")
            .is_match(self.text)
        {
            return None;
        }
        let denied = regex!(
            r"(?i)\b(?:that's|that is|it's|it is|this is) (?:no|not a) (?:memory )?leak\b|\bthen (?:it )?(?:stays|remains) (?:where it is|flat|there|constant)\b"
        );
        if claim == Verdict::HostGrowth && denied.is_match(self.text) {
            return None;
        }
        let times = |least: f64| move |values: &[f64]| values[0] > 0.0 && values[values.len() - 1] >= least * values[0];
        let more = || columns.series(at, 2, times(MORE)).map(|rows| (Verdict::Regression, rows));
        if claim == Verdict::Regression {
            return more();
        }
        // What went up may have done so from one version to another.
        if let Some(rows) = columns.by_version(MORE) {
            return Some((Verdict::Regression, rows));
        }
        if let Some(rows) = columns.in_pieces() {
            return Some((Verdict::Fragmentation, rows));
        }
        let grown = columns.series(at, 3, rise);
        // Two readings are enough if they are far apart.
        let later = regex!(
            r"(?i)\b(?:later|apart)\b|\bafter (?:\d+|an?|one|two|three|\w+teen|a few|several) ?(?:h|hours?|days?|weeks?)\b"
        );
        let doubled = || later.is_match(self.text).then(|| columns.series(at, 2, times(2.0))).flatten();
        if let Some(rows) = grown.or_else(doubled) {
            return Some((claim, rows));
        }
        let version = |at: usize| regex!(r"\b\d+\.\d+\.\d+\b").find(self.lines[at]).map(|found| found.as_str());
        more().filter(|(_, rows)| {
            let [before, after] = rows.lines.map(version);
            before.is_some() && after.is_some() && before != after
        })
    }

    /// Says what a statement means, by the rows that prove it.
    fn prove(&self, statement: &mut Statement, shown: Option<(Verdict, Series)>, title: &str) {
        let (mut agree, mut name, mut first_row) = (String::new(), String::new(), "");
        if let Some((verdict, rows)) = shown {
            (statement.verdict, statement.proven) = (verdict, true);
            agree = match rows.readings {
                1 => format!(", and a tool that looks for leaks agrees: {}", rows.last),
                readings => {
                    let what = if rows.lines[0] == rows.lines[1] { "readings of a line" } else { "rows of it" };
                    format!(", and {readings} {what} agree: {} -> {}", rows.first, rows.last)
                }
            };
            if let Some(ratio) = rows.ratio {
                agree.push_str(&format!(" ({:+.0} %)", 100.0 * (ratio - 1.0)));
            }
            (name, first_row) = (rows.name, self.lines[rows.lines[0]]);
            statement.evidence.extend(rows.lines.map(|at| self.evidence(at)));
            statement.evidence.dedup_by_key(|evidence| evidence.line);
        }
        let mut words = vec![&name[..], first_row];
        words.extend(statement.evidence.iter().map(|evidence| &evidence.text[..]));
        words.push(title);
        if statement.verdict == Verdict::HostGrowth && self.is_of_a_device(&words) {
            statement.verdict = Verdict::Leak;
        }
        let remains = || is_of_what_remains(&name) || is_of_what_remains(first_row);
        if statement.verdict != Verdict::Fragmentation && remains() {
            statement.verdict = Verdict::ResidualGrowth;
        }
        let what = match statement.verdict {
            Verdict::Regression => "is more than before",
            Verdict::Fragmentation => "falls into pieces",
            _ => "grows",
        };
        statement.explanation = format!("Nothing failed, but the text states that memory {what}{agree}.");
        statement.of_host = !regex!(
            r"(?i)gpu|cuda|vram|\bhbm|nvidia|memory\.used|torch|tensor|\bjax\b|\bnpu|\btpu|\bloss\b|\bepoch|train|\bmodel|gradient|optimizer|\brank\b|\bllm"
        )
        .is_match(self.text);
    }

    /// Whether the memory is that of a device: the first of `words` that names one side decides, else the whole text.
    fn is_of_a_device(&self, words: &[&str]) -> bool {
        let host =
            regex!(r"(?i)\b(?:rss|ram|resident|heap\w*|host|system memory|cpu memory|working set|process memory)\b");
        let device = regex!(
            r"(?i)\btorch\.cuda|\b(?:cuda|gpu):\d|\bmemory_allocated\b|\bbytes_in_use\b|\b[ahv]100\b|\brtx ?\d|\b[34]0[6-9]0\b|\bvram\b|\b(?:nvidia|amd|rocm|xpu|npu)-smi\b|\bdcgmi\b|\bloss(?::|=| )[ =]?\d"
        );
        let sides = words.iter().map(|text| (is_of_a_device(text), host.is_match(text)));
        let named = sides.into_iter().find(|(device, host)| device != host);
        named.map_or_else(|| device.is_match(self.text), |(device, _)| device)
    }
}

/// Whether readings rise, with few exceptions and to the end.
fn rise(values: &[f64]) -> bool {
    let values = &values[usize::from(values.first() == Some(&0.0))..];
    if values.is_empty() {
        return false;
    }
    let falls = values.windows(2).filter(|two| two[1] < two[0]).count();
    values[0] > 0.0
        && values[values.len() - 1] >= GROWN * values[0]
        && 5 * falls < values.len()
        && !levels_off(values)
        && is_ordered(values)
}

/// Whether nearly all of a rise is in its first half.
fn levels_off(values: &[f64]) -> bool {
    let (first, middle, last) = (values[0], values[values.len() / 2], values[values.len() - 1]);
    values.len() >= 4 && last - middle < 0.15 * (last - first)
}

/// Whether most of all pairs of readings rise, not the last reading alone.
fn is_ordered(values: &[f64]) -> bool {
    const MOST: usize = 256;
    let pairs = (values.len() * (values.len() - 1) / 2) as i64;
    !(4..=MOST).contains(&values.len()) || 2 * mann_kendall(values).s > pairs
}

/// Whether a text with this title explains how growth is found.
fn is_manual(title: &str) -> bool {
    regex!(
        r"(?i)^\w[\w-]*\(\d\w?\)\s+-|^\s*--?[a-z]|^\W*(?:hunting|finding|detecting|tracking down|understanding|an? introduction|introduction|how to|how we|tutorial|guide|tips|what(?: is|'s| are) (?:an?|the difference)|(?:q|question) ?\d+\b)|\b(?:tutorial|guide|part \d|chapter \d|lesson \d|cheat ?sheet|runbook|playbook|explained|best practices|changelog|release notes)\b"
    )
    .is_match(title)
}

/// Line `at`, and the lines below in which its sentence goes on.
fn paragraph(lines: &Lines, at: usize) -> String {
    const WIDE: usize = 50;
    const LINES: usize = 3;
    let mut text = lines[at].message().to_owned();
    for line in lines[at + 1..].iter().take(LINES) {
        // Lines of one log begin alike.
        let goes_on = regex!(r"^(?:[a-z]|\d[\d.,]* ?[A-Za-z])").is_match(&line.text)
            && line.text.split_whitespace().next() != lines[at].text.split_whitespace().next();
        if lines[at].text.len() < WIDE || !goes_on || !text.ends_with(|c: char| c.is_ascii_alphanumeric() || c == ',') {
            break;
        }
        text.push(' ');
        text.push_str(line.message());
    }
    text
}

#[cfg(test)]
mod tests;
