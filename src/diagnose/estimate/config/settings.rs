//! [`Settings`]: the content of one source, and how sources are merged.

use std::path::PathBuf;

use super::adapter::{Attached, Modules};
use crate::estimate::cache::Cache;
use crate::estimate::choices::{Attention, Offload, Precision, Tuning, ZeroStage};
use crate::estimate::convention::Convention;
use crate::estimate::error::EstimateError;
use crate::estimate::family::Family;
use crate::estimate::matrices::Matrices;
use crate::estimate::model::{Model, Shape};
use crate::estimate::optimizer::Optimizer;
use crate::estimate::rung::Rung;
use crate::estimate::setup::{Buckets, Setup};
use crate::estimate::state::QLORA_BASE;
use crate::estimate::stored::Stored;

/// The GPUs that share one sharded copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardGroup {
    /// All GPUs of one node.
    Node,
    /// This number of GPUs.
    Gpus(u64),
}

/// A model of an unknown family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// The file.
    pub path: PathBuf,
    /// Its `model_type`.
    pub family: String,
}

/// What one source says of a model and its training; every field as in [`Shape`], [`Model`] and [`Setup`].
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the fields of Shape, Model and Setup, where the source tells them")]
pub struct Settings {
    pub parameters: Option<u64>,
    pub largest_layer: Option<u64>,
    pub adapter_sides: Option<u64>,
    /// Parameters that an adapter trains whatever its rank is.
    pub adapter_whole: Option<u64>,
    pub matrices: Option<Matrices>,
    /// The layers of a known family, from which the size of an adapter follows.
    pub modules: Option<Modules>,
    /// Which layers have an adapter; every linear layer if no source says so.
    pub attached: Option<Attached>,
    pub cache: Option<Cache>,
    pub stored: Option<Stored>,
    /// Parameters of the matrices that 4-bit loading quantizes.
    pub linear: Option<u64>,
    pub no_logits: Option<bool>,
    pub family: Option<Family>,
    pub active: Option<u64>,
    /// The model's family if it is unknown, which matters if nothing else gives the parameters.
    pub unknown: Option<Unknown>,
    pub layers: Option<u64>,
    pub hidden: Option<u64>,
    pub heads: Option<u64>,
    pub key_value: Option<u64>,
    pub query: Option<u64>,
    pub ffn: Option<u64>,
    pub gated: Option<bool>,
    pub vocabulary: Option<u64>,
    pub untied: Option<bool>,
    pub convention: Option<Convention>,
    pub optimizer: Option<Optimizer>,
    pub optimizer_rank: Option<u64>,
    pub precision: Option<Precision>,
    pub zero: Option<ZeroStage>,
    pub shard_group: Option<ShardGroup>,
    pub gpus: Option<u64>,
    pub nodes: Option<u64>,
    pub offload: Option<Offload>,
    pub offload_parameters: Option<Offload>,
    pub zero_init: Option<bool>,
    pub tuning: Option<Tuning>,
    pub batch: Option<u64>,
    pub sequence: Option<u64>,
    pub accumulation: Option<u64>,
    /// Sequences per step over all GPUs, from which the accumulation follows.
    pub effective_batch: Option<u64>,
    pub attention: Option<Attention>,
    pub checkpointing: Option<bool>,
    pub inference: Option<bool>,
    pub tensor_parallel: Option<u64>,
    pub pipeline_parallel: Option<u64>,
    pub virtual_stages: Option<u64>,
    pub sequence_parallel: Option<bool>,
    pub buckets: Option<Buckets>,
    /// Fields that matter and are not understood, each with its file and what to do.
    pub unread: Vec<String>,
}

/// `self.field.or(other.field)` for each field.
macro_rules! merge {
    ($self:ident, $other:ident, $($field:ident)+) => {
        Self {
            unread: $self.unread.into_iter().chain($other.unread).collect(),
            $($field: $self.$field.or($other.$field),)+
        }
    };
}

