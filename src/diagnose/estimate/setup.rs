//! [`Setup`]: how a model is trained, in the terms of the command line.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::choices::{Attention, Offload, Precision, Tuning, ZeroStage};
use super::convention::Convention;
use super::error::EstimateError;
use super::model::MAX_WORLD;
use super::optimizer::Optimizer;

/// The three factors of the effective batch; training sees their product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BatchFactors {
    /// Sequences per forward pass on one GPU.
    pub micro: u64,
    /// Micro-batches per optimizer step.
    pub accumulation: u64,
    /// Number of GPUs with data of their own.
    pub world: u64,
}

impl BatchFactors {
    /// Micro-batch x accumulation x world; saturates at 2^64 - 1.
    pub const fn effective(self) -> u64 {
        self.micro.saturating_mul(self.accumulation).saturating_mul(self.world)
    }
}

impl fmt::Display for BatchFactors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { micro, accumulation, world } = self;
        write!(f, "{micro} micro x {accumulation} accumulation x {world} world = {}", self.effective())
    }
}

/// DeepSpeed's buckets, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Buckets {
    /// `reduce_bucket_size`.
    pub reduce: u64,
    /// `allgather_bucket_size`.
    pub allgather: u64,
    /// `overlap_comm`, which multiplies the bytes by 4.5.
    pub overlap: bool,
}

/// How a model is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Setup {
    /// Which tool's way to count.
    pub convention: Convention,
    /// The optimizer.
    pub optimizer: Optimizer,
    /// The rank of the subspace of GaLore and APOLLO; absent if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optimizer_rank: Option<u64>,
    /// The precision.
    pub precision: Precision,
    /// What is sharded.
    pub zero: ZeroStage,
    /// GPUs that share one sharded copy; each group of them has all of it. Absent if all GPUs share one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard_group: Option<u64>,
    /// GPUs per node.
    pub gpus: u64,
    /// Number of nodes.
    pub nodes: u64,
    /// Where the optimizer state, the master weights and, from ZeRO-2 on, the gradients are kept.
    pub offload: Offload,
    /// Where the weights are kept between uses.
    pub offload_parameters: Offload,
    /// Whether the model is created sharded (`zero.Init`), so that no process holds a whole copy while loading.
    pub zero_init: bool,
    /// Which parameters are trained.
    pub tuning: Tuning,
    /// Sequences per forward pass on one GPU; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<u64>,
    /// Tokens per sequence; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    /// Micro-batches per optimizer step.
    pub accumulation: u64,
    /// How attention is computed.
    pub attention: Attention,
    /// Whether activations are computed again in the backward pass.
    pub checkpointing: bool,
    /// Whether the model generates instead of being trained.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inference: bool,
    /// Megatron's tensor parallel size.
    pub tensor_parallel: u64,
    /// Megatron's pipeline parallel size.
    pub pipeline_parallel: u64,
    /// Megatron's virtual pipeline stages; absent without interleaving.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub virtual_stages: Option<u64>,
    /// Megatron's sequence parallelism with selective recomputation.
    pub sequence_parallel: bool,
    /// DeepSpeed's buckets, if its configuration sets them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buckets: Option<Buckets>,
}

impl Default for Setup {
    /// Adam in bf16-mixed on one GPU, by Hugging Face's convention.
    fn default() -> Self {
        Self {
            convention: Convention::Hf,
            optimizer: Optimizer::Adam,
            optimizer_rank: None,
            precision: Precision::Bf16Mixed,
            zero: ZeroStage::Zero,
            shard_group: None,
            gpus: 1,
            nodes: 1,
            offload: Offload::None,
            offload_parameters: Offload::None,
            zero_init: true,
            tuning: Tuning::Full,
            batch: None,
            sequence: None,
            accumulation: 1,
            attention: Attention::Sdpa,
            checkpointing: false,
            inference: false,
            tensor_parallel: 1,
            pipeline_parallel: 1,
            virtual_stages: None,
            sequence_parallel: false,
            buckets: None,
        }
    }
}

