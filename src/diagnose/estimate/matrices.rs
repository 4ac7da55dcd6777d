//! [`Matrices`]: the sizes of a model's matrices, on which the state of some optimizers depends.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The longest side of a matrix that SOAP preconditions.
pub(super) const PRECONDITIONED: u128 = 10_000;

/// Sums over the matrices of a model, embeddings and output layer apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Matrices {
    /// All trained parameters.
    pub parameters: u64,
    /// Parameters in matrices.
    pub matrices: u64,
    /// Rows and columns.
    pub sides: u64,
    /// The shorter side of each.
    pub short: u64,
    /// The longer side of each.
    pub long: u64,
    /// The squares of the sides that SOAP preconditions, embeddings included.
    pub squares: u64,
    /// Rows and columns of the embeddings.
    pub table_sides: u64,
}

/// `count` matrices of `rows` x `columns`, added up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    matrices: u128,
    sides: u128,
    short: u128,
    long: u128,
    squares: u128,
    table_sides: u128,
}

impl Sums {
    /// Adds `count` matrices of a layer.
    pub(super) fn add(&mut self, count: u128, rows: u128, columns: u128) {
        let times = |n: u128| n.saturating_mul(count);
        self.matrices = self.matrices.saturating_add(times(rows.saturating_mul(columns)));
        self.sides = self.sides.saturating_add(times(rows.saturating_add(columns)));
        self.short = self.short.saturating_add(times(rows.min(columns)));
        self.long = self.long.saturating_add(times(rows.max(columns)));
        self.square(count, rows, columns);
    }

    /// Adds an embedding, or an output layer of its own.
    pub(super) fn add_table(&mut self, rows: u128, columns: u128) {
        self.table_sides = self.table_sides.saturating_add(rows).saturating_add(columns);
        self.square(1, rows, columns);
    }

    fn square(&mut self, count: u128, rows: u128, columns: u128) {
        let square = |side: u128| if side > PRECONDITIONED { 0 } else { side.saturating_mul(side) };
        let both = square(rows).saturating_add(square(columns));
        self.squares = self.squares.saturating_add(both.saturating_mul(count));
    }

    /// The sums, of a model with `parameters` parameters.
    pub(super) fn of(self, parameters: u64) -> Matrices {
        let narrow = |n: u128| u64::try_from(n).unwrap_or(u64::MAX);
        Matrices {
            parameters,
            matrices: narrow(self.matrices).min(parameters),
            sides: narrow(self.sides),
            short: narrow(self.short),
            long: narrow(self.long),
            squares: narrow(self.squares),
            table_sides: narrow(self.table_sides),
        }
    }
}
