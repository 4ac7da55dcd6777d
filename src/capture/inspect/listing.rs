//! The element of a file in the document, from its headers alone.

use std::ops::{ControlFlow, Range};

use super::document::{
    EntryInspection, Hex, Quantizer, Scalar, StorageInspection, TensorInspection, ValueInspection, ValueKind,
};
use super::error::InspectError;
use super::hex_float::hex_float;
use super::reach::covered;
use crate::{Item, ItemValue, Layout, TensorItem, TensorRef, TorchFile};
use plimsoll_memory::bytes::ByteSize;

/// The element of a file, and the tensors in it that have elements of their own.
#[derive(Debug)]
pub(super) struct Listing {
    pub(super) entry: EntryInspection,
    /// Pairs of the index of the tensor in the element and the tensor.
    pub(super) elements: Vec<(usize, TensorRef)>,
}

/// The maximum memory for listed values, not counting tensors. Further values are counted but not listed.
const VALUES: u64 = 128 << 20;

/// The maximum cost of listing: the memory of tensors, and reading objects that are referred to repeatedly.
const WORK: ByteSize = ByteSize::mib(128);

/// The memory that a tensor takes besides its texts.
const TENSOR: u64 = 512;

/// The memory that a value takes besides its texts.
const VALUE: u64 = size_of::<ValueInspection>() as u64 + 32;

/// The longest text or run of bytes that is listed whole, in bytes.
const TEXT: usize = 64 << 10;

/// Lists the values of `file`.
pub(super) fn list(file: &TorchFile) -> Result<Listing, InspectError> {
    let mut lister = Lister::new(file);
    let refused = file.try_walk(&mut |item| lister.visit(item)).is_break();
    if refused {
        return Err(InspectError::Listing { path: file.path().to_owned(), limit: WORK });
    }
    Ok(lister.finish())
}

struct Lister<'a> {
    file: &'a TorchFile,
    tensors: Vec<TensorInspection>,
    values: Vec<ValueInspection>,
    elements: Vec<(usize, TensorRef)>,
    /// For each storage, the bytes that its tensors reach, and the tensors.
    reached: Vec<Vec<Range<u64>>>,
    viewers: Vec<Vec<usize>>,
    omitted: u64,
    listed: u64,
    work: u64,
}

impl<'a> Lister<'a> {
    fn new(file: &'a TorchFile) -> Self {
        let storages = file.storages().len();
        Self {
            file,
            tensors: Vec::new(),
            values: Vec::new(),
            elements: Vec::new(),
            reached: vec![Vec::new(); storages],
            viewers: vec![Vec::new(); storages],
            omitted: 0,
            listed: 0,
            work: 0,
        }
    }

