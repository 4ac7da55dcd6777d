//! The table as an HTML page of its own.

use std::fmt::Write;

use super::grid::{cells, gate, titles, verdict_of_gate};
use crate::matrix::Matrix;
use crate::report::snapshot;
use crate::report::terminal::clean;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem;color:#222;background:#fff}\
table{border-collapse:collapse}th,td{padding:.3rem .8rem;border-bottom:1px solid #ccc;text-align:left}\
td.figure,th.figure{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\
tr.good td:last-child{color:#17692b}tr.bad td:last-child{color:#a11}\
@media(prefers-color-scheme:dark){body{color:#ddd;background:#161616}th,td{border-color:#444}\
tr.good td:last-child{color:#7c7}tr.bad td:last-child{color:#f88}}";

/// The table as a page that needs nothing else: no script, no file beside it.
pub fn html(matrix: &Matrix) -> String {
    let titles = titles(matrix);
    let last = titles.len() - if matrix.gate.is_empty() { 1 } else { 2 };
    let class = |at: usize| if (1..last).contains(&at) { " class=\"figure\"" } else { "" };
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Configurations beside {}</title>\n\
         <style>{STYLE}</style>\n<table>\n<tr>",
        escaped(&matrix.baseline)
    );
    for (at, title) in titles.iter().enumerate() {
        let _ = write!(text, "<th{}>{}</th>", class(at), escaped(title));
    }
    text.push_str("</tr>\n");
    for row in &matrix.rows {
        let mark = match verdict_of_gate(row).and_then(|(_, holds)| holds) {
            Some(true) => " class=\"good\"",
            Some(false) => " class=\"bad\"",
            None => "",
        };
        let _ = write!(text, "<tr{mark}>");
        for (at, cell) in cells(matrix, row).iter().enumerate() {
            let _ = write!(text, "<td{}>{}</td>", class(at), escaped(cell));
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</table>\n");
    if let Some(gate) = gate(matrix) {
        let _ = writeln!(text, "<p>Gate against {}: {}</p>", escaped(&matrix.baseline), escaped(&gate));
    }
    let _ = writeln!(text, "<p>{}: {}</p>", matrix.outcome, escaped(&matrix.message));
    for (name, note) in matrix.rows.iter().flat_map(|row| row.notes.iter().map(move |note| (&row.name, note))) {
        let _ = writeln!(text, "<p>{}: {}</p>", escaped(name), escaped(note));
    }
    text.push_str("</html>\n");
    text
}

fn escaped(text: &str) -> String {
    snapshot::escaped(&clean(text))
}
