//! `estimate` and `ledger` from outside.

use std::fs;

use serde_json::{Value, json};

use super::support::{Scene, plimsoll, run};

/// Runs the command; gives the exit code and what it printed, as JSON where that was asked for.
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
    assert!(err.contains("b.json: `zero_optimization.stage` is 7: it has to be 0, 1, 2 or 3"), "{err}");
}

#[test]
fn what_is_wrong_is_said_and_what_to_do() {
    for (arguments, words) in [
        (&["estimate"][..], "give --params"),
        (&["estimate", "--params", "4e9", "--offload", "cpu"], "add --zero 2"),
        (&["estimate", "--params", "many"], "such as 4e9, 7B"),
        (&["estimate", "--params", "4e9", "--optimizer", "adagrad"], "adam, adam8bit, adafactor, sgd"),
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
