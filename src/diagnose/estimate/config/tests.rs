//! Configurations of public models, and texts that are not configurations.

use std::path::Path;

use proptest::prelude::*;
use serde_json::json;

use super::file::parse;
use super::*;
use crate::estimate::{Attention, Convention, EstimateError, Offload, Optimizer, Precision, Tuning, ZeroStage};

fn settings(value: &serde_json::Value) -> Settings {
    parse(Path::new("config.json"), value.to_string().as_bytes()).unwrap()
}

/// The numbers of parameters equal those of the models' own weights.
#[test]
fn parameters_of_public_models_are_counted_exactly() {
    let llama3 = json!({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "tie_word_embeddings": false});
    let gpt2 = json!({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257,
        "n_positions": 1024, "n_inner": null});
    let qwen2 = json!({"model_type": "qwen2", "hidden_size": 896, "num_hidden_layers": 24, "num_attention_heads": 14,
        "num_key_value_heads": 2, "intermediate_size": 4864, "vocab_size": 151936, "tie_word_embeddings": true});
    let qwen3 = json!({"model_type": "qwen3", "hidden_size": 1024, "num_hidden_layers": 28, "num_attention_heads": 16,
        "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 3072, "vocab_size": 151936,
        "tie_word_embeddings": true});
    let gemma = json!({"model_type": "gemma", "hidden_size": 2048, "num_hidden_layers": 18, "num_attention_heads": 8,
        "num_key_value_heads": 1, "head_dim": 256, "intermediate_size": 16384, "vocab_size": 256000});
    let opt = json!({"model_type": "opt", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
        "ffn_dim": 3072, "vocab_size": 50272, "max_position_embeddings": 2048});
    let pythia = json!({"model_type": "gpt_neox", "hidden_size": 2048, "num_hidden_layers": 16,
        "num_attention_heads": 8, "intermediate_size": 8192, "vocab_size": 50304, "tie_word_embeddings": false});
    let mixtral = json!({"model_type": "mixtral", "hidden_size": 4096, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 32000,
        "num_local_experts": 8});
    for (config, parameters) in [
        (llama3, 8_030_261_248),
        (gpt2, 124_439_808),
        (qwen2, 494_032_768),
        (qwen3, 596_049_920),
        (gemma, 2_506_172_416),
        (opt, 125_239_296),
        (pythia, 1_011_781_632),
        (mixtral, 46_702_792_704),
    ] {
        assert_eq!(settings(&config).parameters, Some(parameters), "{config}");
    }
}

#[test]
fn a_part_of_a_larger_model_is_found_in_a_family_that_is_not_known() {
    let inner = json!({"text_config": {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2,
        "vocab_size": 16, "rms_norm_eps": 1e-6}});
    let told = settings(&inner);
    assert_eq!((told.layers, told.parameters, told.gated), (Some(2), None, Some(true)));
    assert!(told.unknown.is_some());
}

fn training(text: &str) -> Settings {
    parse(Path::new("train"), text.as_bytes()).unwrap()
}

#[test]
fn a_dump_of_training_arguments_is_read_and_not_taken_for_deepspeeds() {
    let told = settings(
        &json!({"output_dir": "out", "per_device_train_batch_size": 4, "gradient_accumulation_steps": 8,
        "gradient_checkpointing": true, "fp16": false, "bf16": true, "optim": "paged_adamw_8bit", "world_size": 8,
        "fsdp": ["full_shard", "offload", "auto_wrap"], "deepspeed": null, "use_liger_kernel": true, "torch_compile": false}),
    );
    assert_eq!((told.batch, told.accumulation, told.checkpointing), (Some(4), Some(8), Some(true)));
    assert_eq!((told.optimizer, told.precision), (Some(Optimizer::Adam8bit), Some(Precision::Bf16Mixed)));
    assert_eq!((told.zero, told.offload, told.gpus), (Some(ZeroStage::Three), Some(Offload::Cpu), Some(8)));
    assert_eq!(told.convention, None);
    assert!(
        told.unread.len() == 1 && told.unread[0].contains("`use_liger_kernel` of config.json"),
        "{:?}",
        told.unread
    );
    let printed = training(
        "TrainingArguments(\n_n_gpu=1,\nbf16=False,\nfp16=True,\noptim=OptimizerNames.ADAMW_TORCH,\nper_device_train_batch_size=2,\nmax_length=1024,\n)",
    );
    assert_eq!((printed.batch, printed.sequence), (Some(2), Some(1024)));
    assert_eq!((printed.precision, printed.optimizer), (Some(Precision::Fp16Mixed), Some(Optimizer::Adam)));
}

