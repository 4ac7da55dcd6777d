//! What is inside files, and one tensor taken out.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Scene, plimsoll, run, torch_python};

fn inspect(path: &Path, flags: &[&str]) -> Command {
    let mut command = plimsoll();
    command.arg("inspect").arg(path).args(flags);
    command
}

fn json(path: &Path, flags: &[&str]) -> (i32, Value, String) {
    let (code, out, err) = run(inspect(path, flags).arg("--json"));
    (code, serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}")), err)
}

#[test]
fn a_capture_is_told_from_its_headers() {
    let scene = Scene::new(3);
    let (code, found, err) = json(&scene.capture(), &[]);
    assert_eq!((code, &*err), (0, ""));
    assert_eq!(found["schema"], "plimsoll.inspect/1");
    assert_eq!(found["entries"].as_array().unwrap().len(), 3);
    let tensors = found["entries"][1]["tensors"].as_array().unwrap();
    let weight = tensors.iter().find(|tensor| tensor["path"] == r#"$["kwargs"]["weight"]"#).unwrap();
    for (field, value) in [
        ("kind", json!("strided")),
        ("dtype", json!("bfloat16")),
        ("shape", json!([512, 64])),
        ("strides", json!([64, 1])),
        ("storage_offset", json!(0)),
        ("logical_bytes", json!(65536)),
        ("stored_bytes", json!(65536)),
        ("requires_grad", json!(false)),
        ("conj", json!(false)),
        ("neg", json!(false)),
    ] {
        assert_eq!(weight[field], value, "{field}");
    }
    assert!(weight["digest"].is_null());
    assert_eq!(found["totals"]["tensors"], 9);
}

#[test]
fn a_file_has_the_schema_of_a_folder() {
    let scene = Scene::new(1);
    let (code, mut file, _) = json(&scene.entry(0), &["--digest", "sha256", "--verify"]);
    assert_eq!(code, 0);
    let (_, mut folder, _) = json(&scene.capture(), &["--digest", "sha256", "--verify"]);
    assert!(file["entries"][0]["tensors"][0]["digest"].as_str().unwrap().len() == 64);
    assert_eq!(file["entries"][0]["verified"]["without_crc"], 0);
    (file["path"], folder["path"]) = (Value::Null, Value::Null);
    assert_eq!(file, folder);
}

#[test]
fn the_table_names_every_tensor_and_the_totals() {
    let scene = Scene::new(1);
    let (code, out, err) = run(&mut inspect(&scene.entry(0), &[]));
    assert_eq!((code, &*err), (0, ""));
    for words in
        [r#"$["kwargs"]["weight"]  bfloat16  [512, 64]"#, "64.00 KiB", "torch.nn.functional.embedding", "total"]
    {
        assert!(out.contains(words), "`{words}` is not in:\n{out}");
    }
}

#[test]
fn an_unreadable_file_is_an_error_and_the_rest_is_shown() {
    let scene = Scene::new(2);
    let bytes = fs::read(scene.entry(0)).unwrap();
    fs::write(scene.entry(0), &bytes[..bytes.len() - 40]).unwrap();
    let (code, found, err) = json(&scene.capture(), &[]);
    assert_eq!(code, 2);
    assert!(err.contains("entry_000000.pt") && err.lines().count() == 1, "{err}");
    assert_eq!(found["entries"][0]["error"]["kind"], "archive");
    assert_eq!(found["entries"][1]["tensors"].as_array().unwrap().len(), 3);

    let (code, found, err) = json(&scene.entry(0), &["--digest", "sha256"]);
    assert_eq!(code, 2);
    assert!(err.contains("truncated"), "{err}");
    assert!(found["error"]["file"].as_str().unwrap().ends_with("entry_000000.pt"));
    assert!(found["error"]["message"].as_str().unwrap().contains("truncated"));
    let (code, out, _) = run(&mut inspect(&scene.entry(0), &[]));
    assert_eq!((code, &*out), (2, ""));
}

#[test]
fn a_damaged_byte_is_found_by_verify() {
    let scene = Scene::new(1);
    let mut bytes = fs::read(scene.entry(0)).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(scene.entry(0), bytes).unwrap();
    assert_eq!(run(&mut inspect(&scene.entry(0), &[])).0, 0, "headers alone do not show it");
    let (code, found, err) = json(&scene.entry(0), &["--verify"]);
    assert_eq!(code, 2);
    assert!(err.contains("CRC-32"), "{err}");
    assert!(found["error"]["record"].as_str().unwrap().starts_with("data/"));
}

#[test]
fn a_tensor_is_taken_out_or_said_why_not() {
    let scene = Scene::new(1);
    let weight = r#"$["kwargs"]["weight"]"#;
    let out = scene.path("weight.safetensors");
    let extract = |tensor: &str, out: &Path| {
        let mut command = inspect(&scene.entry(0), &["--tensor", tensor]);
        run(command.arg("--out").arg(out))
    };
    let (code, told, err) = extract(weight, &out);
    assert_eq!((code, &*err), (0, ""));
    assert!(told.contains("bfloat16 [512, 64]"), "{told}");
    assert!(fs::metadata(&out).unwrap().len() > 65536);
    for (tensor, name, words) in [
        (weight, "weight.npy", "npy has no bfloat16"),
        (weight, "weight.txt", ".safetensors"),
        (weight, "no/folder.bin", "cannot be written"),
        (r#"$["kwargs"]["bias"]"#, "bias.bin", "there is no tensor"),
    ] {
        let (code, _, err) = extract(tensor, &scene.path(name));
        assert!(code == 2 && err.contains(words), "{name}: {err}");
        assert!(!scene.path(name).exists());
    }
}

#[test]
fn digests_and_extractions_are_those_of_torch() {
    let Some(python) = torch_python() else { return };
    let scene = Scene::new(1);
    let script = r#"
import sys, json, hashlib, subprocess, torch, numpy
program, folder = sys.argv[1:]
base, z = torch.randn(40, 30), torch.randn(6, 5, dtype=torch.complex64)
tensors = {
    "base": base, "columns": base.t(), "part": base[3:9, 1::3], "expanded": base[0, 0].expand(1000, 1000),
    "conj": z.conj(), "neg": z.clone().conj().imag, "empty": base[:0], "scalar": base[2, 2], "bool": base > 0,
    "int": torch.arange(-5, 300, dtype=torch.int16), "parameter": torch.nn.Parameter(torch.randn(3)),
}
numbers = {"f8": numpy.float64(1.5), "f4": numpy.float32(-0.1), "f2": numpy.float16(0.5), "i1": numpy.int8(-7),
           "i8": numpy.int64(-2**63), "u8": numpy.uint64(2**64 - 1), "b": numpy.bool_(True)}
torch.save(numbers, folder + "/numbers.pt")
found = json.loads(subprocess.check_output([program, "inspect", folder + "/numbers.pt", "--json"]))
found = {v["path"]: v for v in found["entries"][0]["values"]}
for name, number in numbers.items():
    told = found[f'$["{name}"]']["value"]
    assert (int(told) if isinstance(told, str) else told) == number.item(), (name, told)
file = folder + "/tensors.pt"
torch.save(tensors, file)
found = json.loads(subprocess.check_output([program, "inspect", file, "--json", "--digest", "sha256"]))
found = {t["path"]: t for t in found["entries"][0]["tensors"]}
for name, tensor in tensors.items():
    told = found[f'$["{name}"]']
    logical = tensor.detach().resolve_conj().resolve_neg().contiguous().numpy()
    assert told["digest"] == hashlib.sha256(logical.tobytes()).hexdigest(), name
    assert told["shape"] == list(tensor.shape) and told["strides"] == list(tensor.stride()), name
    assert (told["conj"], told["neg"]) == (tensor.is_conj(), tensor.is_neg()), name
    out = f"{folder}/{name}.npy"
    subprocess.check_output([program, "inspect", file, "--tensor", f'$["{name}"]', "--out", out])
    taken = numpy.load(out)
    assert taken.dtype == logical.dtype and taken.shape == logical.shape and taken.tobytes() == logical.tobytes(), name
"#;
    let mut torch = Command::new(python);
    torch.arg("-c").arg(script).arg(env!("CARGO_BIN_EXE_plimsoll")).arg(scene.capture());
    let (code, _, err) = run(&mut torch);
    assert_eq!(code, 0, "{err}");
}

#[test]
fn schemas_are_printed() {
    for (document, schema) in [("inspect", "plimsoll.inspect/1"), ("differences", "plimsoll.differences/1")] {
        let (code, out, _) = run(plimsoll().args(["schema", document]));
        assert_eq!(code, 0);
        let printed: Value = serde_json::from_str(&out).unwrap();
        let told = printed["properties"]["schema"].to_string();
        assert!(told.contains(schema), "{told}");
    }
}
