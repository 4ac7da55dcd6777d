//! `estimate` and `ledger` from outside.

use std::fs;

use serde_json::{Value, json};

use super::support::{Scene, plimsoll, run};

/// Runs the command; returns the exit code and the output, as JSON if requested.
fn estimate(arguments: &[&str]) -> (i32, String, String) {
    run(plimsoll().args(arguments))
}

fn document(arguments: &[&str]) -> (i32, Value) {
    let (code, out, err) = run(plimsoll().args(arguments).arg("--json"));
    assert_eq!(err, "");
    (code, serde_json::from_str(&out).unwrap())
}

#[test]
fn four_billion_parameters_cost_72_gb_before_any_activation() {
    let (code, found) = document(&["estimate", "--params", "4e9"]);
    assert_eq!((code, &found["schema"]), (0, &json!("plimsoll.estimate/1")));
    assert_eq!(found["fixed"]["device"], 72_000_000_000u64);
    let (code, out, _) = estimate(&["estimate", "--params", "4B", "--explain"]);
    assert_eq!(code, 0);
    assert!(out.contains("67.06 GiB") && out.contains("model_memory_anatomy"), "{out}");
}

#[test]
fn the_exit_code_tells_whether_it_fits() {
    let with = |vram| estimate(&["estimate", "--params", "4e9", "--batch", "1", "--seq", "512", "--vram", vram]).0;
    assert_eq!((with("80GiB"), with("40GiB")), (0, 1));
}

#[test]
fn deepspeeds_example_is_reproduced() {
    let of = |more: &[&str]| {
        let base =
            ["estimate", "--convention", "deepspeed", "--params", "2851e6", "--largest-layer", "32e6", "--gpus", "8"];
        let (_, found) = document(&[&base[..], more].concat());
        let gib = |place: &str| format!("{:.2}", found["peak"][place].as_f64().unwrap() / (1u64 << 30) as f64);
        (gib("host"), gib("device"))
    };
    let pair = |host: &str, device: &str| (host.to_owned(), device.to_owned());
    assert_eq!(of(&["--zero", "2", "--offload", "cpu"]), pair("127.45", "5.31"));
    assert_eq!(of(&["--zero", "2"]).1, "11.28");
    assert_eq!(of(&["--zero", "3", "--offload", "cpu", "--offload-params", "cpu"]), pair("71.69", "0.12"));
    assert_eq!(of(&["--zero", "3", "--offload", "cpu"]), pair("63.72", "0.78"));
    assert_eq!(of(&["--zero", "3"]), pair("1.43", "6.09"));
}

#[test]
fn configurations_are_told_apart_and_flags_come_before_them() {
    let dir = tempfile::tempdir().unwrap();
    let (model, ds) = (dir.path().join("a.json"), dir.path().join("b.json"));
    let config = json!({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257, "n_positions": 1024});
    fs::write(&model, config.to_string()).unwrap();
    fs::write(
        &ds,
        json!({"zero_optimization": {"stage": 2}, "fp16": {"enabled": true}, "train_micro_batch_size_per_gpu": 4})
            .to_string(),
    )
    .unwrap();
    let files = ["--config", ds.to_str().unwrap(), "--config", model.to_str().unwrap()];
    let (_, found) = document(&[&["estimate"], &files[..], &["--zero", "1"]].concat());
    assert_eq!(found["model"]["parameters"], 124_439_808);
    assert_eq!(
        (&found["setup"]["zero"], &found["setup"]["precision"], &found["setup"]["batch"]),
        (&json!(1), &json!("fp16-mixed"), &json!(4))
    );

    fs::write(&ds, "{\"zero_optimization\": {\"stage\": 7}}").unwrap();
    let (code, out, err) = estimate(&["estimate", "--config", ds.to_str().unwrap()]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("b.json: `zero_optimization.stage` is 7: must be 0, 1, 2 or 3"), "{err}");
}