#[test]
fn accelerate_fsdp_and_axolotl_are_read() {
    let accelerate = training(
        "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  fsdp_sharding_strategy: SHARD_GRAD_OP\n  fsdp_offload_params: true\nmixed_precision: 'no'\nnum_machines: 2\nnum_processes: 16\n",
    );
    assert_eq!((accelerate.zero, accelerate.offload), (Some(ZeroStage::Two), Some(Offload::Cpu)));
    assert_eq!((accelerate.gpus, accelerate.nodes, accelerate.precision), (Some(8), Some(2), Some(Precision::Fp32)));
    let two = training("fsdp_config:\n  fsdp_version: 2\n  fsdp_reshard_after_forward: false\n");
    assert_eq!(two.zero, Some(ZeroStage::Two));
    let nested = training(
        "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3\n  offload_optimizer_device: cpu\n  offload_param_device: none\nmixed_precision: bf16\n",
    );
    assert_eq!(
        (nested.zero, nested.offload, nested.precision),
        (Some(ZeroStage::Three), Some(Offload::Cpu), Some(Precision::Bf16Mixed))
    );
    let axolotl = training(
        "base_model: meta/llama  # the base\nadapter: qlora\nlora_r: 32\nload_in_4bit: true\nsequence_len: 4096\nmicro_batch_size: 2\ngradient_checkpointing: unsloth\noptimizer: adamw_bnb_8bit\nlora_target_modules:\n  - q_proj\n  - v_proj\nflash_attention: true\n",
    );
    assert_eq!(axolotl.tuning, Some(Tuning::Qlora { rank: 32 }));
    assert_eq!((axolotl.batch, axolotl.sequence, axolotl.checkpointing), (Some(2), Some(4096), Some(true)));
    assert_eq!((axolotl.optimizer, axolotl.attention), (Some(Optimizer::Adam8bit), Some(Attention::Sdpa)));
    let axolotl = axolotl.with_adapter();
    assert!(axolotl.unread.len() == 1 && axolotl.unread[0].contains("q_proj, v_proj alone"), "{:?}", axolotl.unread);
    let strange = training("output_dir: x\noptim: adalomo\n");
    assert!(strange.optimizer.is_none() && strange.unread[0].contains("adalomo"), "{:?}", strange.unread);
}

