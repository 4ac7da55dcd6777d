//! Compares an entry's expected output with the kernel's, leaf by leaf.

use std::ops::Range;

use crate::record::{Failure, FailureKind};
use plimsoll_capture::compare::{
    Blindness, Coarse, Comparison, Leaf, LeafOutcome, Tolerances, blindness_with, coarse_with, compare_leaves,
    compare_tensors_with,
};
use plimsoll_capture::{Argument, Entry, Layout, MappedEntry, OutsideStorage, TensorRef, TensorView};

use super::checksums::{Checksums, Running};
use super::launcher::Launched;
use super::output::{Output, OutputValue, Placed};

/// Expected outputs are read through a map; its pages are released after this many bytes.
const RELEASE_EVERY: u64 = 8 << 20;

/// The expected output of an entry.
#[derive(Clone, Copy)]
pub enum Expected<'a> {
    /// The captured output.
    Captured(&'a Entry, &'a MappedEntry),
    /// The reference's output.
    Recomputed(&'a Launched),
}

/// What is known of an expected tensor besides its elements.
enum Origin<'a> {
    /// Its place in its storage.
    Captured(&'a TensorRef),
    /// The tolerances that the reference gives.
    Recomputed(Option<Tolerances>),
}

/// Takes a leaf with its path; a tensor also with its origin.
type Visit<'a> = dyn FnMut(&str, Leaf<'_>, Option<Origin<'_>>) -> Result<(), Failure> + 'a;

impl<'a> Expected<'a> {
    /// Hands each leaf to `visit`, in order; a tensor also with its origin.
    ///
    /// # Errors
    /// A failure if a tensor is outside its memory, or the error of `visit`.
    fn each(self, visit: &mut Visit<'_>) -> Result<(), Failure> {
        match self {
            Self::Captured(entry, mapped) => {
                leaves_of(entry.output()).iter().try_for_each(|(path, value)| match value {
                    Argument::Tensor(tensor) => {
                        visit(path, Leaf::Tensor(mapped.view(tensor)?), Some(Origin::Captured(tensor)))
                    }
                    value => visit(path, Leaf::Value(value), None),
                })
            }
            Self::Recomputed(launched) => {
                let memory = (*launched.memory).as_ref();
                launched.outputs.iter().try_for_each(|Output { path, value }| match value {
                    OutputValue::Value(value) => visit(path, Leaf::Value(value), None),
                    OutputValue::Tensor(placed) => {
                        let layout = Layout::contiguous(placed.spec.dtype, &placed.spec.shape);
                        let view = view(placed, &layout, memory).map_err(|outside| {
                            let message = format!("the reference's output is outside its memory: {outside}");
                            Failure::new(FailureKind::ChannelClosed, message)
                        })?;
                        visit(path, Leaf::Tensor(view), Some(Origin::Recomputed(placed.tolerances)))
                    }
                })
            }
        }
    }

