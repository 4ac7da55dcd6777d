//! Every tensor and value of every good file is read as torch had it in memory.

use std::collections::HashMap;
use std::fmt::Debug;
use std::path::Path;

use plimsoll::capture::{CaptureError, ItemValue, TensorItem, TensorView, TorchFile};
use sha2::{Digest, Sha256};

use crate::support::{corpus, files};
use crate::truth::{Tensor, Truth, Value};

/// What the reader returns for one value.
struct Seen {
    alias_of: Option<String>,
    /// A plain value in the notation of the truth.
    plain: Option<(&'static str, String)>,
    tensor: Option<SeenTensor>,
}

struct SeenTensor {
    kind: &'static str,
    requires_grad: bool,
    shape: Option<Vec<u64>>,
    dtype: Option<String>,
    strides: Option<Vec<u64>>,
    bits: Option<(u64, bool, bool)>,
    storage: Option<usize>,
    sha256: Option<String>,
}

fn sha256(view: &TensorView<'_>) -> String {
    let mut hasher = Sha256::new();
    // Only 1 divides it among element sizes: chunks meet rows at every position.
    let mut out = [0; 4080];
    let mut start = 0;
    loop {
        let bytes = view.read_into(start, &mut out);
        if bytes == 0 {
            return hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        }
        hasher.update(&out[..bytes]);
        start += bytes as u64 / view.dtype().size();
    }
}

fn plain(value: &ItemValue<'_>) -> Option<(&'static str, String)> {
    Some(match value {
        ItemValue::None => ("NoneType", "None".to_owned()),
        ItemValue::Bool(value) => ("bool", if *value { "True" } else { "False" }.to_owned()),
        ItemValue::Int(value) => ("int", value.to_string()),
        ItemValue::BigInt(value) => ("int", value.clone()),
        ItemValue::Float(value) => ("float", format!("{:016x}", value.to_bits())),
        ItemValue::Str(value) => ("str", value.to_string()),
        ItemValue::Bytes(value) => ("bytes", value.iter().map(|byte| format!("{byte:02x}")).collect()),
        ItemValue::Dtype(dtype) => ("dtype", format!("torch.{dtype}")),
        ItemValue::Device(device) => ("device", device.clone()),
        _ => return None,
    })
}

fn read(path: &Path) -> Result<HashMap<String, Seen>, CaptureError> {
    let file = TorchFile::open(path)?;
    let mapped = file.map()?;
    let mut seen = HashMap::new();
    let mut failed = None;
    file.walk(&mut |item| {
        let mut tensor = None;
        if let ItemValue::Tensor(TensorItem { kind, shape, layout, elements, requires_grad, .. }) = &item.value {
            let sha256 = elements.map(|elements| mapped.view(elements).map(|view| sha256(&view))).transpose();
            tensor = Some(SeenTensor {
                kind,
                requires_grad: *requires_grad,
                shape: shape.map(<[u64]>::to_vec),
                dtype: layout.map(|layout| layout.dtype.name().to_owned()),
                strides: layout.map(|layout| layout.strides.clone()),
                bits: layout.map(|layout| (layout.offset, layout.conj, layout.neg)),
                storage: elements.map(|elements| elements.storage),
                sha256: sha256.unwrap_or_else(|error| {
                    failed = Some(error);
                    None
                }),
            });
        }
        let value = Seen { alias_of: item.alias_of.map(|alias| alias.path()), plain: plain(&item.value), tensor };
        assert!(seen.insert(item.path.to_owned(), value).is_none(), "{}: {} twice", path.display(), item.path);
    });
    mapped.intact()?;
    failed.map_or(Ok(seen), Err)
}

/// Differences between the truth of a file and what is read.
struct Check<'a> {
    file: &'a str,
    wrong: Vec<String>,
}

impl Check<'_> {
    fn equal<T: PartialEq + Debug>(&mut self, path: &str, what: &str, seen: T, truth: T) {
        if seen != truth {
            self.wrong.push(format!("{}: {path}: {what} is {truth:?} and reads as {seen:?}", self.file));
        }
    }

    /// Like `equal`, for facts that the truth may omit.
    fn compare<T: PartialEq + Debug>(&mut self, path: &str, what: &str, seen: Option<T>, truth: Option<T>) {
        if truth.is_some() {
            self.equal(path, what, seen, truth);
        }
    }

    fn missing(&mut self, path: &str) {
        self.wrong.push(format!("{}: {path} is not read", self.file));
    }

    fn tensor(&mut self, seen: &SeenTensor, truth: &Tensor) {
        let path = &truth.path;
        self.equal(path, "kind", seen.kind, truth.kind.as_str());
        self.compare(path, "dtype", seen.dtype.as_deref(), truth.dtype.as_deref().filter(|_| truth.strides.is_some()));
        self.compare(path, "shape", seen.shape.as_ref(), truth.shape.as_ref());
        self.compare(path, "strides", seen.strides.as_ref(), truth.strides.as_ref());
        self.compare(path, "storage_offset", seen.bits.map(|bits| bits.0), truth.storage_offset);
        self.compare(path, "conj", seen.bits.map(|bits| bits.1), truth.conj);
        self.compare(path, "neg", seen.bits.map(|bits| bits.2), truth.neg);
        self.compare(path, "sha256", seen.sha256.as_ref(), truth.sha256.as_ref());
        if seen.kind != "foreign" && seen.kind != "nested" && seen.kind != "sparse" {
            self.equal(path, "requires_grad", seen.requires_grad, truth.requires_grad);
        }
    }
}

fn check(path: &Path) -> Vec<String> {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let seen = match read(path) {
        Ok(seen) => seen,
        Err(error) => return vec![error.to_string()],
    };
    let truth = Truth::of(path);
    let mut check = Check { file: &name, wrong: Vec::new() };
    let mut storages = HashMap::new();
    for tensor in &truth.tensors {
        let Some(seen) = seen.get(&tensor.path).and_then(|seen| seen.tensor.as_ref()) else {
            check.missing(&tensor.path);
            continue;
        };
        check.tensor(seen, tensor);
        if let Some(storage) = tensor.storage {
            let first = *storages.entry(storage).or_insert(seen.storage);
            check.equal(&tensor.path, "storage", seen.storage, first);
        }
    }
    let distinct: std::collections::HashSet<_> = storages.values().collect();
    check.equal("$", "number of storages that tensors view", distinct.len(), storages.len());
    for value in &truth.values {
        let (Value::Alias { path, .. } | Value::Plain { path, .. }) = value;
        let Some(seen) = seen.get(path) else {
            check.missing(path);
            continue;
        };
        match value {
            Value::Alias { alias_of, .. } => check.equal(path, "alias", seen.alias_of.as_ref(), Some(alias_of)),
            Value::Plain { kind, value, .. } => {
                let plain = seen.plain.as_ref().map(|(kind, value)| (*kind, value.as_str()));
                // Text with lone surrogates has no value in JSON: only its type can be compared.
                let truth = value.as_deref().or(plain.map(|plain| plain.1)).unwrap_or_default();
                check.equal(path, "value", plain, Some((kind.as_str(), truth)));
            }
        }
    }
    check.wrong
}

#[test]
fn every_good_file_reads_as_what_torch_had_in_memory() {
    let Some(corpus) = corpus() else { return };
    let files = files(corpus);
    assert!(files.len() >= 140, "{} files", files.len());
    let wrong: Vec<_> = files.iter().flat_map(|file| check(file)).collect();
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}
