//! Configurations of public models, and texts that are none.

use std::path::Path;

use proptest::prelude::*;
use serde_json::json;

use super::file::parse;
use super::*;
use crate::estimate::{Convention, EstimateError, Offload, Optimizer, Precision, ZeroStage};

fn settings(value: &serde_json::Value) -> Settings {
    parse(Path::new("config.json"), value.to_string().as_bytes()).unwrap()
}

/// The numbers of parameters are those of the models' own weights.
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
fn a_part_of_a_larger_model_is_found_and_unknown_experts_are_not_counted() {
    let inner = json!({"text_config": {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2,
        "vocab_size": 16, "rms_norm_eps": 1e-6}});
    assert_eq!(settings(&inner).layers, Some(2));
    let experts = json!({"model_type": "qwen3_moe", "hidden_size": 8, "num_hidden_layers": 2, "num_experts": 4,
        "num_attention_heads": 2, "vocab_size": 16});
    assert_eq!(settings(&experts).parameters, None);
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
        ("{\"zero_optimization\": {\"stage\": 4}}", "`zero_optimization.stage` is 4: it has to be 0, 1, 2 or 3"),
        ("{\"hidden_size\": -1}", "`hidden_size` is -1: it has to be a whole number of at least 1"),
        (
            "{\"fp16\": {}, \"zero_optimization\": {\"offload_param\": {\"device\": \"gpu\"}}}",
            "is \"gpu\": it has to be none, cpu or nvme",
        ),
    ] {
        let message = refused(text).to_string();
        assert!(message.contains(words), "{message}");
    }
    assert!(matches!(Settings::default().finish(), Err(EstimateError::NoParameters)));
    assert!(matches!(read(Path::new("/no/such/file")), Err(EstimateError::Read { .. })));
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(Path::new("x"), &text);
    }

    #[test]
    fn any_numbers_are_counted_or_refused(numbers in prop::collection::vec(prop_oneof![any::<i64>(), 1i64..100_000], 8), moe: bool) {
        let mut config = json!({"hidden_size": numbers[0], "num_hidden_layers": numbers[1], "head_dim": numbers[2],
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

