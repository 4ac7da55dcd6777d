//! A search for the commit that changed a figure: what it goes by, and what it found.
//!
//! The figure is one that tells the two ends apart ([`Bisected::between`]). A commit is on the side of the end that its
//! runs are nearer to: [`side`] finds the shift to the first end with the gate's interval, and decides once the interval
//! lies on one side of half of the whole change. Until then it asks for more runs. The probability of a wrong decision is
//! shared out over all decisions and looks at the figures ([`Effort`]), so that the whole search is as sure as was asked.

mod growth;
mod report;
mod side;

pub use growth::{Growth, growths};
pub use report::{Bisection, Named, SearchEnd, Tried, TriedCommit};
pub use side::{Bisected, Effort, side};
