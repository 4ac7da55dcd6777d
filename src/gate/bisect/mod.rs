//! A search for the commit that changed a figure: the figure it uses, and its result.
//!
//! The search uses a figure that separates the two ends ([`Bisected::between`]). Each commit belongs to the end that
//! its runs are closer to. [`side`] computes the shift to the first end with the gate's interval, and decides once the
//! whole interval lies on one side of half the change; until then it asks for more runs. The allowed probability of
//! error is divided among all decisions and looks at the figures ([`Effort`]), so that the search as a whole reaches
//! the requested confidence.

mod growth;
mod report;
mod side;

pub use growth::{Growth, growths};
pub use report::{Bisection, Named, SearchEnd, Tried, TriedCommit};
pub use side::{Bisected, Effort, side};