    fn visit(&mut self, item: &Item<'_>) -> ControlFlow<()> {
        let alias_of = item.alias_of.map(|alias| alias.path());
        let alias = alias_of.as_ref().map_or(0, String::len) as u64;
        self.work = self.work.saturating_add(alias + reading(&item.value));
        match &item.value {
            ItemValue::Tensor(tensor) => self.tensor(item, tensor, alias_of),
            value => {
                let bytes = VALUE + alias + item.path.len() as u64 + text_bytes(value);
                if self.omitted == 0 && self.listed + bytes <= VALUES {
                    self.listed += bytes;
                    self.values.push(self.value(item, value, alias_of));
                } else {
                    self.omitted += 1;
                }
            }
        }
        if self.work > WORK.bytes() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn tensor(&mut self, item: &Item<'_>, tensor: &TensorItem<'_>, alias_of: Option<String>) {
        let dims = tensor.shape.map_or(0, <[u64]>::len) as u64;
        self.work += TENSOR + item.path.len() as u64 + 64 * dims;
        let index = self.tensors.len();
        let storage = tensor.elements.map(|elements| &self.file.storages()[elements.storage]);
        let layout = tensor.layout;
        self.tensors.push(TensorInspection {
            path: item.path.to_owned(),
            alias_of,
            kind: tensor.kind.to_owned(),
            class: tensor.class.to_string(),
            dtype: layout.map(|layout| layout.dtype),
            shape: tensor.shape.map(<[u64]>::to_vec),
            strides: layout.map(|layout| layout.strides.clone()),
            storage_offset: layout.map(|layout| layout.offset),
            storage: storage.map(|storage| storage.key().to_owned()),
            logical_bytes: layout.and_then(Layout::logical_bytes).map(ByteSize::new),
            stored_bytes: storage.map(|storage| storage.bytes()),
            requires_grad: tensor.requires_grad,
            conj: layout.is_some_and(|layout| layout.conj),
            neg: layout.is_some_and(|layout| layout.neg),
            quantizer: tensor.quantizer.map(|(scale, zero_point)| Quantizer {
                scale: scale.into(),
                scale_hex: hex_float(scale),
                zero_point,
            }),
            digest: None,
        });
        self.set_whole_dtype(index);
        if let Some(elements) = tensor.elements {
            if item.alias_of.is_none() {
                self.viewers[elements.storage].push(index);
                self.reached[elements.storage].extend(elements.layout.reach());
            }
            self.elements.push((index, elements.clone()));
        }
    }

    /// Gives a tensor that consists of other tensors the dtype of its values, which come after it.
    fn set_whole_dtype(&mut self, part: usize) {
        let (before, rest) = self.tensors.split_at_mut(part);
        let part = &rest[0];
        let whole = part.path.strip_suffix("!values").or_else(|| part.path.strip_suffix("!buffer"));
        // Between a tensor and its values there are at most its other parts.
        let near = before.iter_mut().rev().take(4);
        if let Some(tensor) = whole.and_then(|whole| near.into_iter().find(|tensor| tensor.path == whole)) {
            tensor.dtype = tensor.dtype.or(part.dtype);
        }
    }

    fn value(&self, item: &Item<'_>, value: &ItemValue<'_>, alias_of: Option<String>) -> ValueInspection {
        let text = |text: &str| Some(Scalar::Text(cut(text).into()));
        let mut listed = ValueInspection {
            path: item.path.into(),
            alias_of: alias_of.map(Box::from),
            kind: kind(value),
            value: None,
            hex: None,
            length: None,
            class: None,
            storage: None,
        };
        match value {
            ItemValue::None | ItemValue::Tensor(_) => {}
            ItemValue::Bool(value) => listed.value = Some(Scalar::Bool(*value)),
            ItemValue::Int(value) => listed.value = Some(Scalar::Int(*value)),
            ItemValue::BigInt(digits) => listed.value = text(digits),
            &ItemValue::Float(value) => {
                listed.value = Some(Scalar::Number(value.into()));
                listed.hex = Some(Hex::Float(hex_float(value).into()));
            }
            &ItemValue::Complex(re, im) => {
                listed.value = Some(Scalar::Complex(Box::new([re.into(), im.into()])));
                listed.hex = Some(Hex::Complex(Box::new([hex_float(re), hex_float(im)])));
            }
            ItemValue::Str(whole) => {
                listed.value = text(whole);
                listed.length = Some(whole.chars().count() as u64);
            }
            ItemValue::Bytes(bytes) => {
                listed.value = Some(Scalar::Text(hex(&bytes[..bytes.len().min(TEXT)]).into()));
                listed.length = Some(bytes.len() as u64);
            }
            ItemValue::Dtype(dtype) => listed.value = text(&format!("torch.{dtype}")),
            ItemValue::Device(device) => listed.value = text(device),
            ItemValue::Storage(index) => listed.storage = Some(self.file.storages()[*index].key().into()),
            ItemValue::List(items) | ItemValue::Tuple(items) | ItemValue::Set(items) | ItemValue::FrozenSet(items) => {
                listed.length = Some(items.len() as u64);
            }
            ItemValue::Dict(pairs) => listed.length = Some(pairs.len() as u64),
            ItemValue::Opaque(class) => listed.class = Some(class.as_str().into()),
        }
        listed
    }

    fn finish(self) -> Listing {
        let path = |&tensor: &usize| self.tensors[tensor].path.clone();
        let seen = self.file.storages().iter().zip(self.reached).zip(&self.viewers);
        let storages = seen
            .map(|((storage, reached), viewers)| StorageInspection {
                id: storage.key().to_owned(),
                bytes: storage.bytes(),
                crc32: storage.crc32().map(|crc| format!("{crc:08x}")),
                reached_bytes: ByteSize::new(covered(reached)),
                shared_by: if viewers.len() > 1 { viewers.iter().map(path).collect() } else { Vec::new() },
                digest: None,
            })
            .collect();
        let entry = EntryInspection {
            file: crate::origin::shown(self.file.path()),
            bytes: Some(self.file.file_size()),
            storages,
            tensors: self.tensors,
            values: self.values,
            omitted_values: (self.omitted > 0).then_some(self.omitted),
            verified: None,
            error: None,
        };
        Listing { entry, elements: self.elements }
    }
}

/// The cost of reading `value`, in units of bytes copied: one object can be referred to any number of times.
fn reading(value: &ItemValue<'_>) -> u64 {
    match value {
        ItemValue::Str(text) => text.len() as u64 / 8,
        ItemValue::Bytes(bytes) => bytes.len() as u64 / 8,
        // The time for decimal digits grows with the square of their number; for hexadecimal ones it does not.
        ItemValue::BigInt(digits) if digits.len() <= 4400 => (digits.len() * digits.len()) as u64 / 64,
        ItemValue::BigInt(digits) => digits.len() as u64,
        _ => 0,
    }
}

/// The memory that the texts of `value` take in the list.
fn text_bytes(value: &ItemValue<'_>) -> u64 {
    let bytes = match value {
        ItemValue::Str(text) => text.len(),
        ItemValue::Bytes(bytes) => 2 * bytes.len(),
        // The float is listed in hexadecimal.
        ItemValue::Float(_) => 32,
        ItemValue::BigInt(text) | ItemValue::Device(text) | ItemValue::Opaque(text) => text.len(),
        _ => 0,
    };
    bytes.min(2 * TEXT) as u64
}

fn kind(value: &ItemValue<'_>) -> ValueKind {
    match value {
        ItemValue::None => ValueKind::None,
        ItemValue::Bool(_) => ValueKind::Bool,
        ItemValue::Int(_) | ItemValue::BigInt(_) => ValueKind::Int,
        ItemValue::Float(_) => ValueKind::Float,
        ItemValue::Complex(..) => ValueKind::Complex,
        ItemValue::Str(_) => ValueKind::Str,
        ItemValue::Bytes(_) => ValueKind::Bytes,
        ItemValue::Dtype(_) => ValueKind::Dtype,
        ItemValue::Device(_) => ValueKind::Device,
        ItemValue::Storage(_) => ValueKind::Storage,
        ItemValue::List(_) => ValueKind::List,
        ItemValue::Tuple(_) => ValueKind::Tuple,
        ItemValue::Dict(_) => ValueKind::Dict,
        ItemValue::Set(_) => ValueKind::Set,
        ItemValue::FrozenSet(_) => ValueKind::FrozenSet,
        ItemValue::Tensor(_) | ItemValue::Opaque(_) => ValueKind::Opaque,
    }
}

/// The start of `text`, at most [`TEXT`] bytes of it.
fn cut(text: &str) -> &str {
    let end = (0..=TEXT.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or(0)]
}

/// `bytes` in hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}
