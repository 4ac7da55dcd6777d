//! The flags of a model and its training, which `estimate`, `ledger` and `diagnose` share.

use std::path::PathBuf;

use clap::Args;
use plimsoll::estimate::config::{self, Attached, Settings};
use plimsoll::estimate::{
    Attention, Convention, Count, EstimateError, Model, Offload, Optimizer, Precision, Setup, Tuning, ZeroStage,
};

/// The rank of an adapter if `--qlora` does not give one.
const RANK: u64 = 16;

#[derive(Args)]
pub struct ModelFlags {
    /// A model's or trainer's configuration; flags win; may be repeated
    ///
    /// A config.json or adapter_config.json; the configuration of DeepSpeed, Accelerate, Axolotl, LLaMA-Factory, torchtune
    /// or NeMo; TrainingArguments as JSON or printed; a script of TRL, peft or Unsloth; Megatron's arguments.
    #[arg(long = "config", value_name = "FILE", env = "PLIMSOLL_CONFIG", value_delimiter = ',')]
    pub configs: Vec<PathBuf>,

    /// Parameters: 4e9, 7B, 124M
    #[arg(long, value_name = "N", env = "PLIMSOLL_PARAMS", help_heading = "Model")]
    pub params: Option<Count>,
    /// Layers
    #[arg(long, value_name = "N", env = "PLIMSOLL_LAYERS", help_heading = "Model")]
    pub layers: Option<Count>,
    /// The width of the residual stream
    #[arg(long, value_name = "N", env = "PLIMSOLL_HIDDEN", help_heading = "Model")]
    pub hidden: Option<Count>,
    /// Attention heads
    #[arg(long, value_name = "N", env = "PLIMSOLL_HEADS", help_heading = "Model")]
    pub heads: Option<Count>,
    /// Rows of the embedding
    #[arg(long, value_name = "N", env = "PLIMSOLL_ESTIMATE_VOCAB", help_heading = "Model")]
    pub vocab: Option<Count>,
    /// The width inside the MLP [default: four times --hidden]
    #[arg(long, value_name = "N", env = "PLIMSOLL_FFN", help_heading = "Model")]
    pub ffn: Option<Count>,
    /// Parameters of the largest layer, which ZeRO-3 gathers
    #[arg(long, value_name = "N", env = "PLIMSOLL_LARGEST_LAYER", help_heading = "Model")]
    pub largest_layer: Option<Count>,

    /// The convention: hf, zero-paper, deepspeed, megatron [default: hf]
    ///
    /// deepspeed is the default if its configuration is given.
    #[arg(long, value_name = "NAME", env = "PLIMSOLL_CONVENTION", help_heading = "Training")]
    pub convention: Option<Convention>,
    /// The optimizer, such as adam, sgd or paged_adamw_8bit [default: adam]
    ///
    /// adam, adam8bit, sgd, lion, muon, or the name that a framework gives it.
    #[arg(long, value_name = "NAME", env = "PLIMSOLL_OPTIMIZER", help_heading = "Training", value_parser = optimizer)]
    pub optimizer: Option<Optimizer>,
    /// The precision: bf16-mixed, fp16-mixed, fp32, bf16 [default: bf16-mixed]
    #[arg(long, value_name = "NAME", env = "PLIMSOLL_PRECISION", help_heading = "Training")]
    pub precision: Option<Precision>,
    /// Train an adapter of this rank on every linear layer
    #[arg(long, value_name = "R", env = "PLIMSOLL_LORA", help_heading = "Training")]
    pub lora: Option<Count>,
    /// Layers with an adapter: q_proj,v_proj [default: all linear]
    ///
    /// Names as in peft's target_modules; needs --config with the model's config.json.
    #[arg(long, value_name = "NAMES", env = "PLIMSOLL_LORA_TARGETS", help_heading = "Training", value_delimiter = ',')]
    pub lora_targets: Vec<String>,
    /// Keep the base in 4 bits; the adapter's rank is that of --lora, or 16
    #[arg(long, env = "PLIMSOLL_QLORA", help_heading = "Training")]
    pub qlora: bool,
    /// Sequences of one forward on one GPU
    #[arg(long, value_name = "N", env = "PLIMSOLL_BATCH", help_heading = "Training")]
    pub batch: Option<Count>,
    /// Tokens of a sequence
    #[arg(long, value_name = "N", env = "PLIMSOLL_ESTIMATE_SEQ", help_heading = "Training")]
    pub seq: Option<Count>,
    /// Micro-batches before a step of the optimizer [default: 1]
    #[arg(long, value_name = "N", env = "PLIMSOLL_ACCUMULATION", help_heading = "Training")]
    pub accumulation: Option<Count>,
    /// Attention: sdpa, eager [default: sdpa]
    #[arg(long, value_name = "NAME", env = "PLIMSOLL_ATTENTION", help_heading = "Training")]
    pub attention: Option<Attention>,
    /// Generate instead of train: weights, KV cache and one prompt
    ///
    /// The cache is that of --batch sequences of --seq tokens.
    #[arg(long, env = "PLIMSOLL_INFERENCE", help_heading = "Training")]
    pub inference: bool,
    /// Activations are computed again in the backward
    #[arg(long, env = "PLIMSOLL_CHECKPOINTING", help_heading = "Training")]
    pub checkpointing: bool,