impl Settings {
    /// The values of `self`, and those of `other` where `self` has none.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        merge!(self, other, parameters largest_layer adapter_sides adapter_whole matrices modules attached cache stored linear no_logits family active unknown layers hidden heads key_value query ffn gated vocabulary untied
            convention optimizer optimizer_rank precision zero shard_group gpus nodes offload offload_parameters zero_init tuning batch sequence
            accumulation effective_batch attention checkpointing inference tensor_parallel pipeline_parallel virtual_stages
            sequence_parallel buckets)
    }

    /// The rungs that these settings have taken already, as far as they say.
    pub fn applied(&self) -> Vec<Rung> {
        let applied = [
            (Rung::Bf16, matches!(self.precision, Some(Precision::Bf16Mixed | Precision::Bf16))),
            (Rung::Checkpointing, self.checkpointing == Some(true)),
            (Rung::Sdpa, self.attention == Some(Attention::Sdpa)),
            (Rung::Optimizer8bit, self.optimizer.is_some_and(|optimizer| optimizer.in_8_bits().is_err())),
            (Rung::Sharding, self.zero == Some(ZeroStage::Three)),
            (Rung::Adapter, matches!(self.tuning, Some(Tuning::Qlora { .. }))),
        ];
        applied.into_iter().filter(|(_, is)| *is).map(|(rung, _)| rung).collect()
    }

    /// The settings, with the size of the adapter that they describe; what cannot be counted is in `unread`.
    #[must_use]
    pub fn with_adapter(mut self) -> Self {
        let modules = self.modules.take();
        let attached = self.attached.take();
        let tuned = matches!(self.tuning, Some(Tuning::Lora { .. } | Tuning::Qlora { .. }));
        let Some(modules) = modules else {
            // Without the names of layers, an adapter is on every linear layer.
            self.unread.extend(attached.filter(|_| tuned && self.adapter_sides.is_none()).and_then(|own| own.narrow()));
            return self;
        };
        let narrow = |value: u128| u64::try_from(value).ok();
        let trained = attached.unwrap_or_else(Attached::all_linear).on(&modules);
        self.matrices =
            self.matrices.or(Some(modules.matrices(self.parameters.unwrap_or(0), self.untied == Some(true))));
        self.adapter_sides = self.adapter_sides.or(narrow(trained.sides));
        self.adapter_whole = self.adapter_whole.or(narrow(trained.whole).filter(|&whole| whole > 0));
        if tuned {
            self.unread.extend(trained.unread);
        }
        self
    }

    /// The model and the setup, with defaults for values that no source sets.
    ///
    /// # Errors
    /// If the number of parameters is unknown.
    pub fn finish(self) -> Result<(Model, Setup), EstimateError> {
        let this = self.with_adapter();
        let shape = this.shape();
        if let (None, Some(Unknown { path, family })) = (this.parameters, &this.unknown) {
            return Err(EstimateError::UnknownFamily { path: path.clone(), family: family.clone() });
        }
        // Without a vocabulary, the shape describes only the layers, which are not a whole model.
        let counted = shape.filter(|shape| shape.vocabulary.is_some()).map(|shape| shape.parameters());
        let parameters = this.parameters.or(counted).ok_or(EstimateError::NoParameters)?;
        let Self { largest_layer, adapter_sides, adapter_whole, matrices, cache, .. } = this;
        // QLoRA quantizes matrices that are not in 4 bits already; embeddings and the output layer stay as they are.
        let fine = this.stored.is_some_and(|stored| stored.rate.value() < 1.0);
        let own = this.linear.filter(|_| matches!(this.tuning, Some(Tuning::Qlora { .. })) && !fine);
        let stored = own.map(|parameters| Stored { parameters, rate: QLORA_BASE }).or(this.stored);
        let model = Model { parameters, shape, largest_layer, adapter_sides, adapter_whole, matrices, cache, stored };
        let defaults = Setup::default();
        let mut setup = Setup {
            convention: this.convention.unwrap_or(defaults.convention),
            optimizer: this.optimizer.unwrap_or(defaults.optimizer),
            optimizer_rank: this.optimizer_rank,
            precision: this.precision.unwrap_or(defaults.precision),
            zero: this.zero.unwrap_or(defaults.zero),
            shard_group: this.shard_group.map(|group| match group {
                ShardGroup::Node => this.gpus.unwrap_or(defaults.gpus),
                ShardGroup::Gpus(gpus) => gpus,
            }),
            gpus: this.gpus.unwrap_or(defaults.gpus),
            nodes: this.nodes.unwrap_or(defaults.nodes),
            offload: this.offload.unwrap_or(defaults.offload),
            offload_parameters: this.offload_parameters.unwrap_or(defaults.offload_parameters),
            zero_init: this.zero_init.unwrap_or(defaults.zero_init),
            tuning: this.tuning.unwrap_or(defaults.tuning),
            batch: this.batch,
            sequence: this.sequence,
            accumulation: this.accumulation.unwrap_or(defaults.accumulation),
            attention: this.attention.unwrap_or(defaults.attention),
            checkpointing: this.checkpointing.unwrap_or(defaults.checkpointing),
            inference: this.inference.unwrap_or(defaults.inference),
            tensor_parallel: this.tensor_parallel.unwrap_or(defaults.tensor_parallel),
            pipeline_parallel: this.pipeline_parallel.unwrap_or(defaults.pipeline_parallel),
            virtual_stages: this.virtual_stages,
            sequence_parallel: this.sequence_parallel.unwrap_or(defaults.sequence_parallel),
            buckets: this.buckets,
        };
        if let (None, Some(effective)) = (this.accumulation, this.effective_batch) {
            let world = setup.data_parallel().max(1);
            match setup.batch {
                Some(micro) => setup.accumulation = (effective / micro.max(1) / world).max(1),
                None => setup.batch = Some((effective / world).max(1)),
            }
        }
        Ok((model, setup))
    }

    /// The shape, if the number of layers and the width are known.
    fn shape(&self) -> Option<Shape> {
        let (layers, hidden) = (self.layers?, self.hidden?);
        let plain = Shape::new(layers, hidden);
        Some(Shape {
            heads: self.heads,
            key_value: self.key_value.unwrap_or(plain.key_value),
            query: self.query.unwrap_or(plain.query),
            ffn: self.ffn.unwrap_or(plain.ffn),
            gated: self.gated.unwrap_or(plain.gated),
            vocabulary: self.vocabulary,
            untied: self.untied.unwrap_or(plain.untied),
            no_logits: self.no_logits.unwrap_or(plain.no_logits),
            family: self.family,
            active: self.active,
            ..plain
        })
    }
}
