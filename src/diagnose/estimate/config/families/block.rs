//! [`Block`]: the parameters of a part of a model.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// The parameters of a part: their number, and what adapters and ZeRO-3 need to know of its matrices. Arithmetic
/// saturates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Block {
    /// All parameters.
    pub(super) all: u128,
    /// The total inputs and outputs of the linear layers, which is the size of an adapter of rank 1.
    pub(super) sides: u128,
    /// The largest single weight.
    pub(super) largest: u128,
    /// Parameters in the matrices of linear layers and experts, which quantization stores in fewer bits.
    pub(super) matrices: u128,
    /// Parameters in the matrices of experts alone.
    pub(super) experts: u128,
}

/// A part without parameters.
pub(super) const NOTHING: Block = Block { all: 0, sides: 0, largest: 0, matrices: 0, experts: 0 };

/// A linear layer, with or without a bias.
pub(super) fn linear(inputs: u128, outputs: u128, bias: bool) -> Block {
    let matrix = inputs.saturating_mul(outputs);
    let all = matrix.saturating_add(if bias { outputs } else { 0 });
    Block { all, sides: inputs.saturating_add(outputs), largest: matrix, matrices: matrix, experts: 0 }
}

/// A weight without an adapter: an embedding, a convolution, a router.
pub(super) fn weight(rows: u128, columns: u128) -> Block {
    let all = rows.saturating_mul(columns);
    Block { all, largest: all, ..NOTHING }
}

/// The matrices of all experts of a layer, as a single weight.
pub(super) fn fused(rows: u128, columns: u128) -> Block {
    let all = rows.saturating_mul(columns);
    Block { all, largest: all, matrices: all, experts: all, sides: 0 }
}

/// A norm's weight, a bias or another vector.
pub(super) fn vector(length: u128) -> Block {
    Block { all: length, ..NOTHING }
}

impl Block {
    /// `count` copies of this part.
    pub(super) fn times(self, count: u128) -> Self {
        let largest = if count == 0 { 0 } else { self.largest };
        let all = |part: u128| part.saturating_mul(count);
        Self {
            all: all(self.all),
            sides: all(self.sides),
            largest,
            matrices: all(self.matrices),
            experts: all(self.experts),
        }
    }

    /// The part if `there` holds, otherwise nothing.
    pub(super) fn when(self, there: bool) -> Self {
        if there { self } else { NOTHING }
    }
}

impl Add for Block {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            all: self.all.saturating_add(other.all),
            sides: self.sides.saturating_add(other.sides),
            largest: self.largest.max(other.largest),
            matrices: self.matrices.saturating_add(other.matrices),
            experts: self.experts.saturating_add(other.experts),
        }
    }
}

impl AddAssign for Block {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Block {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(NOTHING, Add::add)
    }
}
