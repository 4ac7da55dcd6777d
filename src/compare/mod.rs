//! Expected against actual, in chunks.

mod outcome;

pub use outcome::{Blindness, Elements, LeafOutcome, Mismatch, Range, Side};
