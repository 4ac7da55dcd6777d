//! proptest strategies for the content of captures, from dtypes to whole captures (feature `proptest`).
//!
//! ```
//! use plimsoll_capture::strategies;
//! use proptest::prelude::*;
//!
//! proptest!(|(capture in strategies::captures(3))| {
//!     let folder = capture.write()?;
//!     prop_assert!(folder.path().join("entry_000000.pt").exists());
//! });
//! ```

use std::collections::BTreeMap;
use std::path::Path;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use tempfile::TempDir;

use super::write::{EntryValue, Options, Source, WriteError, write_entry};
use super::{Argument, Dtype, Layout, Signature, TensorRef};

/// Every dtype whose tensors are described by a layout alone: all except the quantized ones.
pub fn dtypes() -> impl Strategy<Value = Dtype> {
    let quantized = |d: Dtype| d.name().starts_with('q');
    select(Dtype::ALL.iter().copied().filter(|&d| !quantized(d)).collect::<Vec<_>>())
}

/// Every floating-point dtype, 8-bit and 4-bit formats included.
pub fn float_dtypes() -> impl Strategy<Value = Dtype> {
    select(Dtype::ALL.iter().copied().filter(|d| d.is_float()).collect::<Vec<_>>())
}

/// The way in which a dimension of a layout is stored.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Each element is next to its neighbour.
    Dense,
    /// Elements are this many apart.
    Strided(u64),
    /// One element stands for the whole dimension.
    Expanded,
}

/// Layouts of `dtype` of up to four dimensions and some thousand elements: contiguous, transposed, strided, expanded,
/// without elements, of one element, with an offset; conj and neg bits on dtypes for which PyTorch sets them.
pub fn layouts(dtype: Dtype) -> impl Strategy<Value = Layout> {
    let step = prop_oneof![
        4 => Just(Step::Dense),
        1 => (2u64..4).prop_map(Step::Strided),
        1 => Just(Step::Expanded),
    ];
    let dimensions = vec((prop_oneof![8 => 1u64..6, 1 => Just(0)], step), 0..=4);
    let order = dimensions.prop_flat_map(|d| {
        let order: Vec<usize> = (0..d.len()).rev().collect();
        (Just(d), prop_oneof![Just(order.clone()), Just(order).prop_shuffle()])
    });
    let bit = || prop::bool::weighted(0.125);
    (order, prop_oneof![3 => Just(0), 1 => 0u64..9], bit(), bit()).prop_map(
        move |((dimensions, order), offset, conj, neg)| {
            let mut strides = vec![0; dimensions.len()];
            let mut next = 1;
            // The loop goes from the innermost dimension outwards.
            for d in order {
                let (size, step) = dimensions[d];
                strides[d] = match step {
                    Step::Dense => next,
                    Step::Strided(by) => next * by,
                    Step::Expanded => 0,
                };
                next = next.max(strides[d] * size);
            }
            let signed = matches!(dtype, Dtype::F64 | Dtype::F32 | Dtype::F16 | Dtype::BF16 | Dtype::C128 | Dtype::C64);
            let shape = dimensions.into_iter().map(|(size, _)| size).collect();
            Layout { dtype, shape, strides, offset, conj: conj && dtype.is_complex() && signed, neg: neg && signed }
        },
    )
}

/// Plain values: no tensors, no containers. Floats are never NaN, so that equal values compare equal.
pub fn plain_arguments() -> impl Strategy<Value = Argument> {
    let float = || prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO | prop::num::f64::INFINITE;
    prop_oneof![
        Just(Argument::None),
        any::<bool>().prop_map(Argument::Bool),
        prop_oneof![any::<i64>(), -300..70_000i64].prop_map(Argument::Int),
        "-?[1-9][0-9]{20,60}".prop_map(Argument::BigInt),
        float().prop_map(Argument::Float),
        (float(), float()).prop_map(|(re, im)| Argument::Complex(re, im)),
        ".{0,12}".prop_map(Argument::Str),
        vec(any::<u8>(), 0..12).prop_map(Argument::Bytes),
        dtypes().prop_map(Argument::Dtype),
        select(vec!["cpu", "cuda", "cuda:0", "cuda:7", "meta"]).prop_map(|d| Argument::Device(d.to_owned())),
    ]
}

/// Values of every kind, nested up to three deep. Each tensor refers to storage 0 until [`entries`] gives it one.
fn values() -> impl Strategy<Value = Argument> {
    let tensor = dtypes().prop_flat_map(layouts).prop_map(|layout| Argument::Tensor(TensorRef { layout, storage: 0 }));
    let leaf = prop_oneof![3 => plain_arguments(), 2 => tensor];
    leaf.prop_recursive(3, 16, 4, |inner| {
        // In Python, 1, 1.0 and True are the same key; text and integers are never equal.
        let key = prop_oneof![".{0,8}".prop_map(Err), any::<i64>().prop_map(Ok)];
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Argument::List),
            vec(inner.clone(), 0..5).prop_map(Argument::Tuple),
            btree_map(key, inner, 0..5).prop_map(|items| {
                let key = |key: Result<i64, String>| key.map_or_else(Argument::Str, Argument::Int);
                Argument::Dict(items.into_iter().map(|(k, value)| (key(k), value)).collect())
            }),
        ]
    })
}

/// An entry with the bytes of its storages.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleEntry {
    /// The value that the file holds.
    pub value: EntryValue,
    /// The bytes of each storage.
    pub storages: Vec<Vec<u8>>,
}

