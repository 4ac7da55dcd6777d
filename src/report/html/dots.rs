//! Dots of a plot, and the details that appear under the pointer.

use std::fmt::Write;

use serde::Serialize;

use super::Body;
use crate::report::page::data;
use crate::report::terminal::clean;

/// One dot, placed in shares of the plot from its upper left corner.
pub(super) struct Dot<'a> {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) class: &'a str,
    pub(super) details: Details,
}

/// The details shown for a dot.
#[derive(Debug, Serialize)]
pub(super) struct Details {
    head: String,
    rows: Vec<(String, String)>,
}

impl Details {
    /// Details with a headline and rows of names and values.
    pub(super) fn new(head: &str, rows: Vec<(&str, String)>) -> Self {
        let rows = rows.into_iter().map(|(name, value)| (clean(name), clean(&value))).collect();
        Self { head: clean(head), rows }
    }
}

/// Draws `dots` in the order in which the arrow keys visit them.
pub(super) fn draw(out: &mut Body, dots: &[Dot<'_>]) {
    for dot in dots {
        let _ = write!(
            out,
            "<circle class=\"{}\" cx=\"{:.2}%\" cy=\"{:.2}%\" r=\"4.5\"/>",
            dot.class,
            dot.x * 100.0,
            dot.y * 100.0
        );
    }
}

/// Writes the details of `dots` for the script.
pub(super) fn details(out: &mut Body, dots: &[Dot<'_>]) {
    out.push_str(data(&dots.iter().map(|dot| &dot.details).collect::<Vec<_>>()).trim_end());
}
