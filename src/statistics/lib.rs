//! Mathematics on plain figures.

pub mod median;
pub mod random;
