//! [`Settings`]: the content of one source, and how sources are merged.

use std::path::PathBuf;

use crate::estimate::cache::Cache;
use crate::estimate::choices::{Attention, Offload, Optimizer, Precision, Tuning, ZeroStage};
use crate::estimate::convention::Convention;
use crate::estimate::error::EstimateError;
use crate::estimate::model::{Model, Shape};
use crate::estimate::setup::{Buckets, Setup};
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
    pub cache: Option<Cache>,
    pub stored: Option<Stored>,
    pub no_logits: Option<bool>,
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
        merge!(self, other, parameters largest_layer adapter_sides cache stored no_logits unknown layers hidden heads key_value query ffn gated vocabulary untied
            convention optimizer precision zero shard_group gpus nodes offload offload_parameters zero_init tuning batch sequence
            accumulation effective_batch attention checkpointing inference tensor_parallel pipeline_parallel virtual_stages
            sequence_parallel buckets)
    }

    /// The model and the setup, with defaults for values that no source sets.
    ///
    /// # Errors
    /// If the number of parameters is unknown.
    pub fn finish(self) -> Result<(Model, Setup), EstimateError> {
        let shape = self.shape();
        if let (None, Some(Unknown { path, family })) = (self.parameters, &self.unknown) {
            return Err(EstimateError::UnknownFamily { path: path.clone(), family: family.clone() });
        }
        // Without a vocabulary, the shape describes only the layers, which are not a whole model.
        let counted = shape.filter(|shape| shape.vocabulary.is_some()).map(|shape| shape.parameters());
        let parameters = self.parameters.or(counted).ok_or(EstimateError::NoParameters)?;
        let Self { largest_layer, adapter_sides, cache, stored, .. } = self;
        let model = Model { parameters, shape, largest_layer, adapter_sides, cache, stored };
        let defaults = Setup::default();
        let mut setup = Setup {
            convention: self.convention.unwrap_or(defaults.convention),
            optimizer: self.optimizer.unwrap_or(defaults.optimizer),
            precision: self.precision.unwrap_or(defaults.precision),
            zero: self.zero.unwrap_or(defaults.zero),
            shard_group: self.shard_group.map(|group| match group {
                ShardGroup::Node => self.gpus.unwrap_or(defaults.gpus),
                ShardGroup::Gpus(gpus) => gpus,
            }),
            gpus: self.gpus.unwrap_or(defaults.gpus),
            nodes: self.nodes.unwrap_or(defaults.nodes),
            offload: self.offload.unwrap_or(defaults.offload),
            offload_parameters: self.offload_parameters.unwrap_or(defaults.offload_parameters),
            zero_init: self.zero_init.unwrap_or(defaults.zero_init),
            tuning: self.tuning.unwrap_or(defaults.tuning),
            batch: self.batch,
            sequence: self.sequence,
            accumulation: self.accumulation.unwrap_or(defaults.accumulation),
            attention: self.attention.unwrap_or(defaults.attention),
            checkpointing: self.checkpointing.unwrap_or(defaults.checkpointing),
            inference: self.inference.unwrap_or(defaults.inference),
            tensor_parallel: self.tensor_parallel.unwrap_or(defaults.tensor_parallel),
            pipeline_parallel: self.pipeline_parallel.unwrap_or(defaults.pipeline_parallel),
            virtual_stages: self.virtual_stages,
            sequence_parallel: self.sequence_parallel.unwrap_or(defaults.sequence_parallel),
            buckets: self.buckets,
        };
        if let (None, Some(effective)) = (self.accumulation, self.effective_batch) {
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
            ..plain
        })
    }
}
