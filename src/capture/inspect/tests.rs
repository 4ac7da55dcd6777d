//! Inspections of files that torch wrote, and of hostile files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::TorchFile;
use crate::testing::{TestPickle, file, torch_records, zip};
use plimsoll_memory::bytes::ByteSize;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name)
}

fn entry(name: &str) -> EntryInspection {
    let options = Options { digest: Some(DigestFunction::Sha256), verify: true };
    let mut found = inspect(&fixture(name), options);
    assert_eq!(found.error, None);
    found.entries.remove(0)
}

fn by_path(entry: &EntryInspection) -> BTreeMap<&str, &TensorInspection> {
    entry.tensors.iter().map(|tensor| (&*tensor.path, tensor)).collect()
}

/// The bytes that an extraction to `.bin` writes.
fn bytes_of(file: &Path, tensor: &str) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("tensor.bin");
    Extraction::find(TorchFile::open(file).unwrap(), tensor).unwrap().write(&out).unwrap();
    fs::read(out).unwrap()
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn every_tensor_of_torch_has_its_dtype_shape_bytes_and_digest() {
    type Truth = BTreeMap<String, BTreeMap<String, (String, Vec<u64>, u32)>>;
    let truth: Truth = serde_json::from_slice(&fs::read(fixture("expected.json")).unwrap()).unwrap();
    assert!(truth.len() > 10);
    for (name, tensors) in &truth {
        let entry = entry(name);
        let found = by_path(&entry);
        for (path, (dtype, shape, crc)) in tensors {
            let tensor = found[&**path];
            assert_eq!(tensor.dtype.unwrap().name(), dtype, "{name}: {path}");
            assert_eq!(tensor.shape.as_ref(), Some(shape), "{name}: {path}");
            let bytes = bytes_of(&fixture(name), path);
            assert_eq!(crc32fast::hash(&bytes), *crc, "{name}: {path}");
            assert_eq!(tensor.digest.as_ref(), Some(&sha256(&bytes)), "{name}: {path}");
            assert_eq!(tensor.logical_bytes, Some(ByteSize::new(bytes.len() as u64)));
        }
    }
}

#[test]
fn the_document_of_an_entry() {
    let options = Options { digest: Some(DigestFunction::Sha256), verify: true };
    let mut found = inspect(&fixture("entry_signature.pt"), options);
    found.path = "entry_signature.pt".to_owned();
    found.entries[0].file = found.path.clone();
    plimsoll_memory::testing::assert_snapshot("inspect_document", &serde_json::to_string_pretty(&found).unwrap());
}

#[test]
fn both_functions_digest_the_same_bytes() {
    let found = inspect(&fixture("layouts.pt"), Options { digest: Some(DigestFunction::Blake3), verify: false });
    for tensor in &found.entries[0].tensors {
        let expected = blake3::hash(&bytes_of(&fixture("layouts.pt"), &tensor.path)).to_hex();
        assert_eq!(tensor.digest.as_deref(), Some(expected.as_str()), "{}", tensor.path);
    }
}

#[test]
fn values_are_listed_with_their_types() {
    let entry = entry("values_protocol_2.pt");
    let values: BTreeMap<&str, &ValueInspection> = entry.values.iter().map(|v| (&*v.path, v)).collect();
    let facts = |path: &str| {
        let value = values[path];
        let scalar = value.value.as_ref().map(|value| serde_json::to_string(value).unwrap());
        (value.kind.name(), scalar.unwrap_or_default())
    };
    for (path, kind, value) in [
        ("$[\"scalars\"][0]", "int", "\"1180591620717411303424\""),
        ("$[\"scalars\"][1]", "int", "-9223372036854775808"),
        ("$[\"scalars\"][2]", "float", "1.5"),
        ("$[\"scalars\"][3]", "complex", "[1.0,2.0]"),
        ("$[\"scalars\"][4]", "bytes", "\"61ff\""),
        ("$[\"scalars\"][7]", "device", "\"cuda:1\""),
        ("$[\"keys\"]{None}", "int", "2"),
        ("$[\"ordered\"]!state[\"note\"]", "str", "\"state\""),
    ] {
        assert_eq!(facts(path), (kind, value.to_owned()), "{path}");
    }
    assert_eq!(values["$[\"scalars\"][2]"].hex, Some(Hex::Float("0x1.8000000000000p+0".into())));
    assert_eq!(values["$[\"plain\"]"].class.as_deref(), Some("__main__.Plain"));
    assert_eq!(values["$[\"shared\"][1]"].alias_of.as_deref(), Some("$[\"shared\"][0]"));
    assert_eq!(values["$[\"cycle\"][0]"].alias_of.as_deref(), Some("$[\"cycle\"]"));
    assert_eq!(values["$"].length, Some(14));
}