#[test]
fn what_is_wrong_is_said_and_what_to_do() {
    for (arguments, words) in [
        (&["estimate"][..], "give --params"),
        (&["estimate", "--params", "4e9", "--offload", "cpu"], "add --zero 2"),
        (&["estimate", "--params", "many"], "such as 4e9, 7B"),
        (&["estimate", "--params", "4e9", "--optimizer", "lomo"], "adam, adam8bit, adafactor, sgd"),
        (&["estimate", "--params", "4e9", "--tp", "2"], "add --convention megatron"),
        (&["ledger", "--params", "4e9"], "give --reading"),
        (&["ledger", "--params", "4e9", "--reading", "init"], "write STAGE=BYTES"),
        (&["ledger", "--params", "4e9", "/no/such.log"], "/no/such.log"),
    ] {
        let (code, out, err) = estimate(arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}");
        assert!(err.contains(words), "{arguments:?}: {err}");
    }
}

#[test]
fn deepspeed_7693_is_accounted_from_readings_and_from_a_log() {
    let flags = ["ledger", "--params", "1e9", "--zero", "2", "--offload", "cpu", "--at", "80e9"];
    let readings = ["--reading", "init=10GB", "--reading", "step1=26GB", "--reading", "later=28GB"];
    let (code, found) = document(&[&flags[..], &readings[..]].concat());
    assert_eq!((code, &found["measured"], &found["expected"]), (1, &json!(28.0), &json!(16.0)));
    assert_eq!(found["stages"][1]["projected"], 640_000_000_000u64);

    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("train.log");
    let report = |label: &str, host: f64| {
        format!(
            "{label}\nMA 2.0 GB         Max_MA 2.0 GB         CA 2.1 GB         Max_CA 2 GB \nCPU Virtual Memory:  used = {host} GB, percent = 9.9%\n"
        )
    };
    let text =
        report("before initialize", 40.0) + &report("after initialize", 50.0) + "noise\n" + &report("after step", 66.0);
    fs::write(&log, text).unwrap();
    let (code, out, err) =
        estimate(&["ledger", "--params", "1073741824", "--zero", "2", "--offload", "cpu", log.to_str().unwrap()]);
    assert_eq!((code, err.as_str()), (1, ""));
    assert!(out.contains("26 B/param measured, 16 expected"), "{out}");
    assert!(out.contains("unscale_and_clip_grads") && out.contains("adam_update"), "{out}");
}

#[test]
fn the_context_is_counted_in_the_fit() {
    // 72 GB are 67.06 GiB: with 46 MiB left there is no room for a context, with 1 GiB hardly any, with 3 GiB enough.
    let with = |vram: &str| document(&["estimate", "--params", "4e9", "--vram", vram]);
    let verdict = |vram: &str| with(vram).1["fit"]["verdict"].clone();
    assert_eq!((with("72050000000 B").0, verdict("72050000000 B")), (1, json!("exceeds_device")));
    assert_eq!((with("73100000000 B").0, verdict("73100000000 B")), (0, json!("tight")));
    assert_eq!((with("75300000000 B").0, verdict("75300000000 B")), (0, json!("fixed_state_fits")));
    let (_, out, _) = estimate(&["estimate", "--params", "4e9", "--vram", "73100000000 B"]);
    assert!(out.contains("~ tight") && out.contains("0.5 to 2 GiB"), "{out}");
}

#[test]
fn a_base_in_4_bits_has_bytes_of_its_own_parameters() {
    let (_, found) = document(&["estimate", "--params", "65e9", "--qlora"]);
    let base = found["rows"].as_array().unwrap().iter().find(|row| row["item"] == "base_weights").unwrap();
    let rate = base["device"].as_f64().unwrap() / base["parameters"].as_f64().unwrap();
    assert_eq!((rate * 1000.0).round(), 516.0);
    let (_, out, _) = estimate(&["estimate", "--params", "65e9", "--qlora"]);
    let line = out.lines().find(|line| line.contains("base weights")).unwrap();
    assert!(line.contains(" 0.516 ") && !out.contains("191.1"), "{out}");
}

#[test]
fn names_that_people_use_are_taken() {
    let rate = |optimizer: &str| {
        document(&["estimate", "--params", "1e9", "--optimizer", optimizer]).1["bytes_per_parameter"].clone()
    };
    assert_eq!(
        (rate("paged_adamw_8bit"), rate("adamw_torch_fused"), rate("lion")),
        (json!(12.0), json!(18.0), json!(14.0))
    );
    let zero = |name: &str| {
        document(&["estimate", "--params", "1e9", "--gpus", "8", "--zero", name]).1["setup"]["zero"].clone()
    };
    assert_eq!((zero("FULL_SHARD"), zero("SHARD_GRAD_OP"), zero("no_shard")), (json!(3), json!(2), json!(0)));
}

