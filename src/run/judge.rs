//! An entry's expected output against what the kernel gave, leaf by leaf.

use std::ops::Range;

use crate::capture::{Argument, Entry, Layout, MappedEntry, TensorView};
use crate::compare::{Blindness, Comparison, Leaf, LeafOutcome, blindness_with, compare_leaves, compare_tensors_with};
use crate::record::Failure;

use super::launcher::{Launched, OutputValue};

/// Expected outputs are read through a map; its pages leave the resident memory after so many bytes.
const RELEASE_EVERY: u64 = 8 << 20;

/// Judges every leaf: the expected ones in order, then what the kernel gave beyond them.
///
/// # Errors
/// A failure of kind `input` where the entry's file shrank while it was read.
pub fn judge(
    entry: &Entry,
    mapped: &MappedEntry,
    launched: &Launched,
    rule: &Comparison,
) -> Result<Vec<LeafOutcome>, Failure> {
    let memory = (*launched.memory).as_ref();
    let mut leaves = Vec::new();
    for (path, expected) in leaves_of(entry.output()) {
        let Some((_, actual)) = launched.outputs.iter().find(|(p, _)| *p == path) else {
            leaves.push(problem(&path, expected, "the kernel gave no value here".to_owned()));
            continue;
        };
        leaves.push(judge_leaf(&path, expected, mapped, actual, memory, rule)?);
    }
    for (path, _) in &launched.outputs {
        if !leaves.iter().any(|leaf| leaf.path == *path) {
            let text = "the kernel gave a value that the captured call did not".to_owned();
            leaves.push(LeafOutcome {
                path: path.clone(),
                passed: false,
                problem: Some(text),
                expected: None,
                elements: None,
            });
        }
    }
    mapped.intact()?;
    Ok(leaves)
}

fn judge_leaf(
    path: &str,
    expected: &Argument,
    mapped: &MappedEntry,
    actual: &OutputValue,
    memory: &[u8],
    rule: &Comparison,
) -> Result<LeafOutcome, Failure> {
    let expected_leaf = match expected {
        Argument::Tensor(tensor) => Leaf::Tensor(mapped.view(tensor)?),
        value => Leaf::Value(value),
    };
    let (spec, offset) = match actual {
        OutputValue::Value(value) => return Ok(compare_leaves(path, expected_leaf, Leaf::Value(value), rule)),
        OutputValue::Tensor { spec, offset, .. } => (spec, offset),
    };
    let layout = Layout::contiguous(spec.dtype, &spec.shape);
    let at = usize::try_from(*offset).unwrap_or(usize::MAX).min(memory.len());
    Ok(match (TensorView::new(&layout, &memory[at..]), expected_leaf) {
        (Ok(actual), Leaf::Tensor(expected)) => {
            compare_tensors_with(path, expected, actual, rule, &mut releasing(&[mapped]))
        }
        (Ok(actual), expected) => compare_leaves(path, expected, Leaf::Tensor(actual), rule),
        (Err(outside), _) => problem(path, expected, format!("the output lies outside of its memory: {outside}")),
    })
}

/// What wrong outputs would have passed for the whole entry: only what passes for every tensor of it counts, and a leaf
/// that is no tensor tells them all.
///
/// # Errors
/// A failure of kind `input` where a file shrank while it was read.
pub fn blind_spots(
    entry: &Entry,
    mapped: &MappedEntry,
    previous: Option<(&Entry, &MappedEntry)>,
    rule: &Comparison,
) -> Result<Blindness, Failure> {
    let before = previous.map(|(entry, mapped)| (leaves_of(entry.output()), mapped));
    let maps: Vec<&MappedEntry> = [mapped].into_iter().chain(previous.map(|(_, mapped)| mapped)).collect();
    let mut all: Option<Blindness> = None;
    for (path, expected) in leaves_of(entry.output()) {
        let leaf = match expected {
            Argument::Tensor(tensor) => {
                let earlier = before.as_ref().and_then(|(leaves, mapped)| {
                    leaves.iter().find(|(p, _)| *p == path).and_then(|(_, value)| match value {
                        Argument::Tensor(t) => Some(mapped.view(t)),
                        _ => None,
                    })
                });
                // An output that tells nothing until its end is read whole, once more.
                blindness_with(mapped.view(tensor)?, earlier.transpose()?, rule, &mut releasing(&maps))
            }
            _ => Blindness { zeros: false, nan: false, previous: before.is_some().then_some(false) },
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
    mapped.intact()?;
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

fn problem(path: &str, expected: &Argument, text: String) -> LeafOutcome {
    let expected = match expected {
        Argument::Tensor(tensor) => Some(tensor.layout.spec()),
        _ => None,
    };
    LeafOutcome { path: path.to_owned(), passed: false, problem: Some(text), expected, elements: None }
}
