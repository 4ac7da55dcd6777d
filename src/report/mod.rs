//! Records and findings as documents that people look at.
//!
//! A report is a function of its data: it reads no file, no clock and no environment, and writes to nothing but the text
//! it gives. [`terminal`] is the document that the `plimsoll` command prints, [`html()`] a page of records, `history_html` one
//! of figures over commits, [`markdown()`] a comment; [`junit`], [`annotations`], [`gitlab`], [`bencher`], [`github_benchmark`], [`csv`] and [`openmetrics`] are what other
//! tools read; [`snapshot`] has a page and a flame graph of a memory snapshot, [`matrix`] the table of configurations in
//! Markdown and HTML, [`gate`] what the gate found out in all of them. Every page stands in the frame of `page`.

mod annotations;
mod bencher;
mod csv;
mod diagnosis;
mod figures;
pub mod gate;
mod github_benchmark;
mod gitlab;
mod html;
mod junit;
mod kernels;
mod markdown;
pub mod matrix;
mod openmetrics;
mod outcome;
mod page;
mod parts;
mod runs;
pub mod snapshot;
mod speedup;
mod summary;
pub mod terminal;
#[cfg(test)]
mod tests;

pub use annotations::annotations;
pub use bencher::bencher;
pub use csv::csv;
pub use github_benchmark::github_benchmark;
pub use gitlab::gitlab;
#[cfg(feature = "history")]
pub use html::history_html;
pub use html::html;
pub use junit::junit;
pub use markdown::markdown;
pub use openmetrics::openmetrics;

/// A document as JSON with a line break at its end.
fn pretty(document: &impl serde::Serialize) -> String {
    // Only a key that is not text could fail.
    serde_json::to_string_pretty(document).unwrap_or_default() + "\n"
}
