//! An entry's expected output against what the kernel gave, leaf by leaf.

use std::ops::Range;

use crate::record::{Failure, FailureKind};
use plimsoll_capture::compare::{
    Blindness, Comparison, Leaf, LeafOutcome, blindness_with, compare_leaves, compare_tensors_with,
};
use plimsoll_capture::{Argument, Entry, Layout, MappedEntry, TensorRef, TensorView};

use super::checksums::{Checksums, Running};
use super::launcher::{Launched, OutputValue};

/// Expected outputs are read through a map; its pages leave the resident memory after so many bytes.
const RELEASE_EVERY: u64 = 8 << 20;

/// What an entry's output is to be.
#[derive(Clone, Copy)]
pub enum Expected<'a> {
    /// What was captured.
    Captured(&'a Entry, &'a MappedEntry),
    /// What the reference gave.
    Recomputed(&'a Launched),
}

impl<'a> Expected<'a> {
    /// The leaves, in order.
    ///
    /// # Errors
    /// A failure where a tensor does not lie where it is said to.
    fn leaves(self) -> Result<Vec<ExpectedLeaf<'a>>, Failure> {
        match self {
            Self::Captured(entry, mapped) => {
                let leaf = |(path, value): (String, &'a Argument)| {
                    let value = match value {
                        Argument::Tensor(tensor) => ExpectedValue::View(tensor, mapped.view(tensor)?),
                        value => ExpectedValue::Value(value),
                    };
                    Ok(ExpectedLeaf { path, value })
                };
                leaves_of(entry.output()).into_iter().map(leaf).collect()
            }
            Self::Recomputed(launched) => {
                let memory = (*launched.memory).as_ref();
                let leaf = |(path, value): &'a (String, OutputValue)| {
                    let value = match value {
                        OutputValue::Value(value) => ExpectedValue::Value(value),
                        OutputValue::Tensor { spec, offset, .. } => {
                            ExpectedValue::Row(Layout::contiguous(spec.dtype, &spec.shape), from(memory, *offset))
                        }
                    };
                    ExpectedLeaf { path: path.clone(), value }
                };
                Ok(launched.outputs.iter().map(leaf).collect())
            }
        }
    }

    /// What is read through a map.
    fn map(self) -> Option<&'a MappedEntry> {
        match self {
            Self::Captured(_, mapped) => Some(mapped),
            Self::Recomputed(_) => None,
        }
    }

    fn intact(self) -> Result<(), Failure> {
        Ok(self.map().map_or(Ok(()), MappedEntry::intact)?)
    }
}

struct ExpectedLeaf<'a> {
    path: String,
    value: ExpectedValue<'a>,
}

enum ExpectedValue<'a> {
    View(&'a TensorRef, TensorView<'a>),
    /// A contiguous tensor at the start of these bytes.
    Row(Layout, &'a [u8]),
    Value(&'a Argument),
}

impl ExpectedValue<'_> {
    fn leaf(&self) -> Result<Leaf<'_>, Failure> {
        Ok(match self {
            Self::View(_, view) => Leaf::Tensor(*view),
            Self::Row(layout, bytes) => Leaf::Tensor(TensorView::new(layout, bytes).map_err(|outside| {
                let message = format!("the reference's output lies outside of its memory: {outside}");
                Failure::new(FailureKind::ChannelClosed, message)
            })?),
            Self::Value(value) => Leaf::Value(value),
        })
    }
}

/// Judges every leaf: the expected ones in order, then what the kernel gave beyond them.
///
/// # Errors
/// A failure of kind `input` if the entry's file changed while it was read, or the bytes that were compared do not have the
/// CRC-32 that the file says.
pub fn judge(expected: Expected<'_>, launched: &Launched, rule: &Comparison) -> Result<Vec<LeafOutcome>, Failure> {
    let memory = (*launched.memory).as_ref();
    let mut leaves = Vec::new();
    let mut checksums = match expected {
        Expected::Captured(entry, mapped) => Some(Checksums::new(entry, mapped)),
        Expected::Recomputed(_) => None,
    };
    for ExpectedLeaf { path, value } in expected.leaves()? {
        let leaf = value.leaf()?;
        let Some((_, actual)) = launched.outputs.iter().find(|(p, _)| *p == path) else {
            leaves.push(problem(&path, Some(&leaf), "the kernel gave no value here".to_owned()));
            continue;
        };
        let captured = match &value {
            ExpectedValue::View(tensor, view) => checksums.as_mut().map(|checksums| (checksums, *tensor, view)),
            _ => None,
        };
        let mut running = captured.as_ref().and_then(|(checksums, tensor, view)| checksums.begin(tensor, view));
        leaves.push(judge_leaf(&path, leaf, expected.map(), actual, memory, rule, running.as_mut()));
        if let Some((checksums, tensor, _)) = captured {
            checksums.end(tensor, running)?;
        }
    }
    for (path, _) in &launched.outputs {
        if !leaves.iter().any(|leaf| leaf.path == *path) {
            let text = match expected {
                Expected::Captured(..) => "the kernel gave a value that the captured call did not",
                Expected::Recomputed(_) => "the kernel gave a value that the reference did not",
            };
            leaves.push(problem(path, None, text.to_owned()));
        }
    }
    expected.intact()?;
    Ok(leaves)
}

