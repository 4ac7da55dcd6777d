//! Activations of model families, compared with what PyTorch keeps.

use std::fs;
use std::path::Path;

use plimsoll::estimate::config::{Settings, read};
use plimsoll::estimate::{
    Attention, Estimate, Family, Item, Model, Phase, Precision, Setup, Source, Tuning, ZeroStage,
};
use serde_json::Value;

/// The cases of a file in `tests/data`.
fn cases(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(file);
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn model(case: &Value) -> Model {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.json");
    fs::write(&path, case["config"].to_string()).unwrap();
    read(&path).unwrap().finish().unwrap().0
}

fn setup(case: &Value) -> Setup {
    Setup {
        batch: case["batch"].as_u64(),
        sequence: case["sequence"].as_u64(),
        precision: match case["precision"].as_str().unwrap() {
            "fp32" => Precision::Fp32,
            "bf16" => Precision::Bf16,
            _ => Precision::Bf16Mixed,
        },
        attention: case["attention"].as_str().unwrap().parse().unwrap(),
        checkpointing: case["checkpointing"].as_bool().unwrap(),
        ..Setup::default()
    }
}

/// The bytes on the device of the rows of `items`.
fn of(estimate: &Estimate, items: &[Item]) -> f64 {
    let rows = estimate.rows.iter().filter(|row| items.contains(&row.item));
    rows.map(|row| row.peak.device.bytes() as f64).sum()
}

/// Measured by `tests/python/activation_bytes.py sizes`: six small configurations of each family, and published models.
#[test]
fn activations_are_what_pytorch_keeps() {
    let (mut wrong, mut published) = (Vec::new(), 0);
    let cases = cases("activation-bytes.jsonl");
    for case in &cases {
        let name = case["name"].as_str().unwrap();
        let estimate = Estimate::of(&model(case), &setup(case)).unwrap();
        let found = of(&estimate, &[Item::Layers, Item::AttentionScores, Item::Embedding, Item::Logits]);
        let ratio = found / case["kept"].as_f64().unwrap();
        // A window that is shorter than the sequence makes another kernel necessary (docs/estimate.md).
        let window = case["config"]["sliding_window"].as_u64().unwrap_or(u64::MAX);
        if window < case["sequence"].as_u64().unwrap() && case["attention"] == "sdpa" {
            continue;
        }
        // Narrow layers have relatively much in what is kept per head, per token and per expert.
        let small = name.contains('/');
        published += usize::from(!small);
        let bound = if small { 0.04 } else { 0.015 };
        if (ratio - 1.0).abs() > bound {
            let [precision, attention] = ["precision", "attention"].map(|field| case[field].as_str().unwrap());
            let again = if case["checkpointing"] == true { ", checkpointing" } else { "" };
            wrong.push(format!("{name}, {precision}, {attention}{again}: {ratio:.3}"));
        }
    }
    assert_eq!(wrong, [""; 0]);
    assert!(cases.len() > 340 && published > 100, "{} {published}", cases.len());
}

/// Three steps of 24 trainings on an H200: PyTorch 2.11, transformers 5.17, AdamW, no accumulation.
#[test]
fn the_peaks_of_real_trainings_are_estimated() {
    let cases = cases("activations-h200.jsonl");
    assert_eq!(cases.len(), 24);
    for case in &cases {
        let (model, setup) = (model(case), setup(case));
        let name = format!("{} {} {}", case["name"], case["precision"], case["checkpointing"]);
        assert_eq!(case["parameters"].as_u64(), Some(model.parameters), "{name}");
        let estimate = Estimate::of(&model, &setup).unwrap();
        let number = |field: &str| case[field].as_f64().unwrap();
        let temporaries = of(&estimate, &[Item::LogitsGradient, Item::RecomputedLayer]);
        let kept = of(&estimate, &[Item::Layers, Item::AttentionScores, Item::Embedding, Item::Logits]);
        // Autocast keeps weights in 16 bits as well, which the estimate has in its fixed state; with checkpointing those
        // of the output layer alone.
        let shape = model.shape.unwrap();
        let converted = match (setup.precision, setup.checkpointing) {
            (Precision::Bf16Mixed, false) => 2.0 * model.parameters as f64,
            (Precision::Bf16Mixed, true) => 2.0 * (shape.hidden * shape.vocabulary.unwrap()) as f64,
            _ => 0.0,
        };
        let ratio = (kept + converted) / number("kept");
        assert!((0.97..1.10).contains(&ratio), "{name}: kept {ratio:.3}");
        // The backward pass of the loss has the most, unless gradients of the weights are larger.
        let peak = kept + converted + temporaries;
        let gradients = of(&estimate, &[Item::Gradients]);
        if peak > 2.0 * gradients {
            let ratio = peak / number("backward");
            assert!((0.95..1.10).contains(&ratio), "{name}: backward {ratio:.3}");
        }
        // The whole, which counts gradients beside the activations and no second copy of the parameters in the step.
        let ratio = estimate.at(Phase::Steady).device.bytes() as f64 / number("peak");
        assert!((0.95..1.2).contains(&ratio), "{name}: peak {ratio:.3}");
    }
}

/// A case with a small Llama and a vocabulary of this size.
fn llama(words: u64) -> Value {
    serde_json::json!({"config": {"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16,
        "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 8192, "vocab_size": words}})
}

#[test]
fn how_layers_compute_decides() {
    let model = model(&llama(128_256));
    let base = Setup { batch: Some(1), sequence: Some(1024), ..Setup::default() };
    let layers = |setup: Setup| of(&Estimate::of(&model, &setup).unwrap(), &[Item::Layers]) / 1024.0 / 16.0;
    let scores = |setup: Setup| of(&Estimate::of(&model, &setup).unwrap(), &[Item::AttentionScores]);
    // s b (26 h + 8 ffn + 4 q + 4 kv) with autocast; modules in 16 bits keep 10 h less.
    let autocast = 26.0 * 2048.0 + 8.0 * 8192.0 + 4.0 * 2048.0 + 4.0 * 512.0;
    assert_eq!(layers(base), autocast);
    for setup in [
        Setup { precision: Precision::Bf16, ..base },
        Setup { zero: ZeroStage::Three, gpus: 8, ..base },
        Setup { tuning: Tuning::Lora { rank: 8 }, ..base },
    ] {
        assert_eq!(layers(setup), autocast - 10.0 * 2048.0);
    }
    // In fp32, no kernel takes fewer key-value heads than heads without keeping scores.
    let fp32 = Setup { precision: Precision::Fp32, ..base };
    assert_eq!(scores(base), 0.0);
    assert_eq!(scores(fp32), 4.0 * 32.0 * 1024.0 * 1024.0 * 16.0);
    assert_eq!(scores(Setup { attention: Attention::Eager, ..base }), 6.0 * 32.0 * 1024.0 * 1024.0 * 16.0);
}

#[test]
fn a_recomputed_layer_counts_beyond_the_logits() {
    let small = |words: u64| {
        let setup = Setup { batch: Some(1), sequence: Some(1024), checkpointing: true, ..Setup::default() };
        Estimate::of(&model(&llama(words)), &setup).unwrap()
    };
    // 12 s b V are free when layers are computed again: more than a layer at V = 128,256, nothing at V = 64.
    assert_eq!(of(&small(128_256), &[Item::RecomputedLayer]), 0.0);
    let layer = 1024.0 * (26.0 * 2048.0 + 8.0 * 8192.0 + 4.0 * 2048.0 + 4.0 * 512.0);
    assert_eq!(of(&small(64), &[Item::RecomputedLayer]), layer - 12.0 * 1024.0 * 64.0);
}

#[test]
fn everything_in_bf16_has_no_master_weights() {
    let model = Model::new(1_000_000_000);
    let estimate = |precision| Estimate::of(&model, &Setup { precision, ..Setup::default() }).unwrap();
    assert_eq!(estimate(Precision::Bf16).bytes_per_parameter, 8.0);
    assert_eq!(estimate(Precision::Bf16Mixed).bytes_per_parameter, 18.0);
}

#[test]
fn a_document_names_the_family() {
    assert!(Family::all().count() >= 40);
    let case = cases("activations-h200.jsonl").remove(8);
    let estimate = Estimate::of(&model(&case), &setup(&case)).unwrap();
    assert!(estimate.rows.iter().any(|row| row.source == Source::Autograd));
    let mut document = serde_json::to_value(&estimate).unwrap();
    assert_eq!(document["model"]["shape"]["family"], "llama");
    assert_eq!(serde_json::from_value::<Estimate>(document.clone()).unwrap(), estimate);
    // A family of a later version, and a document of an earlier one.
    document["model"]["shape"]["family"] = "llama9".into();
    let read: Estimate = serde_json::from_value(document.clone()).unwrap();
    assert_eq!(read.model.shape.unwrap().family, None);
    document["model"]["shape"].as_object_mut().unwrap().remove("family");
    assert!(serde_json::from_value::<Estimate>(document).is_ok());
}

#[test]
fn qlora_quantizes_the_matrices_of_layers_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.json");
    let base = |more: &str| {
        let config = format!(
            r#"{{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
            "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256{more}}}"#
        );
        fs::write(&path, config).unwrap();
        let (model, setup) =
            read(&path).unwrap().or(Settings { tuning: QLORA, ..Settings::default() }).finish().unwrap();
        of(&Estimate::of(&model, &setup).unwrap(), &[Item::BaseWeights]) / (1u64 << 30) as f64
    };
    // 6.98e9 parameters at 0.516 B, 1.05e9 of embedding and output layer at 2 B.
    assert!((base("") - 5.31).abs() < 0.01, "{}", base(""));
    let quantized = r#", "quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": true,
        "bnb_4bit_use_double_quant": true}"#;
    assert!((base("") - base(quantized)).abs() < 0.01, "{}", base(quantized));
}

const QLORA: Option<Tuning> = Some(Tuning::Qlora { rank: 16 });
