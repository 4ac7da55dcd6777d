//! The judgement of the gate: of each subject its figures against those of before, its ceilings, and what there is to say.

use std::fmt::Write;

use super::ceilings::word;
use super::record::class;
use super::{Body, absent, escaped, table};
use crate::gate::{FigureVerdict, GateReport, Outcome, SubjectVerdict};
use crate::report::outcome::gate_word;
use crate::report::terminal::{amount, change, condition_words, counted, figure_words, methods, range};

/// The judgement, above the records that were judged.
pub(super) fn gate(out: &mut Body, gate: &GateReport) {
    let (word, tone) = gate_word(gate.outcome);
    let against = gate.baseline.as_ref().map_or(String::new(), |name| format!("against {}", escaped(name)));
    let _ = writeln!(out, "<div class=\"head\"><div><h1>Memory gate</h1><p class=\"soft\">{against}</p></div>");
    let _ = writeln!(
        out,
        "<p class=\"outcome {}\"><b>{word}</b><span>{} (exit {})</span></p></div>",
        class(tone),
        escaped(&gate.message),
        gate.exit_code()
    );
    for judged in &gate.subjects {
        subject(out, judged);
    }
    let comparisons = gate.subjects.iter().flat_map(|subject| &subject.figures);
    for method in methods(comparisons.filter_map(|figure| figure.comparison.as_ref())) {
        let _ = writeln!(out, "<p class=\"soft\">interval: {}</p>", escaped(&method));
    }
}

fn subject(out: &mut Body, judged: &SubjectVerdict) {
    let runs = |count: u64| counted(usize::try_from(count).unwrap_or(usize::MAX), "run", "runs");
    let against = match &judged.baseline {
        Some(baseline) => format!(" against {} of {}", runs(baseline.runs), escaped(&baseline.started)),
        None => String::new(),
    };
    let name = escaped(&judged.subject.to_string());
    let _ = writeln!(out, "<h2>{name} <small>{}{against}</small></h2>", runs(judged.runs));
    if !judged.figures.is_empty() {
        let columns: Vec<_> = [table::words("verdict"), table::words("figure")]
            .into_iter()
            .chain(["baseline", "now", "change", "interval", "limit"].map(table::figures))
            .collect();
        table::table(out, &columns, judged.figures.iter().map(row));
    }
    let mut remarks: Vec<Vec<String>> = Vec::new();
    let mut remark = |outcome: Outcome, subject: &str, words: &str| {
        let (_, tone) = gate_word(outcome);
        let verdict = format!("<b class=\"{} nowrap\">{outcome}</b>", class(tone));
        remarks.push(vec![verdict, escaped(subject), escaped(words)]);
    };
    for change in &judged.conditions {
        let outcome = if change.allowed { Outcome::Pass } else { Outcome::NotComparable };
        remark(outcome, "conditions", &condition_words(change));
    }
    for figure in judged.figures.iter().filter(|figure| figure.outcome != Outcome::Pass) {
        remark(figure.outcome, &figure.name, &figure_words(figure));
    }
    judged.failure.iter().for_each(|why| remark(Outcome::Fail, "runs", why));
    judged.note.iter().for_each(|why| remark(Outcome::Inconclusive, "gate", why));
    remarks.extend(judged.verdicts.iter().map(|verdict| {
        let (class, word) = word(verdict.status);
        let mark = format!("<b class=\"{class} nowrap\">{word}</b>");
        vec![mark, escaped(&verdict.subject), escaped(&verdict.message)]
    }));
    if !remarks.is_empty() {
        table::stack(out, &["Verdict", "Subject", "Why"].map(table::words), remarks);
    }
}

fn row(judged: &FigureVerdict) -> Vec<String> {
    let say = |value| escaped(&amount(value, judged.unit));
    let comparison = judged.comparison.as_ref();
    let before = comparison.and_then(|comparison| comparison.baseline).map(|baseline| baseline.median);
    let at = before.unwrap_or(0.0);
    let (_, tone) = gate_word(judged.outcome);
    let shift = comparison.map_or_else(absent, |comparison| {
        format!("<b class=\"{}\">{}</b>", class(tone), escaped(&change(comparison, at)))
    });
    let interval = comparison.and_then(|comparison| comparison.interval);
    vec![
        format!("<b class=\"{} nowrap\">{}</b>", class(tone), judged.outcome),
        escaped(&judged.name),
        before.map_or_else(absent, say),
        judged.current.map_or_else(absent, |current| say(current.median)),
        shift,
        interval.map_or_else(absent, |interval| escaped(&range(interval, at, judged.unit))),
        comparison.map_or_else(absent, |comparison| escaped(&comparison.allowance.to_string())),
    ]
}
