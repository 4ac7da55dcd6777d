//! The table of configurations on the terminal.

use super::judged::outcome_word;
use crate::matrix::{Figure, Matrix, Row, RowVerdict};
use crate::report::matrix::{change, figures, over_ranks, value, verdict_of_gate};
use plimsoll_memory::text::{Align, Cell, Column, fitted};
use plimsoll_memory::text::{Palette, Screen};
use plimsoll_memory::text::{clean, labelled};

/// Writes one row per configuration, remarks on each, and the outcome.
pub fn matrix(matrix: &Matrix, screen: &Screen) -> String {
    let palette = &screen.palette;
    let mut text = table(matrix, screen);
    text.push('\n');
    let mut said = false;
    for row in &matrix.rows {
        let spread = over_ranks(row).map(|spread| format!("over ranks, {spread}"));
        for note in spread.iter().chain(&row.notes) {
            text.push_str(&labelled("  ", palette.dim, &format!("{}: {note}", row.name), 3, screen));
            said = true;
        }
    }
    if said {
        text.push('\n');
    }
    let (word, style) = outcome_word(matrix.outcome, palette);
    text.push_str(&labelled(word, style, &format!("{} (exit {})", matrix.message, matrix.exit_code()), 7, screen));
    text
}

fn table(matrix: &Matrix, screen: &Screen) -> String {
    let figures = figures(matrix);
    let rows: Vec<Vec<Cell>> = matrix.rows.iter().map(|row| cells(matrix, row, &figures, &screen.palette)).collect();
    let mut columns = vec![Column::new("configuration", Align::Left, 0)];
    for (at, figure) in figures.iter().enumerate() {
        columns.push(Column::new(figure.title(), Align::Right, 1 + at as u8 / 3));
        columns.push(Column::new("", Align::Right, 3 + at as u8));
    }
    columns.push(Column::new("runs", Align::Right, 13));
    if !matrix.gate.is_empty() {
        columns.push(Column::new("gate", Align::Left, 0));
    }
    columns.push(Column::new("reading", Align::Left, 0));
    fitted(columns, &rows, screen)
}

fn cells(matrix: &Matrix, row: &Row, figures: &[Figure], palette: &Palette) -> Vec<Cell> {
    let mut cells = vec![Cell::plain(clean(&row.name))];
    for figure in figures {
        let Some(found) = row.figures.get(figure) else {
            cells.extend([Cell::new("-", palette.dim), Cell::plain("")]);
            continue;
        };
        let style = match found.near {
            Some(false) => palette.bad,
            _ => palette.dim,
        };
        cells.extend([Cell::plain(value(*figure, found.value)), Cell::new(change(found), style)]);
    }
    let runs =
        if row.failed == 0 { row.runs.to_string() } else { format!("{} of {}", row.runs, row.runs + row.failed) };
    cells.push(Cell::new(runs, palette.dim));
    if !matrix.gate.is_empty() {
        let (words, holds) = verdict_of_gate(row).unwrap_or(("", None));
        let style = match holds {
            Some(true) => palette.good,
            Some(false) => palette.bad,
            None => palette.warn,
        };
        cells.push(Cell::new(words, style));
    }
    let style = match row.verdict {
        RowVerdict::Leak | RowVerdict::Fragmentation | RowVerdict::MoreMemory | RowVerdict::Failed => palette.bad,
        RowVerdict::Cured | RowVerdict::MoreTime | RowVerdict::Unknown => palette.warn,
        RowVerdict::Solved | RowVerdict::Near => palette.good,
        RowVerdict::Baseline => palette.dim,
    };
    cells.push(Cell::new(clean(&row.reading), style));
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::sample;
    use crate::record::sample::assert_snapshot;

    #[test]
    fn nemo_rl_2003_s_table() {
        for (name, width) in
            [("terminal_matrix_nemo_rl_2003", 140), ("terminal_matrix_narrow", 80), ("terminal_matrix_telephone", 40)]
        {
            assert_snapshot(name, &matrix(&sample::nemo_rl_2003(), &Screen::new(width, Palette::plain())));
        }
    }
}
