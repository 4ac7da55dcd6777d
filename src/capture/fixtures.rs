//! Files that torch wrote, checked against the tensors that torch had in memory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::bind::{OrderSource, ParameterOrder};
use super::*;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures")
}

/// For each file and each path: dtype, shape, and the CRC-32 of the logical bytes.
type Expected = BTreeMap<String, BTreeMap<String, (String, Vec<u64>, u32)>>;

fn expected() -> Expected {
    serde_json::from_slice(&std::fs::read(folder().join("expected.json")).unwrap()).unwrap()
}

fn crc_of(view: &TensorView<'_>) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    let mut out = [0; 48];
    let mut start = 0;
    loop {
        let bytes = view.read_into(start, &mut out);
        if bytes == 0 {
            return hasher.finalize();
        }
        hasher.update(&out[..bytes]);
        start += bytes as u64 / view.dtype().size();
    }
}

/// Every tensor with elements, by path.
fn tensors(file: &TorchFile) -> BTreeMap<String, (String, Vec<u64>, u32)> {
    let mapped = file.map().unwrap();
    let mut tensors = BTreeMap::new();
    file.walk(&mut |item| {
        if let ItemValue::Tensor(TensorItem { elements: Some(elements), .. }) = item.value
            && item.alias_of.is_none()
        {
            let view = mapped.view(elements).unwrap();
            let facts = (view.dtype().name().to_owned(), view.shape().to_vec(), crc_of(&view));
            tensors.insert(item.path.to_owned(), facts);
        }
    });
    mapped.intact().unwrap();
    tensors
}

#[test]
fn every_tensor_of_every_file_has_the_bytes_that_torch_had() {
    for (name, expected) in expected() {
        let file = TorchFile::open(&folder().join(&name)).unwrap_or_else(|e| panic!("{e}"));
        let found = tensors(&file);
        for (path, tensor) in expected {
            let found = found.get(&path).unwrap_or_else(|| panic!("{name}: {path} is missing"));
            assert_eq!(found, &tensor, "{name}: {path}");
        }
    }
}

#[test]
fn the_values_around_the_tensors_are_read() {
    for protocol in 1..=5 {
        let file = TorchFile::open(&folder().join(format!("values_protocol_{protocol}.pt"))).unwrap();
        let mut found = BTreeMap::new();
        file.walk(&mut |item| {
            let alias = item.alias_of.map(|alias| alias.path()).unwrap_or_default();
            let key = item.path.to_owned();
            // A container is shown by its kind and number: the nodes of its items are the pickle's internal detail.
            let shown = match &item.value {
                ItemValue::List(items) => format!("list of {}", items.len()),
                ItemValue::Dict(items) => format!("dict of {}", items.len()),
                ItemValue::Set(items) => format!("set of {}", items.len()),
                value => format!("{value:?}"),
            };
            found.insert(key, format!("{shown}{alias}"));
        });
        for (path, value) in [
            ("$[\"ordered\"]", "dict of 2"),
            ("$[\"ordered\"]!state[\"note\"]", "Str(\"state\")"),
            ("$[\"plain\"]", "Opaque(\"__main__.Plain\")"),
            ("$[\"shared\"][1]", "list of 1$[\"shared\"][0]"),
            ("$[\"cycle\"][0]", "list of 1$[\"cycle\"]"),
            ("$[\"keys\"][\"1\"]", "Int(1)"),
            ("$[\"keys\"]{None}", "Int(2)"),
            ("$[\"keys\"]{(1, 'x')}", "Int(3)"),
            ("$[\"keys\"]{1.5}", "Int(4)"),
            ("$[\"set\"]", "set of 1"),
            ("$[\"frozen\"][0]", "Int(2)"),
            ("$[\"scalars\"][0]", "BigInt(\"1180591620717411303424\")"),
            ("$[\"scalars\"][1]", "Int(-9223372036854775808)"),
            ("$[\"scalars\"][2]", "Float(1.5)"),
            ("$[\"scalars\"][3]", "Complex(1.0, 2.0)"),
            ("$[\"scalars\"][4]", "Bytes([97, 255])"),
            ("$[\"scalars\"][5]", "Bytes([98])"),
            ("$[\"scalars\"][6][1]", "Int(2)"),
            ("$[\"scalars\"][7]", "Device(\"cuda:1\")"),
            ("$[\"counter\"][\"a\"]", "Int(2)"),
            ("$[\"surrogate\"]", "Str(\"\u{fffd}\")"),
        ] {
            assert_eq!(found.get(path).map(String::as_str), Some(value), "protocol {protocol}: {path}");
        }
    }
}