#[test]
fn optimizers_and_stages_have_the_names_that_people_use() {
    for (name, optimizer) in [
        ("adamw_torch_fused", Optimizer::Adam),
        ("paged_adamw_32bit", Optimizer::Adam),
        ("DeepSpeedCPUAdam", Optimizer::Adam),
        ("torch.optim.AdamW", Optimizer::Adam),
        ("paged_adamw_8bit", Optimizer::Adam8bit),
        ("bnb.optim.PagedAdamW8bit", Optimizer::Adam8bit),
        ("adamw-8bit", Optimizer::Adam8bit),
        ("adamw_torch_4bit", Optimizer::Adam4bit),
        ("paged_lion_8bit", Optimizer::Lion8bit),
        ("lion_32bit", Optimizer::Lion),
        ("Adafactor", Optimizer::Adafactor),
        ("sgd", Optimizer::Sgd),
        ("rmsprop_bnb", Optimizer::Rmsprop),
        ("torch.optim.Adagrad", Optimizer::Adagrad),
        ("rmsprop_bnb_8bit", Optimizer::Rmsprop8bit),
        ("torch.optim.Muon", Optimizer::Muon),
        ("galore_adamw", Optimizer::Galore),
        ("galore_adamw_8bit", Optimizer::Galore8bit),
        ("apollo_adamw", Optimizer::Apollo),
        ("schedule_free_radam", Optimizer::ScheduleFree),
        ("AdamWScheduleFree", Optimizer::ScheduleFree),
        ("schedulefree.SGDScheduleFree", Optimizer::ScheduleFreeSgd),
        ("paged_ademamix_8bit", Optimizer::Ademamix8bit),
        ("ademamix", Optimizer::Ademamix),
        ("SophiaG", Optimizer::Sophia),
        ("came_pytorch", Optimizer::Came),
        ("adam-mini", Optimizer::AdamMini),
        ("Prodigy", Optimizer::Prodigy),
        ("stable_adamw", Optimizer::Adam),
        ("torchao.optim.AdamWFp8", Optimizer::Adam8bit),
    ] {
        assert_eq!(Optimizer::named(name), Some(optimizer), "{name}");
    }
    for name in [
        "lomo",
        "galore_adamw_8bit_layerwise",
        "galore_adafactor",
        "distributed_shampoo",
        "magic",
        "soap8bit",
        "OneBitAdam",
    ] {
        assert_eq!(Optimizer::named(name), None, "{name}");
    }
    for (name, stage) in
        [("FULL_SHARD", 3), ("shard_grad_op", 2), ("ShardingStrategy.NO_SHARD", 0), ("ddp", 0), ("2", 2)]
    {
        assert_eq!(name.parse::<ZeroStage>().map(u8::from), Ok(stage), "{name}");
    }
    let refused = "HYBRID_SHARD".parse::<ZeroStage>().unwrap_err().to_string();
    assert!(refused.contains("FULL_SHARD or SHARD_GRAD_OP with --nodes 1"), "{refused}");
    assert_eq!(ZeroStage::hybrid("ShardingStrategy._HYBRID_SHARD_ZERO2"), Some(ZeroStage::Two));
}

#[test]
fn a_deepspeed_configuration_tells_stage_offload_precision_and_batch() {
    let config = json!({
        "bf16": {"enabled": true}, "fp16": {"enabled": "auto"},
        "optimizer": {"type": "AdamW", "params": {"lr": "auto"}},
        "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "nvme"}, "offload_param": {"device": "cpu"},
            "reduce_bucket_size": 5e8, "overlap_comm": true},
        "train_micro_batch_size_per_gpu": 4, "train_batch_size": 64, "gradient_accumulation_steps": "auto"
    });
    let told = settings(&config);
    assert_eq!(told.convention, Some(Convention::Deepspeed));
    assert_eq!((told.zero, told.precision), (Some(ZeroStage::Three), Some(Precision::Bf16Mixed)));
    assert_eq!((told.offload, told.offload_parameters), (Some(Offload::Nvme), Some(Offload::Cpu)));
    assert_eq!((told.optimizer, told.batch, told.accumulation), (Some(Optimizer::Adam), Some(4), None));
    assert_eq!(told.buckets.map(|b| (b.reduce, b.allgather, b.overlap)), Some((500_000_000, 0, true)));
    let flags = Settings { parameters: Some(1_000), gpus: Some(8), ..Settings::default() };
    let (_, setup) = flags.or(told).finish().unwrap();
    assert_eq!(setup.batch_factors().unwrap().to_string(), "4 micro x 2 accumulation x 8 world = 64");
}

#[test]
fn the_first_source_that_tells_a_thing_wins() {
    let flags = Settings { zero: Some(ZeroStage::Two), parameters: Some(7), ..Settings::default() };
    let told = settings(&json!({"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": 2}));
    let (_, setup) = flags.or(told).finish().unwrap();
    assert_eq!((setup.zero, setup.batch), (ZeroStage::Two, Some(2)));
}