#[test]
fn composite_tensors_have_parts_and_the_dtype_of_their_values() {
    let entry = entry("composites.pt");
    let found = by_path(&entry);
    let facts = |path: &str| {
        let tensor = found[path];
        (&*tensor.kind, tensor.dtype.map_or("", |dtype| dtype.name()), tensor.digest.is_some())
    };
    assert_eq!(facts("$[\"coo\"]"), ("sparse", "float32", false));
    assert_eq!(facts("$[\"coo\"]!indices"), ("strided", "int64", true));
    assert_eq!(facts("$[\"nested\"]"), ("nested", "float32", false));
    assert_eq!(facts("$[\"meta\"]"), ("meta", "float32", false));
    assert_eq!(facts("$[\"per_tensor\"]"), ("quantized", "quint8", true));
    let quantizer = found["$[\"per_tensor\"]"].quantizer.as_ref().unwrap();
    assert_eq!((&quantizer.scale, quantizer.zero_point), (&Number::Finite(0.5), 3));
    assert_eq!(found["$[\"with_state\"]"].class, "torch.nn.parameter.Parameter");
    assert!(found["$[\"with_state\"]"].requires_grad && !found["$[\"parameter\"]"].requires_grad);
}

#[test]
fn shared_storages_and_views_that_keep_them_are_listed() {
    let entry = entry("layouts.pt");
    let storage = &entry.storages[0];
    assert_eq!(storage.shared_by.len(), 7);
    assert_eq!((storage.bytes, storage.reached_bytes), (ByteSize::new(96), ByteSize::new(96)));
    let negated = entry.storages.iter().find(|storage| storage.id == "2").unwrap();
    assert_eq!((negated.bytes, negated.reached_bytes), (ByteSize::new(48), ByteSize::new(44)));
    let found = by_path(&entry);
    let expanded = found["$[\"expanded\"]"];
    assert_eq!(expanded.strides.as_deref(), Some(&[0, 0][..]));
    assert_eq!((expanded.logical_bytes, expanded.stored_bytes), (Some(ByteSize::new(28_000)), Some(ByteSize::new(96))));
    assert!(found["$[\"conj\"]"].conj && found["$[\"neg\"]"].neg);
}

#[test]
fn a_damaged_storage_is_found_whenever_its_bytes_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("damaged.pt");
    let mut bytes = fs::read(fixture("layouts.pt")).unwrap();
    // The value is 23.0, the last element of the first storage.
    let at = bytes.windows(8).position(|window| window == [0, 0, 0xb0, 0x41, 0, 0, 0xb8, 0x41]).unwrap();
    bytes[at + 4] ^= 1;
    fs::write(&path, bytes).unwrap();
    assert_eq!(inspect(&path, Options::default()).error, None);
    for options in [
        Options { digest: None, verify: true },
        Options { digest: Some(DigestFunction::Sha256), verify: false },
        Options { digest: Some(DigestFunction::Blake3), verify: false },
    ] {
        let found = inspect(&path, options);
        let error = found.error.unwrap();
        assert_eq!((&*error.kind, error.record.as_deref()), ("archive", Some("data/0")));
        assert!(error.message.contains("CRC-32"), "{}", error.message);
        assert_eq!(found.entries[0].tensors.len(), 10, "headers are still reported");
        assert!(found.entries[0].tensors.iter().all(|tensor| tensor.digest.is_none()));
    }
    let extraction = Extraction::find(TorchFile::open(&path).unwrap(), "$[\"scalar\"]").unwrap();
    let error = extraction.write(&dir.path().join("out.npy")).unwrap_err();
    assert!(error.to_string().contains("CRC-32"), "{error}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left behind");
}

#[test]
fn one_unreadable_file_costs_the_others_nothing() {
    let dir = tempfile::tempdir().unwrap();
    for (name, source) in [("a.pt", "legacy.pt"), ("c.bin", "layouts.pt"), ("notes.txt", "make.py")] {
        fs::copy(fixture(source), dir.path().join(name)).unwrap();
    }
    fs::write(dir.path().join("b.pth"), b"not a file of torch").unwrap();
    let found = inspect(dir.path(), Options::default());
    let counts: Vec<_> = found.entries.iter().map(|entry| (entry.tensors.len(), entry.error.is_some())).collect();
    assert_eq!(counts, [(10, false), (0, true), (10, false)]);
    assert_eq!((found.totals.entries, found.totals.errors, found.totals.tensors), (3, 1, 20));
    assert!(found.error.unwrap().file.ends_with("b.pth"));
}