#[test]
fn generating_costs_weights_and_the_cache_of_every_kind_of_attention() {
    let dir = tempfile::tempdir().unwrap();
    let cache = |config: Value, sequence: &str| {
        let path = dir.path().join("config.json");
        fs::write(&path, config.to_string()).unwrap();
        let config = path.to_str().unwrap();
        let (_, found) = document(&["estimate", "--config", config, "--inference", "--batch", "2", "--seq", sequence]);
        let rows = found["rows"].as_array().unwrap();
        let weights = rows.iter().find(|row| row["item"] == "weights").unwrap()["device"].as_u64().unwrap();
        assert_eq!(weights, 2 * found["model"]["parameters"].as_u64().unwrap());
        assert!(rows.iter().all(|row| row["item"] != "gradients" && row["item"] != "optimizer"), "{found}");
        rows.iter().find(|row| row["item"] == "cache").unwrap()["device"].as_u64().unwrap()
    };
    let base = |family: &str| {
        json!({"model_type": family, "hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 16, "num_key_value_heads": 16,
            "head_dim": 64, "intermediate_size": 2048, "vocab_size": 5000})
    };
    let with = |family: &str, more: Value| {
        let mut config = base(family);
        more.as_object().unwrap().iter().for_each(|(name, value)| config[name] = value.clone());
        config
    };
    // Keys and values of 16 heads of 64 in 4 layers, 2 B each, 2 sequences of 1000 tokens.
    let all = 2 * 1024 * 4 * 2 * 2 * 1000;
    assert_eq!(cache(base("llama"), "1000"), all);
    assert_eq!(cache(with("llama", json!({"num_key_value_heads": 4})), "1000"), all / 4);
    // A latent of 512 and 64 instead.
    let latent = json!({"kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128, "q_lora_rank": null,
        "n_routed_experts": 4, "n_shared_experts": 1, "moe_intermediate_size": 64, "first_k_dense_replace": 1});
    assert_eq!(cache(with("deepseek_v3", latent), "1000"), 576 * 4 * 2 * 2 * 1000);
    // A window bounds it, in all layers or in half of them.
    assert_eq!(cache(with("mistral", json!({"sliding_window": 100})), "1000"), all / 10);
    assert_eq!(cache(with("gemma2", json!({"sliding_window": 100})), "1000"), all / 2 + all / 20);
    // States do not grow with the sequence.
    let states = json!({"model_type": "mamba2", "hidden_size": 256, "num_hidden_layers": 3, "num_heads": 8, "head_dim": 64, "vocab_size": 500});
    assert_eq!(cache(states.clone(), "1000"), cache(states, "4000"));
    let (_, out, _) = estimate(&["estimate", "--params", "7e9", "--inference", "--batch", "1", "--seq", "4096"]);
    assert!(out.contains("KV cache") && out.contains("generation") && !out.contains("first backward"), "{out}");
}

#[test]
fn a_family_that_is_not_counted_is_refused_and_what_is_not_understood_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.json");
    let config = path.to_str().unwrap();
    fs::write(&path, "{\"model_type\": \"holomorphic\", \"hidden_size\": 64, \"num_hidden_layers\": 2}").unwrap();
    let (code, out, err) = estimate(&["estimate", "--config", config]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("`holomorphic`") && err.contains("give --params"), "{err}");
    assert_eq!(estimate(&["estimate", "--config", config, "--params", "7e9"]).0, 0);
    fs::write(&path, "{\"output_dir\": \"x\", \"optim\": \"adalomo\", \"load_in_8bit\": true}").unwrap();
    let (_, found) = document(&["estimate", "--config", config, "--params", "7e9"]);
    let named = found["not_counted"].to_string();
    assert!(named.contains("adalomo") && named.contains("load_in_8bit"), "{named}");
}

