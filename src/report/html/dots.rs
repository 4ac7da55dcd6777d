//! Dots of a plot, and what is told of each under the pointer.

use std::fmt::Write;

use serde::Serialize;

use super::Body;
use crate::report::page::data;
use crate::report::terminal::clean;

/// One dot, placed in shares of the plot from its upper left.
pub(super) struct Dot<'a> {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) class: &'a str,
    pub(super) told: Told,
}

/// What is shown of a dot.
#[derive(Debug, Serialize)]
pub(super) struct Told {
    head: String,
    rows: Vec<(String, String)>,
}

impl Told {
    /// What is shown below `head`: names with their values.
    pub(super) fn new(head: &str, rows: Vec<(&str, String)>) -> Self {
        let rows = rows.into_iter().map(|(name, value)| (clean(name), clean(&value))).collect();
        Self { head: clean(head), rows }
    }
}

/// Draws `dots`; their order is that in which the arrow keys reach them.
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

/// What the script shows of `dots`.
pub(super) fn told(out: &mut Body, dots: &[Dot<'_>]) {
    out.push_str(data(&dots.iter().map(|dot| &dot.told).collect::<Vec<_>>()).trim_end());
}
