//! The table of configurations beside a baseline, in [`markdown`] for a pull request and as an [`html`] page of its own.

mod grid;
mod html;
mod markdown;
#[cfg(test)]
mod tests;

pub(super) use grid::{change, figures, over_ranks, value, verdict_of_gate};
pub use html::html;
pub use markdown::markdown;