#[test]
fn phases_of_a_record_are_readings_of_what_they_retain() {
    let dir = tempfile::tempdir().unwrap();
    let record = dir.path().join("record.json");
    // 64 MiB stay from the first phase on, and 128 MiB from the second; another 256 MiB come and go in it. The process
    // ends without freeing them: unit tests of the ledger have the samples of interpreters that free everything first.
    let script = "import os, time\nprint('== init', flush=True)\nkept = bytearray(64 << 20)\ntime.sleep(0.6)\n\
         print('== step1', flush=True)\nmore = bytearray(128 << 20)\ngone = bytearray(256 << 20)\ntime.sleep(0.6)\n\
         del gone\ntime.sleep(2)\nos._exit(0)\n";
    let mut command = plimsoll();
    command.args(["run", "--phase", r"^== (\w+)", "--record"]).arg(&record).args(["--", "python3", "-c", script]);
    assert_eq!(run(command.stdin(std::process::Stdio::null())).0, 0);
    let (_, found) = document(&["ledger", "--params", "1e6", "--place", "host", record.to_str().unwrap()]);
    let readings = found["readings"].as_array().unwrap();
    let stages: Vec<_> = readings.iter().map(|reading| reading["stage"].as_str().unwrap()).collect();
    assert_eq!(stages, ["start", "init", "step1"], "{found}");
    let retained = readings[2]["bytes"].as_u64().unwrap() >> 20;
    assert!((190..260).contains(&retained), "neither the peak of a phase nor its end is what it retains: {found}");
}

#[test]
fn a_log_that_states_its_parameters_needs_no_flag() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("train.log");
    let lines = "RSS before init: 2.0 GB\nRSS after init: 10.0 GB\nRSS after first step: 18.0 GB\n";
    fs::write(&log, lines).unwrap();
    let path = log.to_str().unwrap();
    let flags = ["--place", "host", "--zero", "2", "--offload", "cpu", path];
    let (code, _, said) = estimate(&[&["ledger"], &flags[..]].concat());
    assert!(code == 2 && said.contains("--params") && said.contains("plimsoll diagnose"), "{said}");
    fs::write(&log, format!("Number of trainable parameters = 1,073,741,824\n{lines}")).unwrap();
    let (code, found) = document(&[&["ledger"], &flags[..]].concat());
    assert_eq!((code, &found["model"]["parameters"], &found["measured"]), (0, &json!(1u64 << 30), &json!(16.0)));
}

#[test]
fn a_record_is_a_reading() {
    let scene = Scene::new(1);
    let (code, _) = scene.run(scene.command("check").args(["--kernel", "builtin:embedding", "--launches", "2"]));
    assert_eq!(code, 0);
    let (_, found) =
        document(&["ledger", "--params", "1e6", "--place", "host", &format!("init={}", scene.record().display())]);
    let reading = &found["readings"][0];
    assert_eq!(reading["stage"], "init");
    assert!(reading["bytes"].as_u64().unwrap() > 1 << 20, "{reading}");
}

#[test]
fn their_schemas_are_printed() {
    for name in ["estimate", "ledger"] {
        let (code, out, _) = estimate(&["schema", name]);
        let schema: Value = serde_json::from_str(&out).unwrap();
        assert_eq!((code, &schema["properties"]["schema"]["const"]), (0, &json!(format!("plimsoll.{name}/1"))));
    }
}

