//! One record on the page.

use std::fmt::Write;

use super::course::Course;
use super::{Body, ceilings, chart, conditions, entries, escaped, memory, parts, strips, versus};
use crate::record::{Record, Semantics};
use crate::report::diagnosis;
use crate::report::kernels::kernels;
use crate::report::outcome::{Outcome, state_words};
use crate::report::terminal::{duration, machine, words};
use plimsoll_memory::text::Tone;

/// Writes everything about `record`, which is number `at` of `count`.
pub(super) fn record(out: &mut Body, record: &Record, at: usize, count: usize, gated: bool) {
    let _ = writeln!(out, "<article class=\"record\" id=\"record-{}\">", at + 1);
    head(out, record, at, count, gated);
    ceilings::cards(out, record);
    strips::runs(out, record);
    let course = Course::of(&record.phases);
    if !record.phases.is_empty() {
        if !record.runs.is_empty() {
            out.push_str("<h2>Over time <small>the run whose resident memory was largest</small></h2>\n");
        }
        chart::charts(out, record, &course);
    }
    ceilings::verdicts(out, record);
    diagnosis::html(out, record);
    parts::parts(out, record);
    versus::versus(out, record);
    entries::entries(out, record);
    memory::phases(out, record);
    memory::unavailable(out, record);
    memory::processes(out, record);
    memory::mappings(out, record);
    memory::activity(out, record);
    memory::releases(out, record);
    conditions::conditions(out, record);
    out.push_str("</article>\n");
}

/// The CSS class of an outcome.
pub(super) fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Warn => "warn",
    }
}

fn head(out: &mut Body, record: &Record, at: usize, count: usize, gated: bool) {
    let outcome = Outcome::of(record);
    let number =
        if count > 1 { format!("<span class=\"soft\">{} of {count} · </span>", at + 1) } else { String::new() };
    let _ = writeln!(out, "<div class=\"head\"><div><h1>{number}{}</h1>", escaped(record.semantics.subject()));
    if let Semantics::Command(command) = &record.semantics {
        let _ = writeln!(out, "<p><code>{}</code></p>", escaped(&words(&command.command)));
    }
    if let Semantics::Capture(semantics) = &record.semantics {
        let name = |name: &str| format!("<code>{}</code>", escaped(name));
        let _ = writeln!(out, "<p>{}</p>", kernels(semantics, &name));
    }
    let _ = writeln!(
        out,
        "<p class=\"soft\">{} · {} · {}</p></div>",
        escaped(&record.started),
        duration(record.wall_ns as f64),
        escaped(&machine(&record.environment))
    );
    if gated {
        let (meaning, state) = (escaped(&outcome.meaning), state_words(record.state));
        let _ = writeln!(out, "<p class=\"soft\">By itself: {meaning} (exit {}{state})</p></div>", record.exit_code);
        return;
    }
    let _ = writeln!(
        out,
        "<p class=\"outcome {}\"><b>{}</b><span>{} (exit {}{})</span></p></div>",
        class(outcome.tone),
        outcome.word,
        escaped(&outcome.meaning),
        record.exit_code,
        state_words(record.state)
    );
}
