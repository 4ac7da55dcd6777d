//! Text tools for reports and messages: tables for a screen, cleaning and measuring of text, readable figures.
//!
//! A [`Screen`] has the width of the terminal and its styles. Tables are as wide as their contents, drop their least
//! important columns on a narrow screen, and never wrap a row. Text from files (names, messages) loses its control
//! characters through [`clean`], so that a file name cannot move the cursor.

mod pieces;
mod style;
mod table;
mod words;

pub use pieces::{
    LABEL, clean, cut, cut_start, document, duration, interval, labelled, number, percent, short, styled, width, wrap,
};
pub use style::{Palette, Screen, Tone};
pub use table::{Align, Cell, Column, Table, apart, fitted};
pub use words::{counted, nearest};