impl Setup {
    /// Number of GPUs in all nodes; saturates.
    pub const fn world(&self) -> u64 {
        self.gpus.saturating_mul(self.nodes)
    }

    /// Number of GPUs with data of their own, which ZeRO shards over.
    pub const fn data_parallel(&self) -> u64 {
        let model_parallel = self.tensor_parallel.saturating_mul(self.pipeline_parallel);
        match self.world().checked_div(model_parallel) {
            Some(parallel) => parallel,
            None => 0,
        }
    }

    /// Number of GPUs that share one sharded copy.
    pub fn shards(&self) -> u64 {
        let all = self.data_parallel();
        self.shard_group.map_or(all, |group| group.clamp(1, all.max(1)))
    }

    /// Number of nodes that share one sharded copy.
    pub(super) fn sharing_nodes(&self) -> u64 {
        self.shard_group.map_or(self.nodes, |group| group.div_ceil(self.gpus.max(1)).clamp(1, self.nodes.max(1)))
    }

    /// The factors of the effective batch, if the micro-batch is known.
    pub fn batch_factors(&self) -> Option<BatchFactors> {
        let (accumulation, world) = (self.accumulation, self.data_parallel());
        self.batch.map(|micro| BatchFactors { micro, accumulation, world })
    }

    /// Refuses impossible setups, and setups without a formula in the convention.
    pub(super) fn check(&self) -> Result<(), EstimateError> {
        let counts = [
            ("--gpus", Some(self.gpus)),
            ("--nodes", Some(self.nodes)),
            ("--batch", self.batch),
            ("--seq", self.sequence),
            ("--accumulation", Some(self.accumulation)),
            ("--tp", Some(self.tensor_parallel)),
            ("--pp", Some(self.pipeline_parallel)),
            ("--virtual-stages", self.virtual_stages),
            ("GPUs in all", Some(self.world())),
        ];
        for (what, given) in counts {
            match given {
                Some(0) => return Err(EstimateError::Zero { what }),
                Some(given) if given > MAX_WORLD => {
                    return Err(EstimateError::TooMany { what, given, most: MAX_WORLD });
                }
                _ => {}
            }
        }
        self.check_convention()?;
        self.check_offload()
    }

    fn check_convention(&self) -> Result<(), EstimateError> {
        if self.convention == Convention::Megatron {
            if self.zero > ZeroStage::One {
                return Err(EstimateError::StageUnknown { convention: self.convention, stage: self.zero.into() });
            }
            let (tensor, pipeline) = (self.tensor_parallel, self.pipeline_parallel);
            if tensor.checked_mul(pipeline).is_none_or(|parts| !self.world().is_multiple_of(parts)) {
                return Err(EstimateError::Indivisible { gpus: self.world(), tensor, pipeline });
            }
            return Ok(());
        }
        let features = [
            ("--tp", self.tensor_parallel > 1),
            ("--pp", self.pipeline_parallel > 1),
            ("--virtual-stages", self.virtual_stages.is_some()),
            ("--sequence-parallel", self.sequence_parallel),
        ];
        match features.into_iter().find(|(_, used)| *used) {
            Some((feature, _)) => Err(EstimateError::MegatronOnly { feature }),
            None => Ok(()),
        }
    }

    fn check_offload(&self) -> Result<(), EstimateError> {
        let refuse = |what, place: Offload, needs, stage| {
            Err(EstimateError::OffloadNeedsZero { what, place: place.name(), needs, stage })
        };
        match (self.offload, self.offload_parameters, self.zero) {
            (Offload::Nvme, _, stage) if stage < ZeroStage::Three => {
                refuse("the optimizer", Offload::Nvme, "ZeRO-3", 3)
            }
            (Offload::Cpu, _, ZeroStage::Zero) => refuse("the optimizer", Offload::Cpu, "ZeRO-1, 2 or 3", 2),
            (_, place @ (Offload::Cpu | Offload::Nvme), stage) if stage < ZeroStage::Three => {
                refuse("the parameters", place, "ZeRO-3", 3)
            }
            _ => Ok(()),
        }
    }
}
