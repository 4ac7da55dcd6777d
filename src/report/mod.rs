//! Records and findings as documents that people look at.
//!
//! A report is a function of its data: it reads no file, no clock and no environment, and writes to nothing but the text
//! it gives. [`terminal`] is the document that the `plimsoll` command prints, [`html()`] a page of records, [`snapshot`] has
//! a page and a flame graph of a memory snapshot, [`matrix`] the table of configurations in Markdown and HTML. Every page
//! stands in the frame of `page`.

mod html;
pub mod matrix;
mod outcome;
mod page;
pub mod snapshot;
pub mod terminal;

pub use html::html;
