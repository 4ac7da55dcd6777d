//! [`Body`]: the markup of a page, and the CSS rules that place its parts.

use std::collections::BTreeSet;
use std::fmt;

/// The markup of a page, with the CSS rules that place its parts.
///
/// The page's policy forbids `style` attributes, so an element with a computed position gets a class, whose rule goes
/// into the page's only style element.
#[derive(Debug, Default)]
pub(crate) struct Body {
    markup: String,
    places: BTreeSet<EdgePosition>,
}

/// The position of an element's edge as a share of its container, written as a CSS class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EdgePosition {
    edge: Edge,
    /// In hundredths of a percent: a sixth of a pixel on a wide screen.
    share: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Edge {
    Left,
    Top,
    Width,
}

impl Body {
    /// Appends markup.
    pub(crate) fn push_str(&mut self, markup: &str) {
        self.markup.push_str(markup);
    }

    /// The class of an element that begins at this share of the width.
    pub(crate) fn left(&mut self, share: f64) -> EdgePosition {
        self.place(Edge::Left, share)
    }

    /// The class of an element at this share of the height, from the top.
    pub(crate) fn top(&mut self, share: f64) -> EdgePosition {
        self.place(Edge::Top, share)
    }

    /// The class of an element as wide as this share.
    pub(crate) fn width(&mut self, share: f64) -> EdgePosition {
        self.place(Edge::Width, share)
    }

    fn place(&mut self, edge: Edge, share: f64) -> EdgePosition {
        // Values that are not numbers or lie outside are clamped to an end.
        let place = EdgePosition { edge, share: (share.clamp(0.0, 1.0) * 1e4).round() as u16 };
        self.places.insert(place);
        place
    }

    pub(super) fn markup(&self) -> &str {
        &self.markup
    }

    /// The CSS rules of all classes used so far.
    pub(super) fn rules(&self) -> String {
        self.places
            .iter()
            .map(|place| format!(".{place}{{{}:{}%}}\n", place.edge.name(), f64::from(place.share) / 100.0))
            .collect()
    }
}

impl From<String> for Body {
    fn from(markup: String) -> Self {
        Self { markup, places: BTreeSet::new() }
    }
}

impl fmt::Write for Body {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.markup.write_str(text)
    }
}

impl fmt::Display for EdgePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.edge.name(), self.share)
    }
}

impl Edge {
    const fn name(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Top => "top",
            Self::Width => "width",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_class_with_one_rule() {
        let mut body = Body::default();
        let (a, b, c) = (body.left(0.123_456), body.left(0.123_45), body.width(f64::NAN));
        assert_eq!((a.to_string(), a == b, c.to_string()), ("left-1235".to_owned(), true, "width-0".to_owned()));
        assert_eq!(body.top(7.0).to_string(), "top-10000");
        assert_eq!(body.rules(), ".left-1235{left:12.35%}\n.top-10000{top:100%}\n.width-0{width:0%}\n");
    }
}
