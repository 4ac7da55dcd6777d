//! Parameter counts of `config.json` files, compared with those of transformers' own classes on the meta device.

use std::fs;
use std::path::{Path, PathBuf};

use plimsoll::estimate::config::{Settings, read};
use plimsoll::estimate::{Estimate, EstimateError, Model};
use serde_json::{Value, json};

/// The counts written by `tests/python/parameter_counts.py`: one configuration with its parameters per line.
fn counts() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/parameter-counts.jsonl");
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

struct Scene(tempfile::TempDir);

impl Scene {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn model(&self, config: &Value) -> Result<Model, EstimateError> {
        Ok(read(&self.file("config.json", &config.to_string()))?.finish()?.0)
    }
}

#[test]
fn parameters_are_those_of_transformers() {
    let (rows, scene) = (counts(), Scene::new());
    assert!(rows.iter().filter(|row| !row["name"].as_str().unwrap().contains('/')).count() >= 95);
    assert!(rows.len() > 950);
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|row| {
            let expected = row["parameters"].as_u64().unwrap();
            let found = scene.model(&row["config"]).map(|model| model.parameters);
            let right = found.as_ref().is_ok_and(|&found| found == expected);
            (!right).then(|| format!("{}: {found:?}, expected {expected}", row["name"]))
        })
        .collect();
    assert_eq!(wrong, [""; 0]);
}

/// Adapters and what peft trains of them, as `tests/python/parameter_counts.py` found.
#[test]
fn adapters_are_those_of_peft() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/adapter-counts.jsonl");
    let text = fs::read_to_string(path).unwrap();
    let (mut wrong, mut right, mut refused) = (Vec::new(), 0, 0);
    for row in text.lines() {
        let row: Value = serde_json::from_str(row).unwrap();
        let scene = Scene::new();
        let model = read(&scene.file("config.json", &row["config"].to_string())).unwrap();
        let mut adapter = row["adapter"].clone();
        adapter["peft_type"] = json!("LORA");
        let adapter = read(&scene.file("adapter_config.json", &adapter.to_string())).unwrap();
        let settings = model.or(adapter).with_adapter();
        let unread = settings.unread.clone();
        let (model, setup) = settings.finish().unwrap();
        let Some(expected) = row["trained"].as_u64() else {
            refused += 1;
            if unread.is_empty() {
                wrong.push(format!("{} {}: {} not named", row["name"], row["adapter"], row["refused"]));
            }
            continue;
        };
        let found = Estimate::of(&model, &setup).unwrap();
        if found.trained_parameters == expected && unread.is_empty() {
            right += 1;
        } else if unread.is_empty()
            || found.trained_parameters != expected && !unread.iter().any(|line| line.contains("not known"))
        {
            wrong.push(format!(
                "{} {}: {} of {expected} {unread:?}",
                row["name"], row["adapter"], found.trained_parameters
            ));
        }
    }
    assert_eq!(wrong, [""; 0]);
    assert!(right > 800 && refused > 200, "{right} {refused}");
}

#[test]
fn a_family_that_is_not_known_is_refused_by_its_name_and_with_what_to_do() {
    let scene = Scene::new();
    let widths = json!({"model_type": "holomorphic", "hidden_size": 8, "num_hidden_layers": 2, "vocab_size": 16});
    let message = scene.model(&widths).unwrap_err().to_string();
    assert!(message.contains("`holomorphic`") && message.contains("give --params"), "{message}");
    // Its widths are useful if the number of parameters is known.
    let settings = read(&scene.file("config.json", &widths.to_string())).unwrap();
    let (model, _) = Settings { parameters: Some(1000), ..Settings::default() }.or(settings).finish().unwrap();
    assert_eq!((model.parameters, model.shape.unwrap().layers), (1000, 2));
    // An unknown part is named together with the whole; a model without a family is refused as well.
    let seen = json!({"model_type": "llava", "vision_config": {"model_type": "owl_eyes"}, "text_config": {"model_type": "llama"}});
    let message = scene.model(&seen).unwrap_err().to_string();
    assert!(message.contains("owl_eyes") && message.contains("llava"), "{message}");
    let eyes = json!({"model_type": "gemma3n", "vision_config": {"architecture": "mobilenetv5_base"}});
    let message = scene.model(&eyes).unwrap_err().to_string();
    assert!(message.contains("gemma3n_vision") && message.contains("gemma3n`"), "{message}");
    // So is a class whose top is not counted, and the decoder of a multimodal model alone.
    for (family, class) in [
        ("llama", "LlamaForScore"),
        ("bert", "BertForPretzels"),
        ("mllama", "MllamaForCausalLM"),
        ("gemma3", "Gemma3TextModel"),
    ] {
        let message = scene.model(&json!({"model_type": family, "architectures": [class]})).unwrap_err().to_string();
        assert!(message.contains(&format!("`{class}` of `{family}`")), "{message}");
    }
    // What speaks does not matter if it is switched off.
    let spoken = |on: bool| json!({"model_type": "qwen3_omni_moe", "enable_audio_output": on, "talker_config": {}});
    let message = scene.model(&spoken(true)).unwrap_err().to_string();
    assert!(message.contains("shared_expert_intermediate_size"), "{message}");
    assert!(scene.model(&spoken(false)).unwrap().parameters > 1_000_000_000);
    assert!(scene.model(&json!({"hidden_size": 8, "num_hidden_layers": 2, "vocab_size": 9})).is_err());
}

#[test]
fn a_field_that_is_missing_or_makes_no_sense_is_named() {
    let scene = Scene::new();
    let message = scene.model(&json!({"model_type": "llama", "hidden_size": "wide"})).unwrap_err().to_string();
    assert!(message.contains("`hidden_size` is \"wide\""), "{message}");
    let eyeless = json!({"model_type": "llava", "text_config": {"model_type": "llama"}});
    let message = scene.model(&eyeless).unwrap_err().to_string();
    assert!(message.contains("vision_config") && message.contains("llava"), "{message}");
    let message = scene.model(&json!({"model_type": "nemotron_h", "num_hidden_layers": 4})).unwrap_err().to_string();
    assert!(message.contains("hybrid_override_pattern"), "{message}");
    let huge = json!({"model_type": "llama", "num_hidden_layers": 1u64 << 40});
    assert!(scene.model(&huge).unwrap_err().to_string().contains("2^32"));
}

#[test]
fn a_dense_model_in_a_part_of_its_own_is_counted_as_the_whole() {
    // Tied and untied differ by one embedding, wherever the file declares it.
    let scene = Scene::new();
    let of = |tied: bool| {
        let config = json!({"model_type": "qwen3", "hidden_size": 1024, "num_hidden_layers": 2, "num_attention_heads": 16,
            "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 3072, "vocab_size": 1000, "tie_word_embeddings": tied});
        scene.model(&config).unwrap().parameters
    };
    assert_eq!(of(false) - of(true), 1024 * 1000);
}
