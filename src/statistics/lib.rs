//! The mathematics of Plimsoll, on slices of `f64`: no I/O, no clock, no dependency.
//!
//! - [`median`], [`quantile`], [`median_absolute_deviation`], [`Summary`]: descriptions of a sample.
//! - [`mann_whitney`] and [`signed_rank`]: how far one sample is above another, with a confidence interval; both return
//!   a [`Shift`]. [`rank`] and [`normal`] are the distributions and ranks below them.
//! - [`trend`]: Theil-Sen's slope, Mann-Kendall's test, and how a series moves from its start to its end.
//! - [`steps`](mod@steps): the places at which a series changed its level.
//! - [`stopping`]: when a mean is precise enough to stop measuring.
//! - [`random`]: pseudo-random numbers determined by a seed.
//!
//! Results have the unit of their input, unless a function says otherwise. Equal input gives equal results, bit for
//! bit. No function panics for any figures; each one documents what it requires of them (finite, sorted) and what it
//! returns for empty input.
//!
//! Each function is tested against a naive implementation of its definition, and against SciPy: `reference/make.py`
//! writes the table of SciPy's results that the tests read.
//!
//! ```
//! use plimsoll_statistics::mann_whitney::shift;
//!
//! let before = [100.0, 101.0, 99.0, 100.5, 100.2, 99.7];
//! let after = before.map(|figure| figure + 10.0);
//! let found = shift(&before, &after, 0.99).unwrap();
//! assert_eq!(found.estimate, 10.0);
//! assert!(found.interval.unwrap().low > 8.0);
//! ```

pub mod mann_whitney;
mod median;
pub mod normal;
mod order;
pub mod random;
pub mod rank;
mod shift;
pub mod signed_rank;
pub mod steps;
pub mod stopping;
mod summary;
pub mod trend;

pub use median::{median, median_absolute_deviation, quantile};
pub use shift::{Interval, Shift};
pub use steps::{Step, steps};
pub use summary::{Summary, relative_error};

/// The factor from a median absolute deviation to the standard deviation of normal figures.
const MAD_TO_DEVIATION: f64 = 1.482_602_218_505_602;
