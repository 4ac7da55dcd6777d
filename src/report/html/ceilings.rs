//! The ceilings of a run, each drawn as a Plimsoll mark with water up to the reading; then every verdict in words.

use std::fmt::Write;

use super::lines::{ceilings, class};
use super::{Body, axis, escaped, prose, table};
use crate::record::{Record, VerdictStatus};
use crate::report::outcome::{findings, worst_findings};
use crate::report::page::{Level, mark};
use crate::report::summary::source_words;
use plimsoll_memory::ceiling::CeilingVerdict;
use plimsoll_memory::meter::{Metric, worst_reading};

/// The figures shown for a run without ceilings.
const PLAIN: [(Metric, &str); 4] = [
    (Metric::PeakRss, "most resident memory of all processes at one instant"),
    (Metric::PeakAnon, "most anonymous memory of all processes at one instant"),
    (Metric::SwapGrowth, "growth of swap in use"),
    (Metric::AvailableFloor, "least memory available on the system"),
];

/// One card per ceiling; without ceilings, one for each figure that people usually limit first.
pub(super) fn cards(out: &mut Body, record: &Record) {
    out.push_str("<div class=\"marks\">\n");
    let mut any = false;
    for verdict in ceilings(record) {
        any = true;
        card(out, verdict);
    }
    if !any {
        for (metric, note) in PLAIN {
            plain(out, record, metric, note);
        }
    }
    out.push_str("</div>\n");
}

fn card(out: &mut Body, verdict: &CeilingVerdict) {
    let (limit, reading) = (verdict.limit.bytes(), verdict.reading.as_ref());
    let level = match reading.map(|reading| reading.bytes.bytes() as f64) {
        // A floor limits what must remain, so the water rises as the reading falls.
        Some(bytes) if verdict.metric.is_floor() => Level::At(limit as f64 / bytes.max(1.0)),
        Some(bytes) if limit > 0 => Level::At(bytes / limit as f64),
        Some(bytes) if bytes > 0.0 => Level::At(2.0),
        _ => Level::Empty,
    };
    let figure = reading.map_or("not measured".to_owned(), table::reading);
    let (sign, past) = (verdict.metric.sign(), verdict.metric.past());
    let by = match (verdict.by, reading) {
        (Some(by), _) => format!(" · <b class=\"bad\">{by} {past}</b>"),
        (None, Some(reading)) if reading.bytes == verdict.limit => " · at the line".to_owned(),
        (None, Some(reading)) => {
            let spare = reading.bytes.bytes().abs_diff(limit);
            format!(" · <span class=\"good\">{} to spare</span>", axis::amount(spare))
        }
        (None, None) => String::new(),
    };
    let place = verdict.phase.as_ref().map_or(String::new(), |phase| format!(" in <b>{}</b>", escaped(phase)));
    let trust = reading.map_or(String::new(), |reading| source_words(reading.source));
    let _ = writeln!(
        out,
        "<div class=\"mark-card {}\">{}<div><span>{}</span><strong>{figure}</strong><span>{sign} {}{by}</span>\
         <span class=\"soft\">{trust}{place}</span></div></div>",
        class(verdict.status),
        mark(level),
        verdict.metric,
        limit_words(limit),
    );
}

/// A limit in words; zero keeps its unit.
fn limit_words(limit: u64) -> String {
    if limit == 0 { "0 B".to_owned() } else { axis::amount(limit) }
}

fn plain(out: &mut Body, record: &Record, metric: Metric, note: &str) {
    let Some((phase, reading)) = worst_reading(&record.phases, metric) else { return };
    let _ = writeln!(
        out,
        "<div class=\"mark-card\"><div><span>{metric}</span><strong>{}</strong><span>{note}</span><span class=\"soft\">{} in \
         <b>{}</b></span></div></div>",
        table::reading(reading),
        source_words(reading.source),
        escaped(&phase.phase)
    );
}

/// The most verdicts that are shown.
const ROWS: usize = 1000;

/// Writes one row per verdict, and how many there are beside the worst.
pub(super) fn verdicts(out: &mut Body, record: &Record) {
    let (findings, more) = worst_findings(findings(record), ROWS);
    if findings.is_empty() {
        return;
    }
    out.push_str("<h2>Verdicts</h2>\n");
    let rows = findings.iter().map(|finding| {
        let (class, word) = word(finding.status);
        vec![table::badge(class, word), table::nowrap(&escaped(&finding.subject)), prose(&finding.message)]
    });
    table::stack(out, &[table::words("Verdict"), table::words("Subject"), table::words("Why")], rows);
    table::more(out, findings.len() + more, ROWS, " verdicts, in the record");
}

/// The CSS class of a verdict, and its word with a sign.
pub(super) fn word(status: VerdictStatus) -> (&'static str, &'static str) {
    match status {
        VerdictStatus::Pass => ("good", "✓ holds"),
        VerdictStatus::Fail => ("bad", "✗ fails"),
        VerdictStatus::NotMeasurable => ("warn", "? not measurable"),
        VerdictStatus::Inconclusive => ("warn", "? inconclusive"),
    }
}
