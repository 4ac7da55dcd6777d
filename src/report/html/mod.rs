//! Records as an HTML page: memory over time with ceilings as load lines, verdicts, the largest processes, the results
//! of entries, and what changed between two records.
//!
//! Everything visible is drawn here, as markup and SVG that scales with the screen. The page's script only adds values
//! under the pointer and zooming, so nothing is missing without it or on paper.

mod axis;
mod ceilings;
mod chart;
mod comparison;
mod conditions;
mod course;
mod dots;
mod entries;
mod gate;
#[cfg(feature = "history")]
mod history;
mod layers;
mod lines;
mod meaning;
mod memory;
mod overview;
mod parts;
mod path;
mod record;
mod scale;
mod strips;
mod table;
#[cfg(test)]
mod tests;
mod ticks;
mod versus;

use super::page::{Body, Page, escaped, prose};
use crate::gate::GateReport;
use crate::record::Record;
#[cfg(feature = "history")]
pub use history::history_html;
use meaning::{Topic, meaning};
use table::absent;

/// Writes records as an HTML page: one record alone, two with a comparison, more below an overview table.
pub fn html(records: &[Record]) -> String {
    let title = match records {
        [record] => format!("{}: {}", record.semantics.subject(), super::outcome::Outcome::of(record).word),
        _ => format!("{} records", records.len()),
    };
    page(&title, Body::default(), records, false)
}

/// Writes the gate's judgement as an HTML page, with the judged records below it.
pub fn gate(gate: &GateReport, records: &[Record]) -> String {
    let mut body = Body::default();
    gate::gate(&mut body, gate);
    page(&format!("Memory gate: {}", super::outcome::gate_word(gate.outcome).0), body, records, true)
}

/// Assembles a page. `gated` means that the gate's judgement stands above the records, so that none shows an outcome of
/// its own.
fn page(title: &str, mut body: Body, records: &[Record], gated: bool) -> String {
    if records.len() > 1 {
        overview::overview(&mut body, records, gated);
    }
    if let [before, after] = records {
        comparison::comparison(&mut body, before, after);
    }
    for (at, record) in records.iter().enumerate() {
        record::record(&mut body, record, at, records.len(), gated);
    }
    if records.is_empty() {
        body.push_str("<h1>No record</h1>\n");
    }
    let mut topics = vec![Topic::Figures, Topic::Ceilings];
    topics.extend((gated || records.len() == 2).then_some(Topic::Interval));
    topics.extend((records.len() > 1).then_some(Topic::Semantics));
    meaning(&mut body, &topics);
    page_of(title, &body)
}

/// A page with the styles and the script of charts.
fn page_of(title: &str, body: &Body) -> String {
    const SCRIPT: &str = concat!(include_str!("element.js"), include_str!("hover.js"), include_str!("dots.js"));
    Page { title, style: include_str!("html.css"), body, script: SCRIPT }.html()
}
