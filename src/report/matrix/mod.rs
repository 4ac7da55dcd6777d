//! The table of configurations compared with a baseline, as [`markdown`] for a pull request or as an [`html`] page.

mod grid;
mod html;
mod markdown;
#[cfg(test)]
mod tests;

pub(super) use grid::{change, figures, over_ranks, value, verdict_of_gate};
pub use html::html;
pub use markdown::markdown;
