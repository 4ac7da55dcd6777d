//! Labels below a plot, each at its share of the width.

use std::fmt::Write;

use super::{Body, axis};

/// The share of the width from which on a label would stick out of a narrow screen.
const END: f64 = 0.9;

/// Labels as markup with their positions; every second one has a class that hides it on a narrow screen, and one at the
/// end a class that moves it there to the left of its place.
pub(super) fn labels(out: &mut Body, ticks: impl IntoIterator<Item = (f64, String)>) {
    for (at, (share, label)) in ticks.into_iter().enumerate() {
        let (left, odd) = (out.left(share), if at % 2 == 0 { "" } else { " odd" });
        let end = if share > END { " end" } else { "" };
        let _ = write!(out, "<span class=\"tick{odd}{end} {left}\">{label}</span>");
    }
}

/// Writes the labels of a time axis in a row of their own.
pub(super) fn times(out: &mut Body, ticks: impl IntoIterator<Item = (f64, String)>) {
    out.push_str("<div class=\"times\" aria-hidden=\"true\"><div class=\"track\">");
    labels(out, ticks);
    out.push_str("</div></div>\n");
}

/// Writes the ticks of a plot over `span_ns` nanoseconds.
pub(super) fn of_span(out: &mut Body, span_ns: u64) {
    let ticks = axis::times(span_ns).into_iter().map(|ns| (ns as f64 / span_ns as f64, axis::time(ns)));
    // A tick at the very end would stick out of the page.
    times(out, ticks.filter(|(share, _)| *share <= 0.97));
}
