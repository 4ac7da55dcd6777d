//! Records as one page: the memory of each run over time with its ceilings as the load line, the verdicts, the largest
//! processes, the results of entries, and what changed between two records.
//!
//! All that is seen is drawn here, as markup and SVG that widens with the screen; the page's script only adds the values
//! under the pointer and a closer look at a stretch of time. Without it, and on paper, nothing is missing.

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

use super::page::{Body, Page, escaped};
use crate::gate::GateReport;
use crate::record::Record;
#[cfg(feature = "history")]
pub use history::history_html;
use meaning::{Topic, meaning};
use table::absent;

/// Records as a page of its own: one as it is, two with what changed between them, more below a table of all.
pub fn html(records: &[Record]) -> String {
    let title = match records {
        [record] => format!("{}: {}", record.semantics.subject(), super::outcome::Outcome::of(record).word),
        _ => format!("{} records", records.len()),
    };
    page(&title, Body::default(), records, false)
}

/// The judgement of the gate as a page of its own, with the records that were judged below it.
pub fn gate(gate: &GateReport, records: &[Record]) -> String {
    let mut body = Body::default();
    gate::gate(&mut body, gate);
    page(&format!("Memory gate: {}", super::outcome::gate_word(gate.outcome).0), body, records, true)
}

/// `gated` says that the gate's judgement stands above: what a record says by itself is not a second one.
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

/// A page with the rules and the script of charts.
fn page_of(title: &str, body: &Body) -> String {
    const SCRIPT: &str = concat!(include_str!("element.js"), include_str!("hover.js"), include_str!("dots.js"));
    Page { title, style: include_str!("html.css"), body, script: SCRIPT }.html()
}