    /// The maps that are read.
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

/// Judges every leaf: the expected ones in order, then further leaves of the kernel. The reference's own output is held to
/// its tolerances, too.
///
/// # Errors
/// A failure of kind `input` if the entry's file changed while it was read, or the bytes that were compared do not have
/// the CRC-32 that the file says.
pub fn judge(expected: Expected<'_>, launched: &Launched, rule: &Comparison) -> Result<Vec<LeafOutcome>, Failure> {
    let memory = (*launched.memory).as_ref();
    let mut leaves = Vec::new();
    let mut checksums = match expected {
        Expected::Captured(entry, mapped) => Some(Checksums::new(entry, mapped)),
        Expected::Recomputed(_) => None,
    };
    expected.each(&mut |path, leaf, origin| {
        let Some(output) = launched.outputs.iter().find(|output| output.path == path) else {
            leaves.push(problem(path, Some(&leaf), "the kernel returned no value here".to_owned()));
            return Ok(());
        };
        let (tensor, tolerances) = match origin {
            Some(Origin::Captured(tensor)) => (Some(tensor), output.tensor().and_then(|placed| placed.tolerances)),
            Some(Origin::Recomputed(tolerances)) => (None, tolerances),
            None => (None, None),
        };
        let own = tolerances.map_or(*rule, |tolerances| rule.with_tolerances(tolerances));
        let mut captured = checksums.as_mut().zip(tensor);
        let mut running = match (&captured, &leaf) {
            (Some((checksums, tensor)), Leaf::Tensor(view)) => checksums.begin(tensor, view),
            _ => None,
        };
        let outcome = judge_leaf(path, leaf, expected.map(), &output.value, memory, &own, running.as_mut());
        let given = own.rtol.zip(own.atol).filter(|_| own != *rule);
        leaves.push(LeafOutcome { tolerances: given.map(|(rtol, atol)| Tolerances { rtol, atol }), ..outcome });
        match &mut captured {
            Some((checksums, tensor)) => Ok(checksums.end(tensor, running)?),
            None => Ok(()),
        }
    })?;
    for Output { path, .. } in &launched.outputs {
        if !leaves.iter().any(|leaf| leaf.path == *path) {
            let text = match expected {
                Expected::Captured(..) => "the kernel returned a value that the captured call did not",
                Expected::Recomputed(_) => "the kernel returned a value that the reference did not",
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
    let placed = match actual {
        OutputValue::Value(value) => return compare_leaves(path, expected, Leaf::Value(value), rule),
        OutputValue::Tensor(placed) => placed,
    };
    let layout = Layout::contiguous(placed.spec.dtype, &placed.spec.shape);
    match (view(placed, &layout, memory), expected) {
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
            problem(path, Some(&expected), format!("the output is outside its memory: {outside}"))
        }
    }
}

/// Which wrong outputs would have passed. Only a wrong output that passes for every tensor counts, and a leaf that is not
/// a tensor detects all of them. If the entry is to be audited, coarse outputs are looked for as well, and each tensor
/// with elements counts: a kernel may leave out one output and compute the others.
///
/// # Errors
/// A failure of kind `input` if a file shrank while it was read.
pub fn blind_spots(
    expected: Expected<'_>,
    previous: Option<(&Entry, &MappedEntry)>,
    rule: &Comparison,
    audited: bool,
) -> Result<Blindness, Failure> {
    let before = previous.map(|(entry, mapped)| (leaves_of(entry.output()), mapped));
    let maps: Vec<&MappedEntry> = expected.map().into_iter().chain(previous.map(|(_, mapped)| mapped)).collect();
    let mut all: Option<Blindness> = None;
    expected.each(&mut |path, leaf, origin| {
        let rule = match origin {
            Some(Origin::Recomputed(Some(tolerances))) => &rule.with_tolerances(tolerances),
            _ => rule,
        };
        let leaf = match leaf {
            Leaf::Tensor(tensor) if audited && tensor.numel() == 0 => return Ok(()),
            Leaf::Tensor(tensor) => {
                let earlier = before.as_ref().and_then(|(leaves, mapped)| {
                    leaves.iter().find(|(p, _)| p == path).and_then(|(_, value)| match value {
                        Argument::Tensor(t) => Some(mapped.view(t)),
                        _ => None,
                    })
                });
                // An output that is inconclusive until its end is read whole, once more.
                let blind = blindness_with(tensor, earlier.transpose()?, rule, &mut releasing(&maps));
                let coarse = if audited { coarse_with(tensor, rule, &mut releasing(&maps)) } else { Coarse::default() };
                Blindness { constant: coarse.constant, half_precision: coarse.half_precision, ..blind }
            }
            Leaf::Value(_) if audited => return Ok(()),
            Leaf::Value(_) => Blindness {
                zeros: false,
                nan: false,
                previous: before.is_some().then_some(false),
                constant: None,
                half_precision: None,
            },
        };
        all = Some(match all {
            None => leaf,
            Some(sum) if audited => Blindness {
                zeros: sum.zeros || leaf.zeros,
                nan: sum.nan || leaf.nan,
                previous: either(sum.previous, leaf.previous),
                constant: either(sum.constant, leaf.constant),
                half_precision: either(sum.half_precision, leaf.half_precision),
            },
            Some(sum) => Blindness {
                zeros: sum.zeros && leaf.zeros,
                nan: sum.nan && leaf.nan,
                previous: sum.previous.zip(leaf.previous).map(|(a, b)| a && b),
                constant: None,
                half_precision: None,
            },
        });
        Ok(())
    })?;
    expected.intact()?;
    Ok(all.unwrap_or_default())
}

/// Whether all elements of each tensor of an output are equal.
///
/// # Errors
/// As of [`judge`].
pub fn is_equal(expected: Expected<'_>, rule: &Comparison) -> Result<bool, Failure> {
    let mut equal = true;
    expected.each(&mut |_, leaf, _| {
        if let Leaf::Tensor(tensor) = leaf {
            equal &= tensor.numel() == 0 || coarse_with(tensor, rule, &mut |_| {}).equal;
        }
        Ok(())
    })?;
    Ok(equal)
}

/// Whether a conclusive answer is `true`; absent if there are none.
fn either(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    one.zip(other).map(|(one, other)| one || other).or(one).or(other)
}

/// Called during a comparison, to release the pages that it has read.
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

/// A kernel's tensor in place, as `layout`.
fn view<'a>(placed: &Placed, layout: &'a Layout, memory: &'a [u8]) -> Result<TensorView<'a>, OutsideStorage> {
    TensorView::new(layout, placed.bytes_in(memory).unwrap_or_default())
}

fn problem(path: &str, expected: Option<&Leaf<'_>>, text: String) -> LeafOutcome {
    let expected = match expected {
        Some(Leaf::Tensor(tensor)) => Some(tensor.layout().spec()),
        _ => None,
    };
    LeafOutcome {
        path: path.to_owned(),
        passed: false,
        problem: Some(text),
        expected,
        tolerances: None,
        elements: None,
    }
}
