//! Protocols, clocks and statistics.

mod statistics;

pub use statistics::Statistics;
