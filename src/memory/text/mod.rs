//! The text kit of reports and messages: tables for a screen, clean and measured text, figures as people read them.
//!
//! A [`Screen`] says how wide the terminal is and which styles it shows. Tables are as wide as their contents, lose their
//! least important columns on a narrow screen, and never wrap a row. Texts that come from files (names, messages) lose
//! their control characters by [`clean`]: a file name cannot move the cursor.

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
