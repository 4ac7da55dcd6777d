//! Tables of a page, and the parts of their cells.

use std::fmt::Write;

use super::{Body, escaped};
use crate::report::summary::{source_mark, source_words};
use plimsoll_memory::meter::Reading;

/// The most columns that fit on paper in letters of the usual size.
const DENSE: usize = 10;

/// A column: its title, and whether it holds figures.
pub(super) struct Column {
    pub(super) title: String,
    pub(super) number: bool,
}

/// A column of text.
pub(super) fn words(title: &str) -> Column {
    Column { title: title.to_owned(), number: false }
}

/// A column of figures, aligned to the right.
pub(super) fn figures(title: &str) -> Column {
    Column { title: title.to_owned(), number: true }
}

/// Writes a table whose cells are already markup.
pub(super) fn table(out: &mut Body, columns: &[Column], rows: impl IntoIterator<Item = Vec<String>>) {
    // Tables with this many columns are printed in smaller letters.
    let style = if columns.len() > DENSE { " class=\"dense\"" } else { "" };
    classed(out, style, columns, rows);
}

/// Writes a table with sentences, whose rows become paragraphs on a narrow screen.
pub(super) fn stack(out: &mut Body, columns: &[Column], rows: impl IntoIterator<Item = Vec<String>>) {
    classed(out, " class=\"stack\"", columns, rows);
}

fn classed(out: &mut Body, style: &str, columns: &[Column], rows: impl IntoIterator<Item = Vec<String>>) {
    let class =
        |column: Option<&Column>| if column.is_some_and(|column| column.number) { " class=\"number\"" } else { "" };
    let _ = write!(out, "<div class=\"scroll\"><table{style}>\n<thead><tr>");
    for column in columns {
        // Long names may break after an underscore.
        let title = escaped(&column.title).replace('_', "_<wbr/>");
        let _ = write!(out, "<th{}>{title}</th>", class(Some(column)));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        out.push_str("<tr>");
        for (at, cell) in row.iter().enumerate() {
            let _ = write!(out, "<td{}>{cell}</td>", class(columns.get(at)));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

/// A figure with the mark of its source, which is explained under the pointer.
pub(super) fn reading(reading: &Reading) -> String {
    let mark = match source_mark(reading.source) {
        "" => String::new(),
        mark => format!("<small>{mark}</small>"),
    };
    let title = escaped(&format!("{}, {} ({})", reading.bytes.exact(), source_words(reading.source), reading.counter));
    format!("<span title=\"{title}\">{}{mark}</span>", reading.bytes)
}

/// The word of a verdict in the colour of `class`.
pub(super) fn badge(class: &str, word: impl std::fmt::Display) -> String {
    format!("<b class=\"{class} nowrap\">{word}</b>")
}

/// A cell that never wraps.
pub(super) fn nowrap(markup: &str) -> String {
    format!("<span class=\"nowrap\">{markup}</span>")
}

/// Says how many of `count` rows are not `shown`, and where to find them.
pub(super) fn more(out: &mut Body, count: usize, shown: usize, place: &str) {
    if let Some(more) = count.checked_sub(shown).filter(|more| *more > 0) {
        let _ = writeln!(out, "<p class=\"soft\">and {more} more{place}</p>");
    }
}

/// A placeholder for a missing figure.
pub(super) fn absent() -> String {
    "<span class=\"soft\">–</span>".to_owned()
}
