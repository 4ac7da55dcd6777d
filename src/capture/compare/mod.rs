//! Comparison of expected with actual outputs, in chunks.
//!
//! [`compare_tensors`] judges an output by a [`Comparison`] in one pass over both sides, with the figures of a
//! [`LeafOutcome`]: mismatches and the first of them, the largest errors, NaN, Inf and the range of each side.
//! [`blindness`] and [`coarse_with`] find the wrong outputs that the same rule would have let pass.
//!
//! None of them allocates more than 1 MiB, whatever the tensors' size, and none ever reads a page twice in one call: with
//! [`compare_tensors_with`] and [`blindness_with`] the caller can release the bytes already compared.
//!
//! Of the modules below, `element` defines what one pair of elements means, `float` and `integer` scan blocks of
//! elements in vector code with the same results, and `judge` chooses by dtype.

mod blindness;
mod coarse;
mod element;
mod float;
mod integer;
mod judge;
mod leaf;
mod minifloat;
mod outcome;
#[cfg(test)]
mod properties;
mod rule;
mod simd;
mod tensor;
#[cfg(test)]
mod tests;

pub use blindness::{blindness, blindness_with};
pub use coarse::{Coarse, coarse_with};
pub use leaf::{Leaf, compare_leaves, compare_values};
pub use outcome::{Blindness, Elements, LeafOutcome, Mismatch, Range, Side};
pub use rule::{Comparison, DATA_MOVEMENT, ParsePresetError, Preset, Tolerance, ToleranceError, Tolerances};
pub use tensor::{compare_tensors, compare_tensors_with};
