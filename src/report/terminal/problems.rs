//! The failures of a record again, below the rows, with what is known about their causes.

use crate::record::{EntryResult, Failure, Rows, ValidationStatus};
use plimsoll_capture::compare::{LeafOutcome, Tolerances};
use plimsoll_memory::text::Screen;
use plimsoll_memory::text::{clean, counted, cut, labelled, number, styled, wrap};

/// Maximum number of failures shown with their causes; all are in the rows and in the record.
const SHOWN: usize = 10;
/// Maximum number of lines shown of a traceback or of a worker's last output.
const LINES: usize = 6;

/// Failures and undecided results; empty if there are none.
pub(super) fn problems(results: &Rows<EntryResult>, screen: &Screen) -> String {
    let (mut failures, mut not_run, mut blind) = (Failures::default(), NotRun::default(), Blind::default());
    // Rows of many entries are unpacked for every pass.
    for result in results {
        failures.add(&result, screen);
        not_run.add(&result);
        blind.add(&result);
    }
    failures.text(results.len(), screen) + &not_run.text(screen) + &blind.text(screen)
}

/// The entries whose validation or profile failed, the first of them with the causes.
#[derive(Default)]
struct Failures {
    count: usize,
    causes: String,
}

impl Failures {
    fn add(&mut self, result: &EntryResult, screen: &Screen) {
        let Some(cause) = cause(result, screen) else { return };
        self.count += 1;
        if self.count <= SHOWN {
            self.causes.push_str(&format!("   {}\n{cause}", cut(&clean(&result.name), screen.width() - 3)));
        }
    }

    fn text(&self, entries: usize, screen: &Screen) -> String {
        if self.count == 0 {
            return String::new();
        }
        let title = format!("{} of {} failed", self.count, counted(entries, "entry", "entries"));
        let mut text = format!("\n {}\n{}", styled(&title, screen.palette.bad), self.causes);
        if let Some(more) = self.count.checked_sub(SHOWN).filter(|more| *more > 0) {
            let line = cut(&format!("and {more} more: rows above, causes in the record"), screen.width() - 3);
            text.push_str(&format!("   {}\n", styled(&line, screen.palette.dim)));
        }
        text
    }
}

/// The lines below an entry's name, if its validation or its profile failed.
fn cause(result: &EntryResult, screen: &Screen) -> Option<String> {
    let mut lines = String::new();
    if let Some(validation) = &result.validation {
        for leaf in validation.leaves.iter().filter(|leaf| !leaf.passed) {
            lines.push_str(&indented(&mismatch(leaf), screen));
        }
        if let Some(error) = &validation.error {
            lines.push_str(&failure("", error, screen));
        }
    }
    if let Some(error) = result.profile.as_ref().and_then(|profile| profile.error.as_ref()) {
        lines.push_str(&failure("profile: ", error, screen));
    }
    (!lines.is_empty()).then_some(lines)
}

/// Describes how an output differs.
pub(crate) fn mismatch(leaf: &LeafOutcome) -> String {
    let output = format!("output{}", leaf.path);
    if let Some(problem) = &leaf.problem {
        return format!("{output}: {problem}");
    }
    let Some(elements) = &leaf.elements else { return format!("{output}: does not match") };
    let mut words = format!("{output}: {} of {} elements differ", elements.mismatches, elements.count);
    if let Some(first) = &elements.first_mismatch {
        words.push_str(&format!(", first at {:?}: expected {}, got {}", first.index, first.expected, first.actual));
    }
    if let Some(error) = elements.max_abs_error {
        words.push_str(&format!("; max abs error {}", number(error)));
    }
    if let Some(Tolerances { rtol, atol }) = leaf.tolerances {
        words.push_str(&format!(" (rtol {}, atol {})", number(rtol.get()), number(atol.get())));
    }
    for (what, expected, actual) in
        [("NaN", elements.expected.nan, elements.actual.nan), ("Inf", elements.expected.inf, elements.actual.inf)]
    {
        if expected != actual {
            words.push_str(&format!("; {actual} {what} where {expected} expected"));
        }
    }
    words
}

fn failure(prefix: &str, failure: &Failure, screen: &Screen) -> String {
    let mut text = indented(&format!("{prefix}{}: {}", failure.kind.name(), failure.message), screen);
    for evidence in &failure.evidence {
        text.push_str(&indented(&format!("evidence: {evidence}"), screen));
    }
    for (name, block) in [("detail", &failure.detail), ("stderr", &failure.stderr)] {
        let Some(block) = block else { continue };
        let lines: Vec<&str> = block.lines().collect();
        // The end of a traceback names the exception.
        for line in &lines[lines.len().saturating_sub(LINES)..] {
            let line = cut(&clean(&format!("{name} │ {line}")), screen.width() - 5);
            text.push_str(&format!("     {}\n", styled(&line, screen.palette.dim)));
        }
    }
    text
}

fn indented(words: &str, screen: &Screen) -> String {
    wrap(&clean(words), screen.width() - 5).iter().map(|line| format!("     {line}\n")).collect()
}

/// The entries that were left out, and why the first was.
#[derive(Default)]
struct NotRun {
    count: usize,
    first: Option<String>,
}

impl NotRun {
    fn add(&mut self, result: &EntryResult) {
        let validation = result.validation.as_ref().and_then(|validation| validation.not_run.as_deref());
        let Some(reason) = validation.or_else(|| result.profile.as_ref()?.not_run.as_deref()) else { return };
        self.count += 1;
        self.first.get_or_insert_with(|| reason.to_owned());
    }

    fn text(&self, screen: &Screen) -> String {
        let Some(reason) = &self.first else { return String::new() };
        let value = format!("{}: {reason}", counted(self.count, "entry", "entries"));
        format!("\n{}", labelled("not run", screen.palette.warn, &value, 9, screen))
    }
}

/// The entries whose comparison would miss a wrong kernel, the first of them with the wrong outputs that would have
/// passed.
#[derive(Default)]
struct Blind {
    count: usize,
    shown: Vec<String>,
}

impl Blind {
    fn add(&mut self, result: &EntryResult) {
        let passed = result.validation.as_ref().filter(|found| found.status == ValidationStatus::Passed);
        let Some(blindness) = passed.and_then(|found| found.blindness).filter(|blindness| blindness.any()) else {
            return;
        };
        self.count += 1;
        if self.count <= SHOWN {
            self.shown.push(format!("{} ({})", result.name, blindness.wrong_outputs().join(", ")));
        }
    }

    fn text(&self, screen: &Screen) -> String {
        if self.count == 0 {
            return String::new();
        }
        let (entries, shown) = (counted(self.count, "entry", "entries"), self.shown.join(", "));
        let mut value = format!("{entries} would have passed a wrong output: {shown}");
        if self.count > SHOWN {
            value.push_str(&format!(" and {} more", self.count - SHOWN));
        }
        format!("\n{}", labelled("! blind", screen.palette.warn, &value, 9, screen))
    }
}
