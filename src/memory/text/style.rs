//! [`Screen`]: the terminal that a document is laid out for.

use anstyle::{AnsiColor, Effects, Style};

/// How good the end of a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Good.
    Good,
    /// Bad.
    Bad,
    /// Neither: nothing failed, but something needs attention.
    Warn,
}

/// The styles of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    /// Titles.
    pub heading: Style,
    /// Passed.
    pub good: Style,
    /// Failed.
    pub bad: Style,
    /// Needs attention: a blind entry, a figure that could not be read.
    pub warn: Style,
    /// Less important text.
    pub dim: Style,
}

impl Palette {
    /// The terminal's own colours, which its theme makes readable on light and dark.
    pub const fn colour() -> Self {
        const fn fg(colour: AnsiColor) -> Style {
            colour.on_default()
        }
        Self {
            heading: Style::new().effects(Effects::BOLD),
            good: fg(AnsiColor::Green),
            bad: fg(AnsiColor::Red).effects(Effects::BOLD),
            warn: fg(AnsiColor::Yellow),
            dim: Style::new().effects(Effects::DIMMED),
        }
    }

    /// No styles, only text.
    pub const fn plain() -> Self {
        let none = Style::new();
        Self { heading: none, good: none, bad: none, warn: none, dim: none }
    }

    /// The style of an outcome.
    pub const fn tone(&self, tone: Tone) -> Style {
        match tone {
            Tone::Good => self.good,
            Tone::Bad => self.bad,
            Tone::Warn => self.warn,
        }
    }
}

/// The terminal that a document is laid out for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    width: usize,
    /// The styles.
    pub palette: Palette,
}

impl Screen {
    /// A screen of `width` columns, clamped to 40 to 200: narrower rows say nothing, and wider ones are hard to follow.
    pub fn new(width: usize, palette: Palette) -> Self {
        Self { width: width.clamp(40, 200), palette }
    }

    /// The columns of the screen.
    pub fn width(&self) -> usize {
        self.width
    }
}