fn judge_leaf(
    path: &str,
    expected: Leaf<'_>,
    map: Option<&MappedEntry>,
    actual: &OutputValue,
    memory: &[u8],
    rule: &Comparison,
    mut running: Option<&mut Running<'_>>,
) -> LeafOutcome {
    let (spec, offset) = match actual {
        OutputValue::Value(value) => return compare_leaves(path, expected, Leaf::Value(value), rule),
        OutputValue::Tensor { spec, offset, .. } => (spec, offset),
    };
    let layout = Layout::contiguous(spec.dtype, &spec.shape);
    match (TensorView::new(&layout, from(memory, *offset)), expected) {
        (Ok(actual), Leaf::Tensor(expected)) => {
            let maps: Vec<&MappedEntry> = map.into_iter().collect();
            let mut release = releasing(&maps);
            compare_tensors_with(path, expected, actual, rule, &mut |done| {
                if let Some(running) = &mut running {
                    running.add(&done);
                }
                release(done);
            })
        }
        (Ok(actual), expected) => compare_leaves(path, expected, Leaf::Tensor(actual), rule),
        (Err(outside), expected) => {
            problem(path, Some(&expected), format!("the output lies outside of its memory: {outside}"))
        }
    }
}

/// What wrong outputs would have passed for the whole entry: only what passes for every tensor of it counts, and a leaf
/// that is no tensor tells them all.
///
/// # Errors
/// A failure of kind `input` where a file shrank while it was read.
pub fn blind_spots(
    expected: Expected<'_>,
    previous: Option<(&Entry, &MappedEntry)>,
    rule: &Comparison,
) -> Result<Blindness, Failure> {
    let before = previous.map(|(entry, mapped)| (leaves_of(entry.output()), mapped));
    let maps: Vec<&MappedEntry> = expected.map().into_iter().chain(previous.map(|(_, mapped)| mapped)).collect();
    let mut all: Option<Blindness> = None;
    for ExpectedLeaf { path, value } in expected.leaves()? {
        let leaf = match value.leaf()? {
            Leaf::Tensor(tensor) => {
                let earlier = before.as_ref().and_then(|(leaves, mapped)| {
                    leaves.iter().find(|(p, _)| *p == path).and_then(|(_, value)| match value {
                        Argument::Tensor(t) => Some(mapped.view(t)),
                        _ => None,
                    })
                });
                // An output that tells nothing until its end is read whole, once more.
                blindness_with(tensor, earlier.transpose()?, rule, &mut releasing(&maps))
            }
            Leaf::Value(_) => Blindness { zeros: false, nan: false, previous: before.is_some().then_some(false) },
        };
        all = Some(match all {
            None => leaf,
            Some(sum) => Blindness {
                zeros: sum.zeros && leaf.zeros,
                nan: sum.nan && leaf.nan,
                previous: sum.previous.zip(leaf.previous).map(|(a, b)| a && b),
            },
        });
    }
    expected.intact()?;
    Ok(all.unwrap_or_default())
}

/// What a comparison calls as it goes, so that the pages it has read leave the resident memory.
fn releasing<'a>(maps: &'a [&'a MappedEntry]) -> impl FnMut(Range<u64>) + 'a {
    let mut released = 0;
    move |done| {
        if done.end - released >= RELEASE_EVERY {
            maps.iter().for_each(|map| map.release_pages());
            released = done.end;
        }
    }
}

fn leaves_of(value: &Argument) -> Vec<(String, &Argument)> {
    let mut leaves = Vec::new();
    value.for_each_leaf(&mut String::new(), &mut |path, leaf| leaves.push((path.to_owned(), leaf)));
    leaves
}

/// The bytes of `memory` from an offset on; none where it lies outside.
fn from(memory: &[u8], offset: u64) -> &[u8] {
    usize::try_from(offset).ok().and_then(|at| memory.get(at..)).unwrap_or_default()
}

fn problem(path: &str, expected: Option<&Leaf<'_>>, text: String) -> LeafOutcome {
    let expected = match expected {
        Some(Leaf::Tensor(tensor)) => Some(tensor.layout().spec()),
        _ => None,
    };
    LeafOutcome { path: path.to_owned(), passed: false, problem: Some(text), expected, elements: None }
}
