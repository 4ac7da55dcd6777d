//! [`Block`]: the parameters of a part of a model.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

use crate::estimate::config::adapter::{Kind, Module};

/// The parameters of a part: their number, and what adapters and ZeRO-3 need to know of its matrices. Arithmetic
/// saturates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Block {
    /// All parameters.
    pub(super) all: u128,
    /// The layers that an adapter may be on, by name.
    pub(super) modules: Vec<Module>,
    /// The largest single weight.
    pub(super) largest: u128,
    /// Parameters in the matrices of linear layers and experts, which quantization stores in fewer bits.
    pub(super) matrices: u128,
    /// Parameters in the matrices of experts alone.
    pub(super) experts: u128,
}

/// A part without parameters.
pub(super) const NOTHING: Block = Block { all: 0, modules: Vec::new(), largest: 0, matrices: 0, experts: 0 };

/// A linear layer, with or without a bias.
pub(super) fn linear(inputs: u128, outputs: u128, bias: bool) -> Block {
    let matrix = inputs.saturating_mul(outputs);
    let all = matrix.saturating_add(if bias { outputs } else { 0 });
    let module = Module { name: "", kind: Kind::Linear, tower: false, count: 1, inputs, outputs, parameters: all };
    Block { all, modules: vec![module], largest: matrix, matrices: matrix, experts: 0 }
}

/// A weight without an adapter: an embedding, a convolution, a router.
pub(super) fn weight(rows: u128, columns: u128) -> Block {
    let all = rows.saturating_mul(columns);
    Block { all, largest: all, ..NOTHING }
}

/// A matrix of `count` experts, as a single weight.
pub(super) fn fused(name: &'static str, count: u128, inputs: u128, outputs: u128) -> Block {
    let all = count.saturating_mul(inputs).saturating_mul(outputs);
    let (inputs, outputs) = (count.saturating_mul(inputs), count.saturating_mul(outputs));
    let module = Module { name, kind: Kind::Experts, tower: false, count, inputs, outputs, parameters: all };
    Block { all, largest: all, matrices: all, experts: all, modules: vec![module] }
}

/// A norm's weight, a bias or another vector.
pub(super) fn vector(length: u128) -> Block {
    Block { all: length, ..NOTHING }
}

impl Block {
    /// `count` copies of this part.
    pub(super) fn times(&self, count: u128) -> Self {
        let all = |part: u128| part.saturating_mul(count);
        let modules = self.modules.iter().filter(|_| count > 0).map(|module| Module {
            count: all(module.count),
            inputs: all(module.inputs),
            outputs: all(module.outputs),
            parameters: all(module.parameters),
            ..*module
        });
        Self {
            all: all(self.all),
            modules: modules.collect(),
            largest: if count == 0 { 0 } else { self.largest },
            matrices: all(self.matrices),
            experts: all(self.experts),
        }
    }

    /// The part if `there` holds, otherwise nothing.
    pub(super) fn when(self, there: bool) -> Self {
        if there { self } else { NOTHING }
    }

    /// The part, with `name` for its layers.
    pub(super) fn named(mut self, name: &'static str) -> Self {
        self.modules.iter_mut().for_each(|module| module.name = name);
        self
    }

    /// The part, with its layers called as `names` says: pairs of the old and the new name. Layers that get the same
    /// name are one layer with the same inputs and all of their outputs.
    pub(super) fn renamed(mut self, names: &[(&str, &'static str)]) -> Self {
        let mut modules: Vec<Module> = Vec::with_capacity(self.modules.len());
        for module in self.modules {
            let Some(&(_, name)) = names.iter().find(|(old, _)| *old == module.name) else {
                modules.push(module);
                continue;
            };
            match modules.iter_mut().find(|made| made.name == name) {
                Some(made) => made.widen(&module),
                None => modules.push(Module { name, ..module }),
            }
        }
        self.modules = modules;
        self
    }

    /// The part, with its layers of this kind.
    pub(super) fn of_kind(mut self, kind: Kind) -> Self {
        self.modules.iter_mut().for_each(|module| module.kind = kind);
        self
    }

    /// The part, as a tower.
    pub(super) fn of_tower(mut self) -> Self {
        self.modules.iter_mut().for_each(|module| module.tower = true);
        self
    }
}

impl Add for Block {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl AddAssign for Block {
    fn add_assign(&mut self, other: Self) {
        self.all = self.all.saturating_add(other.all);
        for module in other.modules {
            match self.modules.iter_mut().find(|own| own.is_like(&module)) {
                Some(own) => own.join(&module),
                None => self.modules.push(module),
            }
        }
        self.largest = self.largest.max(other.largest);
        self.matrices = self.matrices.saturating_add(other.matrices);
        self.experts = self.experts.saturating_add(other.experts);
    }
}

impl Sum for Block {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(NOTHING, Add::add)
    }
}
