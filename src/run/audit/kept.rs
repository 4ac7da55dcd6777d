//! [`Kept`]: what a launch has left, its output and the contents of the arguments that it changes.

use std::time::Instant;

use plimsoll_capture::{Argument, Bound, Entry, TensorRef, TensorSpec};

use super::super::launcher::{Contents, Launched, Region};
use super::super::output::OutputValue;
use crate::record::{Failure, FailureKind};

/// The most time to copy a byte, even on a busy machine: what is measured must not hide a launch.
const SLOWEST_BYTE_NS: f64 = 1.0;

/// What a launch has left.
pub(super) struct Kept {
    pub(super) output: Launched,
    /// The contents of arguments, as tensors named by them.
    pub(super) contents: Launched,
}

impl Kept {
    /// The kept output `at` of a region, and the `contents` after it.
    pub(super) fn of(region: &Region, at: usize, contents: &[Contents]) -> Result<Self, Failure> {
        let impossible = || {
            Failure::new(FailureKind::ChannelClosed, "the worker left out contents of arguments that were requested")
        };
        let missing = || Failure::new(FailureKind::ChannelClosed, "the worker left out the output of a launch");
        let all = region.outputs.get(at).ok_or_else(missing)?.len();
        let leaves = all.checked_sub(contents.len()).ok_or_else(impossible)?;
        let mut held = region.output(at, leaves..all);
        for (output, Contents { argument, bytes, dtype, .. }) in held.outputs.iter_mut().zip(contents) {
            match &mut output.value {
                OutputValue::Tensor(placed) if placed.bytes as u64 == *bytes => {
                    placed.spec = TensorSpec { dtype: *dtype, shape: vec![bytes / dtype.size()] };
                }
                _ => return Err(impossible()),
            }
            output.path = format!("argument `{argument}`");
        }
        Ok(Self { output: region.output(at, 0..leaves), contents: held })
    }
}

/// The parts of arguments that a kernel changes.
pub(super) fn mutated_contents(bound: &Bound, mutates: &[String]) -> Vec<Contents> {
    let mut contents: Vec<Contents> = Vec::new();
    for (name, value) in bound.params.iter().zip(&bound.args).filter(|(name, _)| mutates.contains(name)) {
        value.for_each_leaf(&mut String::new(), &mut |path, leaf| {
            let Argument::Tensor(tensor) = leaf else { return };
            let Some(reach) = tensor.layout.reach().filter(|reach| !reach.is_empty()) else { return };
            let (at, bytes) = (reach.start, reach.end - reach.start);
            contents.push(Contents {
                argument: format!("{name}{path}"),
                storage: tensor.storage,
                at,
                bytes,
                dtype: tensor.layout.dtype,
            });
        });
    }
    contents
}

/// The captured outputs.
pub(super) fn captured_outputs(entry: &Entry) -> Vec<&TensorRef> {
    let mut outputs = Vec::new();
    entry.output().for_each_leaf(&mut String::new(), &mut |_, leaf| {
        if let Argument::Tensor(tensor) = leaf {
            outputs.push(tensor);
        }
    });
    outputs
}

/// The size of the captured output.
pub(super) fn captured_bytes(entry: &Entry) -> usize {
    let bytes =
        |tensor: &TensorRef| tensor.layout.numel().unwrap_or(0).saturating_mul(tensor.layout.dtype.size()) as usize;
    captured_outputs(entry).into_iter().map(bytes).sum()
}

/// Whether the captured output has tensors alone, and none has an element: there is nothing to compute.
pub(super) fn is_empty(entry: &Entry) -> bool {
    let (mut leaves, mut empty) = (0, 0);
    entry.output().for_each_leaf(&mut String::new(), &mut |_, leaf| {
        leaves += 1;
        empty += usize::from(matches!(leaf, Argument::Tensor(tensor) if tensor.layout.numel() == Some(0)));
    });
    leaves > 0 && leaves == empty
}

/// How long this process takes now for each byte that it writes or copies to new memory, of `bytes` of them.
pub(super) fn copy_ns(bytes: usize) -> f64 {
    let start = Instant::now();
    let from = vec![1u8; bytes];
    let to = std::hint::black_box(&from).clone();
    std::hint::black_box(&to);
    (start.elapsed().as_nanos() as f64 / (2 * bytes) as f64).min(SLOWEST_BYTE_NS)
}
