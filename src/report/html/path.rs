//! SVG paths over steps: each sample holds until the next one.

use std::fmt::Write;

/// The width and height of the plot's coordinates.
pub(super) const WIDTH: f64 = 1000.0;
pub(super) const HEIGHT: f64 = 400.0;

/// Horizontal lines across the plot at the heights `ys`.
pub(super) fn grid(ys: impl IntoIterator<Item = f64>) -> String {
    ys.into_iter().map(|y| format!("M0 {y:.1}H{WIDTH}")).collect()
}

/// The area between the levels and `base`, with a gap where a level is missing; the last one holds to `end`.
pub(super) fn area(levels: impl IntoIterator<Item = (f64, Option<f64>)>, end: f64, base: f64) -> String {
    let mut path = String::new();
    let mut level: Option<f64> = None;
    for (x, next) in levels {
        // Levels that round to the same coordinate are merged.
        let next = next.map(|y| (y * 10.0).round() / 10.0);
        let _ = match (level, next) {
            (before, next) if before == next => Ok(()),
            (None, Some(y)) => write!(path, "M{x:.2} {base:.1}V{y:.1}"),
            (Some(_), Some(y)) => write!(path, "H{x:.2}V{y:.1}"),
            (_, None) => write!(path, "H{x:.2}V{base:.1}Z"),
        };
        level = next;
    }
    if level.is_some() {
        let _ = write!(path, "H{end:.2}V{base:.1}Z");
    }
    path
}

/// The line along the levels; the last one holds to `end`.
pub(super) fn outline(levels: impl IntoIterator<Item = (f64, f64)>, end: f64) -> String {
    let mut path = String::new();
    for (x, y) in levels {
        let _ = if path.is_empty() { write!(path, "M{x:.2} {y:.1}") } else { write!(path, "H{x:.2}V{y:.1}") };
    }
    if !path.is_empty() {
        let _ = write!(path, "H{end:.2}");
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_absent_leaves_a_gap() {
        let levels =
            [(0.0, Some(3.0)), (1.0, Some(3.01)), (2.0, None), (3.0, None), (4.0, Some(5.0)), (6.0, Some(7.0))];
        assert_eq!(area(levels, 9.0, 10.0), "M0.00 10.0V3.0H2.00V10.0ZM4.00 10.0V5.0H6.00V7.0H9.00V10.0Z");
        assert_eq!(area([(0.0, None)], 9.0, 10.0), "");
    }

    #[test]
    fn a_line_holds_to_the_end() {
        assert_eq!(outline([(0.0, 3.0), (2.0, 5.0)], 9.0), "M0.00 3.0H2.00V5.0H9.00");
        assert_eq!(outline([], 9.0), "");
    }
}
