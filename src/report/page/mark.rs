//! The Plimsoll mark: a ring with the line that a ship may be loaded to, and water at the height of a figure.

/// The height of the water relative to the line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Level {
    /// Without water, as a logo.
    Empty,
    /// As a share of the line's height: 1 is at the line, 2 and more fills the ring.
    At(f64),
}

const CENTRE: f64 = 32.0;
const RADIUS: f64 = 21.0;

/// Draws the mark. Water above the line has its own CSS class.
pub(crate) fn mark(level: Level) -> String {
    let water = match level {
        Level::At(share) if share > 0.0 => {
            let over = if share > 1.0 { segment(share, "over") } else { String::new() };
            over + &segment(share.min(1.0), "water")
        }
        _ => String::new(),
    };
    format!(
        "<svg class=\"mark\" viewBox=\"0 0 64 64\" aria-hidden=\"true\">{water}<circle cx=\"32\" cy=\"32\" r=\"23\"/>\
         <path class=\"line\" d=\"M1 32H63\"/></svg>"
    )
}

/// The part of the ring below the water, which has a wavy surface.
fn segment(share: f64, class: &str) -> String {
    // Even a little water stays visible, and a full ring has no surface.
    let up = (share * RADIUS).clamp(2.0, 2.0 * RADIUS - 0.5);
    let y = CENTRE + RADIUS - up;
    let half = (RADIUS * RADIUS - (y - CENTRE).powi(2)).max(0.0).sqrt();
    let (left, right, quarter) = (CENTRE - half, CENTRE + half, half / 2.0);
    let wave = (half / 8.0).min(2.2);
    let large = u8::from(up > RADIUS);
    format!(
        "<path class=\"{class}\" d=\"M{left:.1} {y:.1}Q{:.1} {:.1} {CENTRE} {y:.1}Q{:.1} {:.1} {right:.1} {y:.1}\
         A{RADIUS} {RADIUS} 0 {large} 1 {left:.1} {y:.1}Z\"/>",
        CENTRE - quarter,
        y - wave,
        CENTRE + quarter,
        y + wave,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn water_above_the_line_is_drawn_apart() {
        assert!(!mark(Level::Empty).contains("water"));
        assert!(!mark(Level::At(0.0)).contains("water"));
        let half = mark(Level::At(0.5));
        assert!(half.contains("water") && !half.contains("over"), "{half}");
        assert!(half.contains("M13.8 42.5"), "halfway up to the line: {half}");
        let broken = mark(Level::At(1.25));
        assert!(broken.contains("class=\"over\"") && broken.contains("class=\"water\""), "{broken}");
        assert_eq!(mark(Level::At(9.0)), mark(Level::At(1e9)), "the ring is full");
    }
}