#[test]
fn weights_that_a_file_keeps_quantized_have_their_own_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.json");
    let weights = |config: &Value, more: &[&str]| {
        fs::write(&path, config.to_string()).unwrap();
        let (code, found) = document(&[&["estimate", "--config", path.to_str().unwrap()], more].concat());
        assert_eq!(code, 0);
        let rows = found["rows"].as_array().unwrap();
        let item = |name: &str| rows.iter().find(|row| row["item"] == name).map(|row| row["device"].as_u64().unwrap());
        (
            item("base_weights").or(item("weights")).unwrap(),
            found["not_counted"].to_string(),
            found["notes"].to_string(),
        )
    };
    let mut config = json!({"model_type": "llama", "hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 16,
        "intermediate_size": 4096, "vocab_size": 32000, "tie_word_embeddings": false});
    let all = weights(&config, &["--inference"]).0 / 2;
    let matrices = 4 * (4 * 1024 * 1024 + 3 * 1024 * 4096);
    config["quantization_config"] = json!({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": true});
    let expected = (matrices as f64 * (0.5 + 2.5 / 128.0)).ceil() as u64 + 2 * (all - matrices);
    assert_eq!(weights(&config, &["--inference"]).0, expected);
    assert_eq!(weights(&config, &["--lora", "8"]).0, expected);
    // Trained weights are not quantized.
    let (bytes, _, notes) = weights(&config, &[]);
    assert!(bytes == 2 * all && notes.contains("are not trained"), "{notes}");
    config["quantization_config"] = json!({"quant_method": "quip"});
    let (bytes, named, _) = weights(&config, &["--inference"]);
    assert!(bytes == 2 * all && named.contains("`quip` is not understood"), "{named}");
    // Experts alone.
    let experts = json!({"model_type": "gpt_oss", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "head_dim": 16, "intermediate_size": 96, "vocab_size": 1000, "num_local_experts": 8, "quantization_config": {"quant_method": "mxfp4"}});
    let fused = 2 * 8 * 3 * 64 * 96;
    let mut plain = experts.clone();
    plain.as_object_mut().unwrap().remove("quantization_config");
    let all = weights(&plain, &["--inference"]).0;
    assert_eq!(weights(&experts, &["--inference"]).0, all - 2 * fused + fused * 17 / 32);
}

#[test]
fn a_classifier_has_no_logits_of_the_vocabulary_and_an_unknown_top_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.json");
    let of = |architecture: &str| {
        let config = json!({"model_type": "qwen2", "architectures": [architecture], "hidden_size": 256, "num_hidden_layers": 2,
            "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 512, "vocab_size": 50000, "id2label": {"0": "good"},
            "tie_word_embeddings": false});
        fs::write(&path, config.to_string()).unwrap();
        estimate(&["estimate", "--config", path.to_str().unwrap(), "--batch", "2", "--seq", "100", "--json"])
    };
    let logits = |architecture: &str| {
        let found: Value = serde_json::from_str(&of(architecture).1).unwrap();
        let rows = found["rows"].as_array().unwrap().iter().filter(|row| row["item"] == "logits").count();
        (found["model"]["parameters"].as_u64().unwrap(), rows)
    };
    let (whole, causal) = logits("Qwen2ForCausalLM");
    let (scored, classifier) = logits("Qwen2ForSequenceClassification");
    let (bare, none) = logits("Qwen2Model");
    assert_eq!((causal, classifier, none), (1, 0, 0));
    assert_eq!((whole - bare, scored - bare), (50000 * 256, 256));
    let (code, _, err) = of("Qwen2ForProcessRewardModel");
    assert!(
        code == 2 && err.contains("`Qwen2ForProcessRewardModel` of `qwen2`") && err.contains("give --params"),
        "{err}"
    );
}

#[test]
fn a_training_configuration_alone_tells_diagnose_the_batch() {
    let dir = tempfile::tempdir().unwrap();
    let (log, config) = (dir.path().join("train.log"), dir.path().join("ta.json"));
    fs::write(&log, "step 3 loss 2.0\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of \
        79.10 GiB of which 1.00 GiB is free. Of the allocated memory 76.00 GiB is allocated by PyTorch, and 500.00 MiB is reserved by PyTorch but unallocated.\n")
    .unwrap();
    fs::write(
        &config,
        json!({"output_dir": "x", "per_device_train_batch_size": 10, "gradient_accumulation_steps": 2}).to_string(),
    )
    .unwrap();
    let advice = |more: &[&str]| {
        let (code, out, err) = estimate(&[&["diagnose", log.to_str().unwrap(), "--all-advice"], more].concat());
        assert_eq!(code, 1, "{err}");
        out.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for more in [&[][..], &["--params", "1e9", "--seq", "512"]] {
        let out = advice(&[&["--batch", "6", "--accumulation", "3", "--gpus", "2"], more].concat());
        assert!(out.contains("6 -> 3") && out.contains("x3 -> x6"), "{out}");
    }
    let out = advice(&["--config", config.to_str().unwrap()]);
    assert!(out.contains("10 -> 5") && out.contains("x2 -> x4"), "{out}");
    let bare = advice(&[]);
    assert!(!bare.contains("micro-batch: micro"));
    // What a configuration says that it does is no advice.
    let does = json!({"output_dir": "x", "bf16": true, "optim": "adamw_8bit", "gradient_checkpointing": true});
    fs::write(&config, does.to_string()).unwrap();
    let known = advice(&["--config", config.to_str().unwrap()]);
    for words in ["bf16=True", "paged_adamw_8bit", "gradient_checkpointing=True"] {
        assert!(bare.contains(words) && !known.contains(words), "{words}: {known}");
    }
}