#[test]
fn what_is_no_configuration_is_named_with_what_is_wrong() {
    let refused = |text: &str| parse(Path::new("ds.json"), text.as_bytes()).unwrap_err();
    for (text, words) in [
        ("{", "ds.json is not a JSON object, line 1, column 1"),
        ("[1]", "ds.json is not a JSON object"),
        ("{\"a\": 1}", "ds.json is neither a Hugging Face config.json"),
        ("{\"zero_optimization\": {\"stage\": 4}}", "`zero_optimization.stage` is 4: must be 0, 1, 2 or 3"),
        ("{\"hidden_size\": -1}", "`hidden_size` is -1: must be a whole number of at least 1"),
        (
            "{\"fp16\": {}, \"zero_optimization\": {\"offload_param\": {\"device\": \"gpu\"}}}",
            "is \"gpu\": must be none, cpu or nvme",
        ),
    ] {
        let message = refused(text).to_string();
        assert!(message.contains(words), "{message}");
    }
    assert!(matches!(Settings::default().finish(), Err(EstimateError::NoParameters)));
    assert!(matches!(read(Path::new("/no/such/file")), Err(EstimateError::Read { .. })));
}

fn finished(parts: &[Settings]) -> crate::estimate::Setup {
    let model = Settings { parameters: Some(1_000_000), ..Settings::default() };
    parts.iter().cloned().fold(model, Settings::or).finish().unwrap().1
}

#[test]
fn hybrid_sharding_is_within_a_node_in_every_notation() {
    let accelerate = |strategy: &str| {
        training(&format!(
            "distributed_type: FSDP\nfsdp_config:\n  fsdp_sharding_strategy: {strategy}\nnum_machines: 3\nnum_processes: 12\n"
        ))
    };
    for (text, stage, shards) in [
        ("HYBRID_SHARD", ZeroStage::Three, 4),
        ("4", ZeroStage::Three, 4),
        ("HYBRID_SHARD_ZERO2", ZeroStage::Two, 4),
        ("5", ZeroStage::Two, 4),
        ("FULL_SHARD", ZeroStage::Three, 12),
        ("'2'", ZeroStage::Two, 12),
    ] {
        let told = accelerate(text);
        assert_eq!(told.unread, [""; 0], "{text}");
        let setup = finished(&[told]);
        assert_eq!((setup.zero, setup.shards(), setup.data_parallel()), (stage, shards, 12), "{text}");
    }
    // TrainingArguments do not say how many nodes there are.
    let trainer = settings(&json!({"output_dir": "x", "fsdp": ["hybrid_shard", "auto_wrap"]}));
    assert!(trainer.unread.len() == 1 && trainer.unread[0].contains("--nodes"), "{:?}", trainer.unread);
    let world = Settings { gpus: Some(8), nodes: Some(2), ..Settings::default() };
    let setup = finished(&[world.clone(), trainer]);
    assert_eq!((setup.shards(), setup.sharing_nodes()), (8, 1));
    let mesh = training(
        "compute_environment: X\nparallelism_config:\n  dp_replicate_size: 4\n  dp_shard_size: 4\nfsdp: full_shard\n",
    );
    assert_eq!(finished(&[world.clone(), mesh]).shards(), 4);
    let mics = settings(&json!({"zero_optimization": {"stage": 3, "mics_shard_size": 4}}));
    assert_eq!(finished(&[world, mics]).shards(), 4);
    let strange = accelerate("DIAGONAL_SHARD");
    assert!(
        strange.unread[0].contains("DIAGONAL_SHARD") && strange.zero == Some(ZeroStage::Three),
        "{:?}",
        strange.unread
    );
    let strange = settings(&json!({"output_dir": "x", "fsdp": "full_shrad offload"}));
    assert!(strange.unread[0].contains("full_shrad"), "{:?}", strange.unread);
}

