//! Tables: columns as wide as their contents, on any screen.

use std::fmt::Write;

use anstyle::Style;

use super::pieces::{cut, cut_start, styled, width};
use super::style::Screen;

/// The minimum width of a shrunk column.
const NARROWEST: usize = 4;

/// The gap between two columns.
const GAP: &str = "  ";

/// The alignment of a column's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// On the left.
    Left,
    /// On the right.
    Right,
}

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    title: &'static str,
    align: Align,
    /// The priority for dropping the column on a narrow screen: the highest goes first; 0 stays.
    expendable: u8,
    /// The columns of the widest cell.
    width: usize,
}

impl Column {
    /// Creates a column with this title. Columns with a high `expendable` are dropped first on a narrow screen; 0
    /// stays.
    pub fn new(title: &'static str, align: Align, expendable: u8) -> Self {
        Self { title, align, expendable, width: width(title) }
    }

    /// Makes room for `text`.
    pub fn fit(&mut self, text: &str) {
        self.width = self.width.max(width(text));
    }
}

impl From<(&'static str, Align, u8)> for Column {
    fn from((title, align, expendable): (&'static str, Align, u8)) -> Self {
        Self::new(title, align, expendable)
    }
}

/// A cell: clean text and its style.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The text, without control characters.
    pub text: String,
    style: Style,
    /// Whether it takes the rest of the screen instead of the cells to its right.
    spans: bool,
}

impl Cell {
    /// `text` in `style`.
    pub fn new(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style, spans: false }
    }

    /// A cell that takes the rest of the screen.
    pub fn spanning(text: impl Into<String>, style: Style) -> Self {
        Self { spans: true, ..Self::new(text, style) }
    }

    /// `text` without a style.
    pub fn plain(text: impl Into<String>) -> Self {
        Self::new(text, Style::new())
    }
}

/// The columns of a table, laid out for a screen. The first column shrinks if the rest does not fit.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<Column>,
    /// Whether the column of this index is shown.
    shown: Vec<bool>,
    screen: Screen,
    indent: usize,
}

impl Table {
    /// A table of `columns`, each as wide as necessary.
    pub fn new(mut columns: Vec<Column>, indent: usize, screen: Screen) -> Self {
        // On a narrow screen the end of a file's name identifies it well enough.
        let first_at_least = if screen.width() < 60 { 8 } else { 12 };
        let mut shown = vec![true; columns.len()];
        let total = |columns: &[Column], shown: &[bool]| {
            let widths = columns.iter().zip(shown).filter(|(_, shown)| **shown).map(|(column, _)| column.width);
            indent + widths.map(|width| width + GAP.len()).sum::<usize>().saturating_sub(GAP.len())
        };
        loop {
            let over = total(&columns, &shown).saturating_sub(screen.width());
            let spare = columns[0].width.saturating_sub(first_at_least);
            if over <= spare {
                columns[0].width -= over;
                break;
            }
            let candidates = columns.iter().enumerate().filter(|(at, column)| shown[*at] && column.expendable > 0);
            let Some((at, _)) = candidates.max_by_key(|(_, column)| column.expendable) else {
                columns[0].width -= spare;
                squeeze(&mut columns, &shown, over - spare);
                break;
            };
            shown[at] = false;
        }
        Self { columns, shown, screen, indent }
    }

    /// The line of titles and the rule below it.
    pub fn header(&self) -> String {
        let style = self.screen.palette.dim;
        let titles: Vec<Cell> = self.columns.iter().map(|column| Cell::new(column.title, style)).collect();
        let shown =
            || self.columns.iter().zip(&self.shown).filter(|(_, shown)| **shown).map(|(column, _)| column.width);
        let rule = shown().sum::<usize>() + GAP.len() * shown().count().saturating_sub(1);
        let rule = "─".repeat(rule.min(self.screen.width() - self.indent));
        format!("{}{}{}\n", self.row(&titles), " ".repeat(self.indent), styled(&rule, style))
    }

