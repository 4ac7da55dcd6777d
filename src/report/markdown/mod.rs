//! Records in Markdown, for job summaries and comments: a table of ceilings, the rest folded.
//!
//! Names from records are written as code, which Markdown leaves alone and which notifies nobody on GitHub. The length
//! is bounded for any number of records, phases and entries: a comment may have at most 65,536 characters.

mod escape;
mod gate;
mod parts;
mod runs;
mod tables;

use std::fmt::Write;

use escape::{code, text};

pub use gate::gate;

use super::diagnosis::DiagnosisText;
use super::kernels::kernels;
use super::outcome::{Outcome, findings, names, state_words};
use super::runs::shifts;
use super::terminal::{duration, machine, words};
use crate::record::{Record, Semantics, compare_records};
use plimsoll_memory::text::Tone;

/// Maximum number of records listed one by one.
const RECORDS: usize = 20;

/// Writes the records in Markdown.
pub fn markdown(records: &[Record]) -> String {
    let mut out = String::new();
    let names = names(records);
    if records.len() > 1 {
        tables::overview(&mut out, records, &names);
    }
    if let [before, after] = records {
        let differences = compare_records(before, after);
        if differences.figures.is_some() {
            runs::shifts(&mut out, &shifts(before, after));
        }
        tables::comparison(&mut out, &differences);
    }
    for (record, name) in records.iter().zip(&names).take(RECORDS) {
        one(&mut out, record, name);
    }
    if let Some(more) = records.len().checked_sub(RECORDS).filter(|more| *more > 0) {
        let _ = writeln!(out, "and {more} more records");
    }
    out
}

/// The sign of an outcome.
pub(super) const fn sign(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "✅",
        Tone::Bad => "❌",
        Tone::Warn => "⚠️",
    }
}

fn one(out: &mut String, record: &Record, name: &str) {
    let outcome = Outcome::of(record);
    let _ = writeln!(out, "### {} {}: {}\n", sign(outcome.tone), code(name), outcome.word);
    let _ = writeln!(
        out,
        "{} (exit {}{}, {})\n",
        text(&outcome.meaning),
        record.exit_code,
        state_words(record.state),
        duration(record.wall_ns as f64)
    );
    if let Some(semantics) = record.semantics.capture() {
        let _ = writeln!(out, "kernel {}\n", kernels(semantics, &code));
    }
    let findings = findings(record);
    tables::ceilings(out, &findings);
    tables::others(out, &findings);
    diagnosis(out, record);
    tables::versus(out, record);
    parts::parts(out, record);
    runs::runs(out, record);
    let _ = writeln!(out, "<details><summary>Memory by phase, conditions</summary>\n");
    tables::phases(out, record);
    tables::processes(out, record);
    if let Semantics::Command(command) = &record.semantics {
        let _ = writeln!(out, "- command: {}", code(&words(&command.command)));
    }
    let _ = writeln!(out, "- semantics: {}", code(&record.semantics_digest));
    let _ = writeln!(out, "- machine: {}", text(&machine(&record.environment)));
    let _ = writeln!(out, "- started: {}, Plimsoll {}\n\n</details>\n", text(&record.started), text(&record.plimsoll));
}

/// Writes the diagnosis of the command.
fn diagnosis(out: &mut String, record: &Record) {
    for found in record.diagnosis.iter().flat_map(|findings| DiagnosisText::all(findings)) {
        let _ = writeln!(out, "**{}**: {}\n\n{}\n", text(&found.verdict), text(&found.what), text(&found.explanation));
        for (at, line) in found.advice.iter().enumerate() {
            let _ = writeln!(out, "{}. {}", at + 1, text(line));
        }
        if !found.more.is_empty() {
            let _ = writeln!(out, "\n<details><summary>{} more</summary>\n", found.more.len());
            for (at, line) in found.more.iter().enumerate() {
                let _ = writeln!(out, "{}. {}", found.advice.len() + at + 1, text(line));
            }
            let _ = writeln!(out, "\n</details>");
        }
        for line in &found.evidence {
            let _ = writeln!(out, "\n{}", code(line));
        }
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample::{self, assert_snapshot};

    #[test]
    fn a_run_that_broke_a_ceiling_and_one_that_held() {
        assert_snapshot("markdown_failing", &markdown(&[sample::failing()]));
        assert_snapshot("markdown_command", &markdown(&[sample::command()]));
        assert_snapshot("markdown_ranks", &markdown(&[sample::ranks(4)]));
    }

    #[test]
    fn two_kernels_that_were_timed_in_turns() {
        let text = markdown(&[sample::versus()]);
        let from = text.find("`builtin:embedding` is").unwrap();
        let to = text.find("<details>").unwrap();
        assert_snapshot("markdown_versus", &text[from..to]);
    }

    #[test]
    fn two_records_are_compared() {
        let mut after = sample::record();
        let peak = after.phases[0].readings.get_mut(&plimsoll_memory::meter::Metric::PeakRss).unwrap();
        peak.bytes = plimsoll_memory::ByteSize::mib(96);
        assert_snapshot("markdown_comparison", &markdown(&[sample::record(), after]));
        let other = markdown(&[sample::record(), sample::command()]);
        assert!(other.contains("not compared"), "{other}");
    }

    #[test]
    fn runs_are_listed_and_held_against_each_other() {
        assert_snapshot("markdown_runs", &markdown(&[sample::repeated()]));
        let two = markdown(&[sample::repeated_more(8), sample::repeated_more(9)]);
        assert_snapshot("markdown_runs_compared", two.split_once("###").unwrap().0);
        let mut many = sample::repeated_more(300);
        many.runs.truncate(300);
        assert!(markdown(&[many]).contains("and 260 more, in the record"));
    }

    #[test]
    fn a_comment_has_room_for_any_number_of_records() {
        let mut record = sample::command();
        record.phases = vec![record.phases[0].clone(); 500];
        let text = markdown(&vec![record; 60]);
        assert!(text.len() < 200_000, "{}", text.len());
        assert!(text.contains("and 40 more records"));
    }
}
