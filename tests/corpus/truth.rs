//! The output of `tests/python/corpus_truth.py` for a file.

use std::path::Path;

use serde::Deserialize;

/// The truth of one file.
#[derive(Debug, Deserialize)]
pub struct Truth {
    pub tensors: Vec<Tensor>,
    pub values: Vec<Value>,
}

/// A tensor. Properties that its kind lacks or does not show are absent.
#[derive(Debug, Deserialize)]
pub struct Tensor {
    pub path: String,
    pub kind: String,
    pub requires_grad: bool,
    pub dtype: Option<String>,
    pub shape: Option<Vec<u64>>,
    pub strides: Option<Vec<u64>>,
    pub storage_offset: Option<u64>,
    pub conj: Option<bool>,
    pub neg: Option<bool>,
    /// Which tensors share a storage: numbers in the order of first reference.
    pub storage: Option<usize>,
    pub sha256: Option<String>,
}

/// A plain value by its type, or an object that occurred before.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Value {
    Alias {
        path: String,
        alias_of: String,
    },
    Plain {
        path: String,
        #[serde(rename = "type")]
        kind: String,
        value: Option<String>,
    },
}

impl Truth {
    /// The truth of `file`, which lies beside it.
    pub fn of(file: &Path) -> Self {
        let mut path = file.as_os_str().to_owned();
        path.push(".json");
        serde_json::from_slice(&std::fs::read(path).expect("every file has a truth")).expect("a truth is JSON")
    }
}