#[test]
fn training_arguments_on_one_line_are_those_on_many() {
    let one = "TrainingArguments(output_dir='out', bf16=True, fp16=False, fsdp=[<FSDPOption.HYBRID_SHARD: 'hybrid_shard'>], \
        gradient_accumulation_steps=4, gradient_checkpointing=True, lr_scheduler_type=<SchedulerType.COSINE: 'cosine'>, \
        optim=<OptimizerNames.ADAMW_8BIT: 'adamw_bnb_8bit'>, optim_args=None, per_device_eval_batch_size=8, per_device_train_batch_size=6)";
    for text in [one.to_owned(), one.replace(", ", ",\n"), format!("INFO 12:01 {one}\nmore text\n")] {
        let told = training(&text);
        assert_eq!((told.batch, told.accumulation, told.checkpointing), (Some(6), Some(4), Some(true)), "{text}");
        assert_eq!((told.optimizer, told.precision), (Some(Optimizer::Adam8bit), Some(Precision::Bf16Mixed)), "{text}");
        assert_eq!((told.zero, told.shard_group), (Some(ZeroStage::Three), Some(ShardGroup::Node)), "{text}");
    }
}

#[test]
fn other_trainers_are_read() {
    let tune = training(
        "model:\n  _component_: torchtune.models.qwen2_5.lora_qwen2_5_7b_base\n  lora_attn_modules: ['q_proj', 'output_proj']\n  apply_lora_to_mlp: True\n  lora_rank: 64\ntokenizer:\n  _component_: torchtune.models.qwen2_5.qwen2_5_tokenizer\n  max_seq_len: 4096\noptimizer:\n  _component_: bitsandbytes.optim.PagedAdamW8bit\n  lr: 2e-5\nbatch_size: 3\ngradient_accumulation_steps: 5\ndtype: bf16\nenable_activation_checkpointing: True\noutput_dir: /tmp\n",
    );
    assert_eq!(
        (tune.batch, tune.accumulation, tune.sequence, tune.optimizer),
        (Some(3), Some(5), Some(4096), Some(Optimizer::Adam8bit))
    );
    assert_eq!((tune.tuning, tune.checkpointing), (Some(Tuning::Lora { rank: 64 }), Some(true)));
    assert!(tune.attached.as_ref().is_some_and(|own| own.targets
        == Targets::Named(["q_proj", "o_proj", "gate_proj", "up_proj", "down_proj"].map(str::to_owned).to_vec())));
    assert_eq!(tune.precision, Some(Precision::Bf16));

    let megatron = training(
        "#!/bin/bash\nGPT_ARGS=(\n  --num-layers 48 --hidden-size 6144 \\\n  --num-attention-heads 48\n  --group-query-attention --num-query-groups 8 # groups\n  --ffn-hidden-size 16384 --swiglu\n  --seq-length 8192 --padded-vocab-size 50304\n  --untie-embeddings-and-output-weights --bf16\n  --micro-batch-size 2 --global-batch-size 256\n  --tensor-model-parallel-size 4 --pipeline-model-parallel-size 2\n  --use-distributed-optimizer --sequence-parallel --context-parallel-size 2\n)\ntorchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py ${GPT_ARGS[@]}\n",
    );
    assert_eq!((megatron.convention, megatron.zero), (Some(Convention::Megatron), Some(ZeroStage::One)));
    assert_eq!((megatron.tensor_parallel, megatron.pipeline_parallel, megatron.batch), (Some(4), Some(2), Some(2)));
    assert_eq!((megatron.gpus, megatron.nodes, megatron.key_value), (Some(8), Some(4), Some(1024)));
    assert!(
        megatron.unread.len() == 1 && megatron.unread[0].contains("context_parallel_size"),
        "{:?}",
        megatron.unread
    );
    let (model, _) = megatron.finish().unwrap();
    assert_eq!(model.shape.unwrap().vocabulary, Some(50_304));

    let nemo = training(
        "trainer:\n  devices: 8\n  num_nodes: 2\n  precision: bf16\nmodel:\n  micro_batch_size: 1\n  global_batch_size: 64\n  tensor_model_parallel_size: 8\n  pipeline_model_parallel_size: 1\n  encoder_seq_length: 4096\n  num_layers: 40\n  hidden_size: 5120\n  num_attention_heads: 40\n  activations_checkpoint_granularity: full\n  optim:\n    name: distributed_fused_adam\n",
    );
    assert_eq!((nemo.gpus, nemo.nodes, nemo.tensor_parallel), (Some(8), Some(2), Some(8)));
    assert_eq!((nemo.zero, nemo.sequence, nemo.checkpointing), (Some(ZeroStage::One), Some(4096), Some(true)));
    assert_eq!((nemo.optimizer, nemo.precision), (Some(Optimizer::Adam), Some(Precision::Bf16Mixed)));

    let unsloth = training(
        "from unsloth import FastLanguageModel\nmodel, tokenizer = FastLanguageModel.from_pretrained(\n    model_name = 'unsloth/llama-3-8b',\n    max_seq_length = 2048,\n    load_in_4bit = True,\n)\nmodel = FastLanguageModel.get_peft_model(model, r = 32, target_modules = ['q_proj', 'v_proj'],\n    use_gradient_checkpointing = 'unsloth')\ntrainer = SFTTrainer(model = model, args = SFTConfig(per_device_train_batch_size = 2, optim = 'adamw_8bit'))\n",
    );
    assert_eq!((unsloth.tuning, unsloth.sequence), (Some(Tuning::Qlora { rank: 32 }), Some(2048)));
    assert_eq!(
        (unsloth.batch, unsloth.optimizer, unsloth.checkpointing),
        (Some(2), Some(Optimizer::Adam8bit), Some(true))
    );

    let command = training(
        "accelerate launch --num_processes 4 train.py \\\n  --per_device_train_batch_size=2 \\\n  --gradient_checkpointing --optim paged_adamw_8bit --bf16 True --lora_r 8 --lora_target_modules q_proj k_proj\n",
    );
    assert_eq!((command.batch, command.gpus, command.checkpointing), (Some(2), Some(4), Some(true)));
    assert_eq!((command.optimizer, command.tuning), (Some(Optimizer::Adam8bit), Some(Tuning::Lora { rank: 8 })));

    for text in [
        "// ours\n{\"optim\": \"sgd\", /* a\nb */ \"per_device_train_batch_size\": 7, # c\n \"run\": \"// x, ]\",\n}",
        "{'optim': 'sgd', 'per_device_train_batch_size': 7, 'bf16': True, 'x': None}",
    ] {
        let told = training(text);
        assert_eq!((told.batch, told.optimizer), (Some(7), Some(Optimizer::PlainSgd)), "{text}");
    }
}

