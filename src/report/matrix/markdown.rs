//! The table in Markdown.

use super::grid::{cells, gate, titles};
use crate::matrix::Matrix;
use crate::report::terminal::clean;

/// Writes the table in GitHub's Markdown.
pub fn markdown(matrix: &Matrix) -> String {
    let titles = titles(matrix);
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = row(titles.iter().map(|title| (*title).to_owned()).collect());
    // The columns between the name and the text hold figures.
    let last = titles.len() - if matrix.gate.is_empty() { 1 } else { 2 };
    text.push_str(&row((0..titles.len())
        .map(|at| if (1..last).contains(&at) { "--:" } else { "---" }.to_owned())
        .collect()));
    for found in &matrix.rows {
        text.push_str(&row(cells(matrix, found).iter().map(|cell| escaped(cell)).collect()));
    }
    text.push('\n');
    if let Some(gate) = gate(matrix) {
        text.push_str(&format!("Gate against {}: {}.\n", escaped(&matrix.baseline), escaped(&gate)));
    }
    text.push_str(&format!("{}: {}.\n", matrix.outcome, escaped(&matrix.message)));
    for (name, note) in matrix.rows.iter().flat_map(|row| row.notes.iter().map(move |note| (&row.name, note))) {
        text.push_str(&format!("\n- {}: {}", escaped(name), escaped(note)));
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// Escapes text for Markdown, on one line.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in clean(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '\\' | '|' | '*' | '_' | '[' | ']' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}
