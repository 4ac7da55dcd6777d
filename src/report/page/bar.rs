//! A bar: stacked shares of one width.

use std::fmt::Write;

/// A bar of `parts`, each with the CSS class of its colour and its share of the width; later parts lie on top.
pub(crate) fn bar(parts: &[(&str, f64)]) -> String {
    let mut out = "<svg class=\"bar\" aria-hidden=\"true\">".to_owned();
    for (class, share) in parts {
        // Even a tiny share stays visible.
        let percent = (share * 100.0).clamp(0.5, 100.0);
        let _ = write!(out, "<rect class=\"{class}\" width=\"{percent:.1}%\" height=\"100%\"/>");
    }
    out + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_shows_and_nothing_stands_out() {
        let drawn = bar(&[("rss", 7.0), ("anon", 0.0)]);
        assert!(
            drawn.contains("class=\"rss\" width=\"100.0%\"") && drawn.contains("class=\"anon\" width=\"0.5%\""),
            "{drawn}"
        );
    }
}