#[test]
fn sgd_has_a_state_only_with_momentum() {
    let of = |config: serde_json::Value| settings(&config).optimizer;
    assert_eq!(of(json!({"output_dir": "x", "optim": "sgd"})), Some(Optimizer::PlainSgd));
    assert_eq!(of(json!({"output_dir": "x", "optim": "sgd", "optim_args": "momentum=0.9"})), Some(Optimizer::Sgd));
    let deepspeed =
        |params: serde_json::Value| json!({"zero_optimization": {}, "optimizer": {"type": "SGD", "params": params}});
    assert_eq!(of(deepspeed(json!({"lr": 0.1}))), Some(Optimizer::PlainSgd));
    assert_eq!(of(deepspeed(json!({"lr": 0.1, "momentum": 0.9}))), Some(Optimizer::Sgd));
}

#[test]
fn fields_that_matter_and_are_not_understood_are_named() {
    for (config, field) in [
        (
            json!({"output_dir": "x", "peft_config": {"r": 8, "target_modules": ["q_proj", "v_proj"]}}),
            "q_proj, v_proj alone",
        ),
        (
            json!({"base": 1, "adapter": "lora", "micro_batch_size": 1, "lora_target_modules": ["gate_proj"]}),
            "gate_proj alone",
        ),
        (json!({"output_dir": "x", "torch_dtype": "bfloat16"}), "`torch_dtype`"),
        (
            json!({"output_dir": "x", "fsdp_config": {"activation_cpu_offload": true}}),
            "`fsdp_config.activation_cpu_offload`",
        ),
        (json!({"output_dir": "x", "optimizer_state_offload_fraction": 2}), "`optimizer_state_offload_fraction`"),
        (json!({"micro_batch_size": 1, "rl": "dpo"}), "`rl`"),
        (json!({"micro_batch_size": 1, "finetuning_type": "full", "stage": "ppo"}), "`stage`"),
        (
            json!({"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu", "ratio": 0.3}}}),
            "offload_optimizer.ratio",
        ),
        (
            json!({"train_micro_batch_size_per_gpu": 1, "data_types": {"grad_accum_dtype": "bf16"}}),
            "`data_types.grad_accum_dtype`",
        ),
        (json!({"train_micro_batch_size_per_gpu": 1, "tensor_parallel": {"autotp_size": 4}}), "`tensor_parallel`"),
        (json!({"zero_optimization": {"stage": 3, "zero_quantized_weights": true}}), "zero_quantized_weights"),
        (json!({"bf16": {"enabled": true, "bf16_master_weights_and_grads": true}}), "bf16_master_weights_and_grads"),
        (json!({"zero_optimization": {"stage": 3}, "half_quantized_gradients": true}), "`half_quantized_gradients`"),
        (json!({"optimizer": {"type": "OneBitAdam"}, "zero_optimization": {}}), "OneBitAdam"),
    ] {
        let unread = settings(&config).with_adapter().unread;
        assert!(unread.len() == 1 && unread[0].contains(field), "{field}: {unread:?}");
    }
    // What is off, or does not matter, is not.
    for config in [
        json!({"output_dir": "x", "optim": "adamw_torch", "optim_args": null, "optim_target_modules": null, "deepspeed": null,
            "fsdp": [], "fsdp_config": {"min_num_params": 0, "xla": false, "xla_fsdp_v2": false}, "parallelism_config": null,
            "gradient_checkpointing_kwargs": {"use_reentrant": false}, "use_cpu": false, "tpu_num_cores": null, "tf32": true,
            "accelerator_config": {"split_batches": false, "dispatch_batches": null}, "skip_memory_metrics": true}),
        json!({"output_dir": "x", "peft_config": {"r": 8, "lora_alpha": 16, "lora_dropout": 0.1, "target_modules": "all-linear"}}),
        json!({"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu", "pin_memory": true, "ratio": 1.0}},
            "activation_checkpointing": {"partition_activations": false, "number_checkpoints": null}, "amp": {"enabled": false},
            "steps_per_print": 2000, "wall_clock_breakdown": false, "gradient_clipping": "auto"}),
    ] {
        assert_eq!(settings(&config).with_adapter().unread, [""; 0]);
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(Path::new("x"), &text);
    }

    #[test]
    fn any_lines_are_read_or_refused(lines in prop::collection::vec("[ ]{0,6}(-? ?[a-z_]{1,12}[:=]? ?[a-z0-9\\[\\]'\",]{0,9})", 0..12)) {
        let _ = parse(Path::new("x"), lines.join("\n").as_bytes());
        let _ = parse(Path::new("x"), format!("TrainingArguments(\n{}", lines.join("\n")).as_bytes());
    }

    #[test]
    fn any_numbers_are_counted_or_refused(numbers in prop::collection::vec(prop_oneof![any::<i64>(), 1i64..100_000], 8), moe: bool) {
        let mut config = json!({"model_type": if moe { "mixtral" } else { "qwen3" }, "hidden_size": numbers[0], "num_hidden_layers": numbers[1], "head_dim": numbers[2],
            "num_attention_heads": numbers[3], "num_key_value_heads": numbers[4], "intermediate_size": numbers[5],
            "vocab_size": numbers[6], "rms_norm_eps": 1e-6});
        if moe {
            config["num_local_experts"] = numbers[7].into();
        }
        if let Ok(settings) = parse(Path::new("x"), config.to_string().as_bytes())
            && let Ok((model, setup)) = settings.finish()
        {
            let _ = crate::estimate::Estimate::of(&model, &setup);
        }
    }
}