    /// A row; a spanning cell is its last.
    pub fn row(&self, cells: &[Cell]) -> String {
        let mut line = " ".repeat(self.indent);
        let mut at = self.indent;
        let mut pending = 0;
        for (index, (cell, column)) in cells.iter().zip(&self.columns).enumerate() {
            if !self.shown[index] && !cell.spans {
                continue;
            }
            let columns = if cell.spans { self.screen.width().saturating_sub(at + pending) } else { column.width };
            let text = if index == 0 { cut_start(&cell.text, columns) } else { cut(&cell.text, columns) };
            let padding = if cell.spans { 0 } else { columns - width(&text) };
            let (before, after) = if column.align == Align::Right && !cell.spans { (padding, 0) } else { (0, padding) };
            // Spaces are written only before more text, so that no line ends with them.
            let _ = write!(line, "{:1$}", "", pending + before);
            line.push_str(&styled(&text, cell.style));
            at += pending + before + width(&text);
            pending = after + GAP.len();
        }
        line.truncate(line.trim_end().len());
        line.push('\n');
        line
    }
}

/// Takes `over` columns from the visible ones, always from the widest, without making any narrower than a few letters.
fn squeeze(columns: &mut [Column], shown: &[bool], over: usize) {
    for _ in 0..over {
        let widths = columns.iter_mut().zip(shown).filter(|(_, shown)| **shown).map(|(column, _)| &mut column.width);
        let Some(widest) = widths.max().filter(|width| **width > NARROWEST) else { return };
        *widest -= 1;
    }
}

/// A table of `rows` with titles, whose columns are as wide as their contents.
pub fn fitted<C: Into<Column>>(columns: impl IntoIterator<Item = C>, rows: &[Vec<Cell>], screen: &Screen) -> String {
    let mut columns: Vec<Column> = columns.into_iter().map(Into::into).collect();
    for row in rows {
        columns.iter_mut().zip(row).for_each(|(column, cell)| column.fit(&cell.text));
    }
    let table = Table::new(columns, 1, *screen);
    let mut text = table.header();
    rows.iter().for_each(|row| text.push_str(&table.row(row)));
    text
}

/// [`fitted`] after a blank line.
pub fn apart<C: Into<Column>>(columns: impl IntoIterator<Item = C>, rows: &[Vec<Cell>], screen: &Screen) -> String {
    format!("\n{}", fitted(columns, rows, screen))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::Palette;

    fn table(name: &str, columns: usize) -> Table {
        let mut first = Column::new("entry", Align::Left, 0);
        first.fit(name);
        let rest = (0..columns).map(|i| Column { width: 10, ..Column::new("figure", Align::Right, i as u8) });
        Table::new([first].into_iter().chain(rest).collect(), 2, Screen::new(60, Palette::plain()))
    }

    #[test]
    fn columns_that_have_to_stay_are_cut_where_they_do_not_fit() {
        let columns = ["a", "figure", "reading"].map(|title| Column::new(title, Align::Left, 0));
        let rows =
            [vec![Cell::plain("a name of many characters"), Cell::plain("12.34 MiB"), Cell::plain("word ".repeat(9))]];
        assert_eq!(
            fitted(columns, &rows, &Screen::new(40, Palette::plain())),
            " a         figure     reading\n ───────────────────────────────────────\n …racters  12.34 MiB  word word word wo…\n"
        );
    }

    #[test]
    fn least_important_columns_go_first_and_the_rest_stays_aligned() {
        let table = table("entry_000000.pt", 6);
        let row = table.row(&["entry_000000.pt", "a", "b", "c", "d", "e", "f"].map(Cell::plain));
        assert_eq!(row, "  entry_000000.pt           a           b           c\n");
        assert_eq!(
            table.row(&[Cell::plain("x"), Cell::spanning("a message", Style::new())]),
            "  x                a message\n"
        );
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_screen(name in "[a-z]{0,80}", note in "[a-z]{0,80}", columns in 1usize..9) {
            let table = table(&name, columns);
            let full: Vec<Cell> = std::iter::once(&*name).chain((0..columns).map(|_| "12345")).map(Cell::plain).collect();
            let text = table.header() + &table.row(&full) + &table.row(&[Cell::plain(&*name), Cell::spanning(&*note, Style::new())]);
            for line in text.lines() {
                prop_assert!(width(line) <= 60, "{line}");
            }
        }
    }
}
