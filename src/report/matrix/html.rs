//! The table as an HTML page of its own.

use std::fmt::Write;

use super::grid::{cells, gate, titles, verdict_of_gate};
use crate::matrix::Matrix;
use crate::report::page::{Body, Page, escaped};

/// Colours of the last column, in addition to the frame's styles.
const STYLE: &str = "tr.good td:last-child { color: var(--good); } tr.bad td:last-child { color: var(--bad); }\n";

/// Writes the table as a self-contained HTML page without scripts.
pub fn html(matrix: &Matrix) -> String {
    let titles = titles(matrix);
    let last = titles.len() - if matrix.gate.is_empty() { 1 } else { 2 };
    let class = |at: usize| if (1..last).contains(&at) { " class=\"number\"" } else { "" };
    let title = format!("Configurations beside {}", matrix.baseline);
    let mut text = format!("<h1>{}</h1>\n<div class=\"scroll\"><table>\n<tr>", escaped(&title));
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
    text.push_str("</table></div>\n");
    if let Some(gate) = gate(matrix) {
        let _ = writeln!(text, "<p>Gate against {}: {}</p>", escaped(&matrix.baseline), escaped(&gate));
    }
    let _ = writeln!(text, "<p>{}: {}</p>", matrix.outcome, escaped(&matrix.message));
    for (name, note) in matrix.rows.iter().flat_map(|row| row.notes.iter().map(move |note| (&row.name, note))) {
        let _ = writeln!(text, "<p>{}: {}</p>", escaped(name), escaped(note));
    }
    Page { title: &title, style: STYLE, body: &Body::from(text), script: "" }.html()
}