impl SampleEntry {
    /// Writes the entry to `path`.
    ///
    /// # Errors
    /// [`WriteError`] if the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), WriteError> {
        let sources: Vec<Source<'_>> = self.storages.iter().map(|bytes| Source::Bytes(bytes)).collect();
        write_entry(path, &self.value, &sources, &Options::default())?;
        Ok(())
    }
}

/// Entries with and without a signature, of nested values of every kind; some tensors share a storage, some storages are
/// longer than their tensors reach.
pub fn entries() -> impl Strategy<Value = SampleEntry> {
    let signature = (btree_map("[a-z_]{1,8}", values(), 0..5), btree_map("[a-z_]{1,8}", plain_arguments(), 0..3))
        .prop_map(|(kwargs, defaults)| {
            let params = kwargs.keys().chain(defaults.keys().filter(|k| !kwargs.contains_key(*k))).cloned().collect();
            let signature = Signature { params, defaults: defaults.into_iter().collect() };
            (Vec::new(), kwargs, Some(signature))
        });
    let positional = (vec(values(), 0..4), btree_map("[a-z_]{1,8}", values(), 0..3))
        .prop_map(|(args, kwargs)| (args, kwargs, None::<Signature>));
    let sharing = vec((any::<bool>(), 0u64..4), 1..8);
    (prop_oneof![signature, positional], values(), "[a-z]{1,6}(\\.[a-z]{1,6}){0,3}", sharing, any::<u64>()).prop_map(
        |((args, kwargs, signature), output, function_name, sharing, seed)| {
            let kwargs = kwargs.into_iter().collect();
            with_storages(EntryValue { function_name, args, kwargs, output, signature }, &sharing, seed)
        },
    )
}

/// Gives every tensor a storage: one shared with the previous tensor of its dtype, or a new one, with some elements to
/// spare, as `sharing` says in turn.
fn with_storages(mut value: EntryValue, sharing: &[(bool, u64)], seed: u64) -> SampleEntry {
    let mut lengths: Vec<u64> = Vec::new();
    let mut last: BTreeMap<Dtype, usize> = BTreeMap::new();
    let mut choices = sharing.iter().cycle();
    let mut place = |tensor: &mut TensorRef| {
        let &(share, spare) = choices.next().unwrap_or(&(false, 0));
        let dtype = tensor.layout.dtype;
        tensor.storage = match last.get(&dtype) {
            // torch.load gives each tensor of an empty storage a new one.
            Some(&storage) if share && lengths[storage] > 0 => storage,
            _ => {
                lengths.push(spare * dtype.size());
                lengths.len() - 1
            }
        };
        last.insert(dtype, tensor.storage);
        let reach = tensor.layout.reach().map_or(0, |reach| reach.end);
        lengths[tensor.storage] = lengths[tensor.storage].max(reach);
    };
    let arguments = value.args.iter_mut().chain(value.kwargs.iter_mut().map(|(_, argument)| argument));
    for argument in arguments.chain([&mut value.output]) {
        for_each_tensor(argument, &mut place);
    }
    let storages = (0..).zip(&lengths).map(|(n, &length)| noise(seed.wrapping_add(n), length)).collect();
    SampleEntry { value, storages }
}

fn for_each_tensor(argument: &mut Argument, visit: &mut dyn FnMut(&mut TensorRef)) {
    match argument {
        Argument::Tensor(tensor) => visit(tensor),
        Argument::List(items) | Argument::Tuple(items) => {
            items.iter_mut().for_each(|item| for_each_tensor(item, visit))
        }
        Argument::Dict(items) => items.iter_mut().for_each(|(_, item)| for_each_tensor(item, visit)),
        _ => {}
    }
}

/// Bytes without a pattern.
fn noise(seed: u64, length: u64) -> Vec<u8> {
    let byte =
        |i: u64| (seed ^ i).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (0..length).map(|i| (byte(i) >> 56) as u8).collect()
}

/// A capture: its entries in order.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleCapture {
    /// The entries.
    pub entries: Vec<SampleEntry>,
}

impl SampleCapture {
    /// Writes the capture to a temporary folder, as `entry_000000.pt` and on.
    ///
    /// # Errors
    /// [`WriteError`] if the files cannot be written.
    pub fn write(&self) -> Result<TempDir, WriteError> {
        let failed =
            |source| WriteError::Io { path: std::env::temp_dir(), doing: "creating a temporary folder", source };
        let folder = tempfile::Builder::new().prefix("plimsoll-").tempdir().map_err(failed)?;
        for (n, entry) in self.entries.iter().enumerate() {
            entry.write(&folder.path().join(format!("entry_{n:06}.pt")))?;
        }
        Ok(folder)
    }
}

/// Captures of one to `most` entries.
pub fn captures(most: usize) -> impl Strategy<Value = SampleCapture> {
    vec(entries(), 1..=most.max(1)).prop_map(|entries| SampleCapture { entries })
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest! {
        #[test]
        fn layouts_fit_a_storage_of_their_reach(layout in dtypes().prop_flat_map(layouts)) {
            let storage = vec![0; layout.reach().unwrap().end as usize];
            prop_assert!(crate::TensorView::new(&layout, &storage).is_ok());
        }

        #[test]
        fn samples_can_be_written(capture in captures(3)) {
            let folder = capture.write()?;
            prop_assert_eq!(std::fs::read_dir(folder.path())?.count(), capture.entries.len());
        }
    }
}