    /// The stage of ZeRO (0 to 3) or FSDP, such as FULL_SHARD [default: 0]
    ///
    /// 0, 1, 2, 3, NO_SHARD, SHARD_GRAD_OP or FULL_SHARD.
    #[arg(long, value_name = "STAGE", env = "PLIMSOLL_ZERO", help_heading = "Sharding and offload")]
    pub zero: Option<ZeroStage>,
    /// GPUs of each node [default: 1]
    #[arg(long, value_name = "N", env = "PLIMSOLL_GPUS", help_heading = "Sharding and offload")]
    pub gpus: Option<Count>,
    /// Nodes [default: 1]
    #[arg(long, value_name = "N", env = "PLIMSOLL_NODES", help_heading = "Sharding and offload")]
    pub nodes: Option<Count>,
    /// Where optimizer state is kept, from ZeRO-2 gradients too: none, cpu, nvme
    #[arg(long, value_name = "PLACE", env = "PLIMSOLL_OFFLOAD", help_heading = "Sharding and offload")]
    pub offload: Option<Offload>,
    /// Where parameters are kept between uses, with ZeRO-3: none, cpu, nvme
    #[arg(long, value_name = "PLACE", env = "PLIMSOLL_OFFLOAD_PARAMS", help_heading = "Sharding and offload")]
    pub offload_params: Option<Offload>,
    /// The model is made whole by every process before ZeRO-3 shards it (zero_init=0)
    #[arg(long, env = "PLIMSOLL_NO_ZERO_INIT", help_heading = "Sharding and offload")]
    pub no_zero_init: bool,
    /// Megatron's tensor parallel size [default: 1]
    #[arg(long, value_name = "N", env = "PLIMSOLL_TP", help_heading = "Sharding and offload")]
    pub tp: Option<Count>,
    /// Megatron's pipeline parallel size [default: 1]
    #[arg(long, value_name = "N", env = "PLIMSOLL_PP", help_heading = "Sharding and offload")]
    pub pp: Option<Count>,
    /// Megatron's virtual pipeline stages
    #[arg(long, value_name = "N", env = "PLIMSOLL_VIRTUAL_STAGES", help_heading = "Sharding and offload")]
    pub virtual_stages: Option<Count>,
    /// Megatron's sequence parallelism with selective recomputation
    #[arg(long, env = "PLIMSOLL_SEQUENCE_PARALLEL", help_heading = "Sharding and offload")]
    pub sequence_parallel: bool,
}

/// Parses the name of an optimizer, as [`Optimizer::named`] knows it.
fn optimizer(text: &str) -> Result<Optimizer, String> {
    let known = || text.parse::<Optimizer>().map_err(|error| error.to_string());
    Optimizer::named(text).map_or_else(known, Ok)
}

impl ModelFlags {
    /// Whether a flag or configuration describes a model.
    pub fn is_given(&self) -> bool {
        !self.configs.is_empty() || self.params.is_some() || self.layers.is_some()
    }

    /// Whether flags alone describe a model.
    pub fn describes(&self) -> bool {
        self.params.is_some() || self.layers.is_some()
    }

    /// The model and the setup from flags and configurations.
    pub fn read(&self) -> Result<(Model, Setup), EstimateError> {
        self.settings()?.finish()
    }

    /// The settings from flags and configurations.
    pub fn settings(&self) -> Result<Settings, EstimateError> {
        let configs = self.configs.iter().map(|path| config::read(path));
        let mut settings =
            configs.into_iter().try_fold(self.flags(), |settings, more| Ok::<_, EstimateError>(settings.or(more?)))?;
        if self.zero.is_some() {
            // A stage on the command line replaces a file's strategy as a whole.
            settings.shard_group = None;
        }
        // Layers and width on the command line describe another model than a file's, so the file's count no longer
        // holds.
        if self.params.is_none() && (self.layers.is_some() || self.hidden.is_some()) {
            (settings.parameters, settings.modules, settings.cache, settings.stored) = (None, None, None, None);
            settings.largest_layer = self.largest_layer.map(|count| count.0);
        }
        Ok(settings.with_adapter())
    }

    fn flags(&self) -> Settings {
        let count = |count: Option<Count>| count.map(|count| count.0);
        let rank = count(self.lora);
        let tuning = match (self.qlora, rank) {
            (true, rank) => Some(Tuning::Qlora { rank: rank.unwrap_or(RANK) }),
            (false, Some(rank)) => Some(Tuning::Lora { rank }),
            (false, None) => None,
        };
        let attached = (!self.lora_targets.is_empty()).then(|| Attached::named("--lora-targets", &self.lora_targets));
        Settings {
            attached,
            parameters: count(self.params),
            largest_layer: count(self.largest_layer),
            layers: count(self.layers),
            hidden: count(self.hidden),
            heads: count(self.heads),
            ffn: count(self.ffn),
            vocabulary: count(self.vocab),
            convention: self.convention,
            optimizer: self.optimizer,
            precision: self.precision,
            zero: self.zero,
            gpus: count(self.gpus),
            nodes: count(self.nodes),
            offload: self.offload,
            offload_parameters: self.offload_params,
            zero_init: self.no_zero_init.then_some(false),
            tuning,
            batch: count(self.batch),
            sequence: count(self.seq),
            accumulation: count(self.accumulation),
            attention: self.attention,
            checkpointing: self.checkpointing.then_some(true),
            inference: self.inference.then_some(true),
            tensor_parallel: count(self.tp),
            pipeline_parallel: count(self.pp),
            virtual_stages: count(self.virtual_stages),
            sequence_parallel: self.sequence_parallel.then_some(true),
            ..Settings::default()
        }
    }
}
