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
    /// `host-growth`, `leak`, `regression` or `residual-growth`.
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
        let grown = || {
            profile::concluded(&rows.lines)
                .or_else(|| columns.by_time())
                .or_else(|| columns.rising().filter(|rows| STEADY.odds(lines, line(lines, rows)) < GROWTH))
        };
        if let Some(shown) = by_version.or_else(|| Some((Verdict::HostGrowth, grown()?))) {
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
        if is_of_what_remains(&name) || is_of_what_remains(first_row) {
            statement.verdict = Verdict::ResidualGrowth;
        }
        let what = if statement.verdict == Verdict::Regression { "is more than before" } else { "grows" };
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn verdicts(text: &str) -> Vec<(Verdict, bool)> {
        read(text.as_bytes(), &Lines::whole(text.as_bytes()))
            .iter()
            .map(|statement| (statement.verdict, statement.proven))
            .collect()
    }

    #[test]
    fn rows_prove_a_claim_and_say_whose_memory_it_is() {
        let rows = "\n10:00 61 MB\n10:10 90 MB\n10:20 131 MB\n";
        assert_eq!(verdicts(&format!("Memory leak in the exporter{rows}")), [(Verdict::HostGrowth, true)]);
        assert_eq!(verdicts(&format!("GPU memory is not released{rows}")), [(Verdict::Leak, true)]);
        assert_eq!(verdicts(&format!("Memory of the exporter{rows}")), []);
        let list = "Mon 410 MB, Tue 655 MB, Wed 910 MB, Thu 1140 MB";
        assert_eq!(verdicts(&format!("Ticket 88\n\nMemory at 7:\n{list}")), [(Verdict::HostGrowth, true)]);
        assert_eq!(verdicts(&format!("Ticket 88\n\nSize of the table at 7:\n{list}")), []);
        assert_eq!(verdicts("Memory leak in the exporter\n10:00 61 MB\n10:10 61 MB\n"), [(Verdict::HostGrowth, false)]);
    }

    #[test]
    fn few_readings_do_not_rise() {
        assert!(!rise(&[]) && !rise(&[0.0]) && !rise(&[0.0, 0.0]) && !rise(&[1.0]));
        assert!(rise(&[0.0, 1.0, 2.0, 3.0]) && !rise(&[1.0, 1.0, 1.0, 2.0]));
    }

    #[test]
    fn readings_that_keep_their_level_are_more_than_words() {
        let steady = |rss: &str| {
            (0..10)
                .map(|hour| format!("{hour:02}:00  {}{rss} MB  {} MB\n", hour % 3, 410 + hour % 4))
                .collect::<String>()
        };
        let columns = |text: &str| {
            let rows: Vec<&str> = text.lines().collect();
            Columns::of(&rows).are_steady()
        };
        assert!(columns(&format!("t   rss   heap\n{}", steady("700"))));
        assert!(!columns(&format!(
            "t   mails sent\n{}",
            (0..10).map(|hour| format!("{hour:02}:00  412\n")).collect::<String>()
        )));
        let rising: String = (0..10).map(|hour| format!("{hour:02}:00  712 MB  {} MB\n", 410 + 30 * hour)).collect();
        assert!(!columns(&format!("t   rss   heap\n{rising}")));
    }

    #[test]
    fn what_went_up_from_one_version_to_another_is_a_regression() {
        let text = "Peak memory of the import went up\n2.1.2 3371.6 MB\n2.2.0 5163.1 MB\n";
        assert_eq!(verdicts(text), [(Verdict::Regression, true)]);
        let text = "The agent needs more memory since the upgrade\nold: 112Mi\nnew: 239Mi\n";
        assert_eq!(verdicts(text), [(Verdict::Regression, true)]);
    }

    proptest! {
        #[test]
        fn any_text_is_read(words in prop::collection::vec(prop_oneof![
            Just("memory"), Just("leaks"), Just("grows from"), Just("to"), Just("\n"), Just("12.5 GB"), Just("1,024"),
            Just("| RSS (KB) |"), Just("|"), Just("after 2 days"), Just("v1.2.3"), Just("\u{2502}\u{e4}7"), Just("-> "),
            Just("before"), Just("update:"), Just("% . "), Just("  "), Just("00h 812 MB, 02h 818 MB, 04h 911 MB, 06h 1020 MB"),
            Just("after: "), Just("rss="), Just("branch=pr-18 "), Just("{\"image\":\"api:5.2.7\","), Just("rss{pod=\"a-1\"} "),
            Just("1.5e+07"), Just("commit  RAM  peak\n"), Just("8f01a2c  "), Just("x20 "), Just(" PM"), Just("day 1  day 2"),
            Just("10:00 "), Just("t0 t20 t40 t60 t80"), Just("\nrss 1 2 3 4 5"), Just("Pause Full 9M->2M(3M)\n"),
            Just("Scavenge 9 -> 8 MB\n"), Just("gcc 13.2 "), Just("$ ./a # v1.2\n"), Just("PID "), Just(" - ")
        ], 0..60)) {
            let text = words.concat();
            for statement in read(text.as_bytes(), &Lines::whole(text.as_bytes())) {
                prop_assert!(!statement.evidence.is_empty());
                prop_assert!(statement.evidence.iter().all(|line| line.line as usize <= text.lines().count()));
            }
        }

        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            read(&bytes, &Lines::whole(&bytes));
        }

        #[test]
        fn evidence_begins_a_line_whatever_the_bytes_before_it_are(before in prop::collection::vec(any::<u8>(), 0..60)) {
            let rows = b"\nrss of the agent\n10:00 100 MB\n11:00 200 MB\n12:00 300 MB\n13:00 400 MB\n14:00 500 MB\n";
            let bytes = [&before[..], rows].concat();
            for evidence in read(&bytes, &Lines::whole(&bytes)).iter().flat_map(|statement| &statement.evidence) {
                let offset = evidence.offset as usize;
                prop_assert_eq!(bytes[..offset].iter().filter(|byte| **byte == b'\n').count() as u64 + 1, evidence.line);
                prop_assert!(offset == 0 || bytes[offset - 1] == b'\n');
            }
        }
    }
}
