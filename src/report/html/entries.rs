//! The results of entries: first the failures with their causes, then one row per entry.

use std::fmt::Write;

use super::{Body, absent, escaped, prose, table};
use crate::record::{EntryResult, ProfileStatus, Record, Semantics, Validation, ValidationStatus};
use crate::report::page::bar;
use crate::report::summary::times_words;
use crate::report::terminal::{counted, duration, mismatch, number};
use plimsoll_capture::compare::{Elements, LeafOutcome};

/// Maximum number of entries shown; all are in the record.
const SHOWN: usize = 1000;

/// Maximum number of entries shown unfolded.
const OPEN: usize = 40;

/// Writes the table of entries of a run on a capture.
pub(super) fn entries(out: &mut Body, record: &Record) {
    let Semantics::Capture(semantics) = &record.semantics else { return };
    let results = &record.results.entries;
    if results.is_empty() {
        return;
    }
    let _ = writeln!(out, "<h2>Entries <small>{}</small></h2>", counted(results.len(), "entry", "entries"));
    if let Some(all) = record.results.timing {
        let _ = writeln!(out, "<p class=\"soft\">per launch: {}</p>", times_words(&all));
    }
    let (mut failed, mut slowest) = (0_usize, 0.0_f64);
    // Those that did not pass come first, and no more than are shown are in memory.
    let (mut first, mut others) = (Vec::new(), Vec::new());
    for (result, entry) in results.iter().zip(&semantics.entries) {
        slowest = mean(&result).map_or(slowest, |ns| slowest.max(ns));
        let troubled = troubled(&result);
        failed += usize::from(troubled);
        let shown = if troubled { &mut first } else { &mut others };
        if shown.len() < SHOWN {
            shown.push((result, entry.bytes));
        }
    }
    let columns = [
        table::words("entry"),
        table::figures("bytes"),
        table::words("validation"),
        table::figures("max abs err"),
        table::figures("max rel err"),
        table::figures("median/launch"),
        table::figures("mean/launch"),
    ];
    let rows = first.iter().chain(&others).take(SHOWN).map(|(result, bytes)| {
        let leaves = result.validation.as_ref().map_or(&[][..], |validation| &validation.leaves);
        let error = |figure: fn(&Elements) -> Option<f64>| largest(leaves, figure).map_or_else(absent, number);
        let statistics = result.profile.as_ref().and_then(|profile| profile.statistics);
        let time = |ns: Option<f64>| ns.map_or_else(absent, duration);
        let length = mean(result).map_or(String::new(), |ns| bar(&[("water", ns / slowest.max(f64::MIN_POSITIVE))]));
        vec![
            escaped(&result.name),
            bytes.to_string(),
            validation(result),
            error(|elements| elements.max_abs_error),
            error(|elements| elements.max_rel_error),
            time(statistics.map(|statistics| statistics.median_ns)),
            time(statistics.map(|statistics| statistics.mean_ns)) + &length,
        ]
    });
    let folded = results.len() > OPEN;
    if folded {
        let _ = writeln!(
            out,
            "<details{}><summary>{failed} did not pass, {} did</summary>",
            if failed > 0 { " open" } else { "" },
            results.len() - failed
        );
    }
    table::table(out, &columns, rows);
    table::more(out, results.len(), SHOWN, ", in the record");
    if folded {
        out.push_str("</details>\n");
    }
}

fn mean(result: &EntryResult) -> Option<f64> {
    result.profile.as_ref()?.statistics.map(|statistics| statistics.mean_ns).filter(|ns| ns.is_finite())
}

/// Whether the entry has a problem to show.
fn troubled(result: &EntryResult) -> bool {
    let validation = result.validation.as_ref().is_some_and(|validation| !validation.passed());
    validation || result.profile.as_ref().is_some_and(|profile| profile.status != ProfileStatus::Timed)
}

/// The validation result of the entry, and why.
fn validation(result: &EntryResult) -> String {
    let mut text = match &result.validation {
        Some(validation) => status(validation),
        None => absent(),
    };
    if let Some(profile) = &result.profile {
        let words = match (profile.status, &profile.error) {
            (ProfileStatus::Error, Some(error)) => format!("{}: {}", error.kind.name(), error.message),
            (ProfileStatus::NotRun, _) => profile.not_run.clone().unwrap_or_default(),
            _ => String::new(),
        };
        if !words.is_empty() {
            let _ = write!(text, "<div class=\"why\">profile: {}</div>", prose(&words));
        }
    }
    text
}

fn status(validation: &Validation) -> String {
    let badge = |class: &str, words: &str| table::badge(class, escaped(words));
    let why = |words: &str| format!("<div class=\"why\">{}</div>", prose(words));
    match validation.status {
        ValidationStatus::Passed if validation.blindness.is_some_and(|blindness| blindness.any()) => {
            badge("warn", "! match, blind") + &why("a wrong output would have passed too")
        }
        ValidationStatus::Passed => badge("good", "✓ match"),
        ValidationStatus::Mismatch => {
            let wrong = validation.leaves.iter().filter(|leaf| !leaf.passed);
            badge("bad", "✗ mismatch") + &wrong.map(|leaf| why(&mismatch(leaf))).collect::<String>()
        }
        ValidationStatus::Error => match &validation.error {
            Some(error) => {
                let detail = error.detail.as_ref().map_or(String::new(), |detail| {
                    let lines: Vec<_> = detail.lines().map(escaped).collect();
                    format!("<details><summary>more</summary><pre>{}</pre></details>", lines.join("\n"))
                });
                badge("bad", &format!("✗ {}", error.kind.name())) + &why(&error.message) + &detail
            }
            None => badge("bad", "✗ error"),
        },
        ValidationStatus::NotRun => {
            "<span class=\"soft\">– not run</span>".to_owned() + &why(validation.not_run.as_deref().unwrap_or_default())
        }
    }
}

fn largest(leaves: &[LeafOutcome], figure: impl Fn(&Elements) -> Option<f64>) -> Option<f64> {
    leaves.iter().filter_map(|leaf| figure(leaf.elements.as_ref()?)).reduce(f64::max)
}