#[test]
fn unusual_tensors_are_named_and_cost_their_neighbours_nothing() {
    let file = TorchFile::open(&folder().join("composites.pt")).unwrap();
    let mut kinds = BTreeMap::new();
    file.walk(&mut |item| {
        if let ItemValue::Tensor(tensor) = &item.value {
            kinds.insert(item.path.to_owned(), (tensor.kind, tensor.shape.map(<[u64]>::to_vec)));
        }
    });
    for (name, kind, shape) in [
        ("parameter", "strided", Some(vec![3])),
        ("subclass", "strided", Some(vec![5])),
        ("per_tensor", "quantized", Some(vec![4])),
        ("coo", "sparse", Some(vec![3, 3])),
        ("bsr", "sparse", Some(vec![4, 4])),
        ("nested", "nested", None),
        ("jagged", "foreign", None),
        ("meta", "meta", Some(vec![2, 3])),
    ] {
        assert_eq!(kinds.get(&format!("$[\"{name}\"]")), Some(&(kind, shape)), "{name}");
    }
}

#[test]
fn entries_are_bound_with_and_without_a_signature() {
    let entry = Entry::open(&folder().join("entry_signature.pt")).unwrap();
    assert_eq!(entry.function_name(), "torch.nn.functional.embedding");
    let order = ParameterOrder::of([&entry]);
    assert_eq!(order.source(), OrderSource::Signature);
    let bound = entry.bind(&order).unwrap();
    assert_eq!(bound.params, ["input", "weight", "padding_idx", "max_norm"]);
    assert_eq!(bound.args.iter().map(Argument::kind).collect::<Vec<_>>(), ["tensor", "tensor", "None", "None"]);

    let entry = Entry::open(&folder().join("entry_arguments.pt")).unwrap();
    let order = ParameterOrder::of([&entry]);
    assert_eq!(order.source(), OrderSource::Arguments);
    let bound = entry.bind(&order).unwrap();
    assert_eq!(bound.params, ["arg0", "arg1", "padding_idx"]);
    assert_eq!(bound.args.len(), 3);
    assert_eq!(entry.residency().storages.len(), 2);
    assert_eq!(entry.residency().outputs.bytes(), 3 * 4 * 2);
}

#[test]
fn an_identity_covers_what_it_says() {
    let skeleton = |name: &str| Entry::open(&folder().join(name)).unwrap().identity(Digest::Skeleton).unwrap();
    let with_crc = skeleton("entry_signature.pt");
    assert_eq!(with_crc.covers, Digest::Skeleton);
    let full = Entry::open(&folder().join("entry_signature.pt")).unwrap().identity(Digest::Full).unwrap();
    assert_eq!(full.covers, Digest::Full);
    let bytes = std::fs::read(folder().join("entry_signature.pt")).unwrap();
    assert_eq!(full.hex(), blake3::hash(&bytes).to_hex().to_string());
    assert_ne!(with_crc.digest, full.digest);
}

#[test]
fn any_flipped_byte_of_a_file_of_torch_is_read_or_refused() {
    for name in ["entry_signature.pt", "legacy.pt", "first_format.pt", "deflated.pt"] {
        let bytes = std::fs::read(folder().join(name)).unwrap();
        let (_dir, path) = testing::file(&bytes);
        let mut changed = bytes.clone();
        // The step is coprime to every structure's size; the fuzzer does the full sweep.
        for at in (0..bytes.len()).step_by(3) {
            changed[at] ^= 0x41;
            std::fs::write(&path, &changed).unwrap();
            if let Ok(file) = TorchFile::open(&path) {
                let mapped = file.map().unwrap();
                file.walk(&mut |_| {});
                (0..file.storages().len()).for_each(|i| drop(mapped.storage(i).map(<[u8]>::len)));
            }
            changed[at] = bytes[at];
        }
        for length in (0..bytes.len()).step_by(7) {
            std::fs::write(&path, &bytes[..length]).unwrap();
            let _ = TorchFile::open(&path).map(|file| file.walk(&mut |_| {}));
        }
    }
}
