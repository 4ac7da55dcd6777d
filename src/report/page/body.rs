//! [`Body`]: the markup of a page, and where its parts stand.

use std::collections::BTreeSet;
use std::fmt;

/// The markup of a page.
///
/// The policy of a page lets no `style` attribute in, so what stands at a place that is only known when the page is
/// written has a class, whose rule goes into the one style element.
#[derive(Debug, Default)]
pub(crate) struct Body {
    markup: String,
    places: BTreeSet<EdgePosition>,
}

/// Where an edge of something is, as a share of what holds it. It is written as the class that puts it there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EdgePosition {
    edge: Edge,
    /// In hundredths of a per cent: a sixth of a pixel on a wide screen.
    share: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Edge {
    Left,
    Top,
    Width,
}

impl Body {
    /// Adds markup.
    pub(crate) fn push_str(&mut self, markup: &str) {
        self.markup.push_str(markup);
    }

    /// The class of what begins at this share of the width.
    pub(crate) fn left(&mut self, share: f64) -> EdgePosition {
        self.place(Edge::Left, share)
    }

    /// The class of what stands at this share of the height, from the top.
    pub(crate) fn top(&mut self, share: f64) -> EdgePosition {
        self.place(Edge::Top, share)
    }

    /// The class of what takes this share of the width.
    pub(crate) fn width(&mut self, share: f64) -> EdgePosition {
        self.place(Edge::Width, share)
    }

    fn place(&mut self, edge: Edge, share: f64) -> EdgePosition {
        // What is not a number or lies outside is drawn at an end.
        let place = EdgePosition { edge, share: (share.clamp(0.0, 1.0) * 1e4).round() as u16 };
        self.places.insert(place);
        place
    }

    pub(super) fn markup(&self) -> &str {
        &self.markup
    }

    /// The rules of the classes that were given.
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