#[test]
fn a_folder_without_files_and_a_path_without_anything_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    let error = inspect(dir.path(), Options::default()).error.unwrap();
    assert!(error.kind == "folder" && error.message.contains("*.pt"), "{error:?}");
    let error = inspect(&dir.path().join("none.pt"), Options::default()).error.unwrap();
    assert!(error.kind == "source" && error.message.contains("no such file"), "{error:?}");
}

fn inspect_pickle(pickle: &[u8], storages: &[&[u8]], options: Options) -> Inspection {
    let (_dir, path) = file(&zip(&torch_records(pickle, storages), b""));
    inspect(&path, options)
}

#[test]
fn an_object_named_again_and_again_is_refused_before_it_fills_memory() {
    let text = TestPickle::new().op(b"](").text(&"x".repeat(1 << 20)).op(b"q\0");
    let few = text.clone().op(&b"h\0".repeat(100)).op(b"e").stop();
    let found = inspect_pickle(&few, &[], Options::default());
    assert_eq!(found.error, None);
    assert_eq!(found.entries[0].values.len(), 102);
    assert_eq!(found.entries[0].values[1].length, Some(1 << 20));
    let many = text.op(&b"h\0".repeat(100_000)).op(b"e").stop();
    let error = inspect_pickle(&many, &[], Options::default()).error.unwrap();
    assert_eq!(error.kind, "listing", "{error:?}");
}

#[test]
fn values_beyond_a_bound_are_counted_and_tensors_behind_them_listed() {
    let values = TestPickle::new().op(b"](").op(&b"N".repeat(1_500_000));
    let pickle = values.tensor("0", 2, 0, &[2], &[1]).op(b"e").stop();
    let found = inspect_pickle(&pickle, &[&[0; 8]], Options::default());
    let entry = &found.entries[0];
    assert_eq!(entry.values.len() as u64 + entry.omitted_values.unwrap(), 1_500_001);
    assert_eq!(entry.tensors[0].path, "$[1500000]");
}

#[test]
fn a_view_far_larger_than_its_file_has_no_digest_and_its_neighbour_has() {
    let side = 1 << 20;
    let pickle = TestPickle::new().op(b"](").tensor("0", 2, 0, &[side, side], &[0, 0]);
    let pickle = pickle.tensor("0", 2, 1, &[1], &[1]).op(b"e").stop();
    let found = inspect_pickle(&pickle, &[&[7; 8]], Options { digest: Some(DigestFunction::Sha256), verify: false });
    let error = found.error.unwrap();
    assert!(error.kind == "digest" && error.message.contains("$[0] has 4.00 TiB"), "{error:?}");
    let [large, small] = &found.entries[0].tensors[..] else { panic!("two tensors") };
    assert_eq!((large.digest.as_deref(), large.logical_bytes), (None, Some(ByteSize::new(4 << 40))));
    assert_eq!(small.digest, Some(sha256(&[7; 4])));
}

#[test]
fn the_document_is_the_same_whether_it_is_held_or_written_as_it_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let pickle = |key: &str| TestPickle::new().tensor(key, 6, 0, &[6], &[1]).stop();
    for (name, content) in [("a.pt", Some(pickle("0"))), ("b.pt", Some(pickle("0"))), ("c.pt", None)] {
        match content {
            Some(pickle) => {
                std::fs::write(dir.path().join(name), zip(&torch_records(&pickle, &[&[7; 24]]), b"")).unwrap()
            }
            None => std::fs::write(dir.path().join(name), "no file of torch").unwrap(),
        }
    }
    let none = dir.path().join("none");
    std::fs::create_dir(&none).unwrap();
    let digest = Options { digest: Some(DigestFunction::Blake3), verify: true };
    for (path, options) in [(dir.path(), digest), (dir.path(), Options::default()), (&none, digest)] {
        let mut shown = Vec::new();
        let mut each = |entry: &EntryInspection| shown.push(entry.clone());
        let written = Written::new(path, options, &mut each);
        let text = serde_json::to_string_pretty(&written).unwrap();
        let summary = written.into_summary().unwrap();
        let held = inspect(path, options);
        assert_eq!(text, serde_json::to_string_pretty(&held).unwrap());
        assert_eq!((shown, summary.totals, summary.error), (held.entries, held.totals, held.error));
    }
}
