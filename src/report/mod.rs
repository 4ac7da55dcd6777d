//! Records and findings as documents for people and tools.
//!
//! A report is a function of its data: it reads neither files nor the clock nor the environment, and returns text.
//! [`terminal`] is the document that the `plimsoll` command prints, [`html()`] a page of records, `history_html` a page
//! of figures over commits, [`markdown()`] a comment. Other tools read [`junit`], [`annotations`], [`gitlab`],
//! [`bencher`], [`github_benchmark`], [`csv`] and [`openmetrics`]. [`snapshot`] has a page and a flame graph of a
//! memory snapshot, [`matrix`] the table of configurations in Markdown and HTML, and [`gate`] the gate's judgement in
//! all of these formats. Every page uses the frame in `page`.

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

/// A document as JSON with a trailing newline.
fn pretty(document: &impl serde::Serialize) -> String {
    // Serialization fails only for keys that are not text.
    serde_json::to_string_pretty(document).unwrap_or_default() + "\n"
}
