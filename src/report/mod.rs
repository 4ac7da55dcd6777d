//! Records and findings as documents that people look at.
//!
//! A report is a function of its data: it reads no file, no clock and no environment, and writes to nothing but the text
//! it gives. [`terminal`] is the document that the `plimsoll` command prints, [`snapshot`] has a page and a flame graph of
//! a memory snapshot,
//! [`matrix`] the table of configurations in Markdown and HTML.

pub mod matrix;
pub mod snapshot;
pub mod terminal;
