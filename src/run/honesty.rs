//! Checks a launch beyond its values: arguments unchanged, outputs made from them, and work done when it returned.

use std::time::{Duration, Instant};

use crate::record::{Failure, FailureKind};
use plimsoll_capture::compare::{Comparison, LeafOutcome};
use plimsoll_capture::{Entry, MappedEntry};

use super::judge::{Expected, judge};
use super::launcher::Launched;
use super::output::{Output, Placed};

/// How long a mismatching output is watched, to distinguish a write after the launch from a wrong result.
const WAIT_FOR_CHANGE: Duration = Duration::from_millis(100);
/// The time between two looks.
const LOOK: Duration = Duration::from_millis(5);
/// How many mismatches of a run are watched: a kernel that is always wrong should not take long.
const WATCHED: u32 = 8;

/// Judges launches, including problems other than wrong values.
pub(super) struct Honesty<'a> {
    mutates: &'a [String],
    watched: u32,
}

impl<'a> Honesty<'a> {
    /// For a kernel that is meant to change the arguments `mutates`.
    pub fn new(mutates: &'a [String]) -> Self {
        Self { mutates, watched: 0 }
    }

    /// Whether the kernel changed arguments that it was not meant to.
    ///
    /// # Errors
    /// A failure of kind `mutated-input`, with their names.
    pub fn arguments(&self, mutated: &[String]) -> Result<(), Failure> {
        let others: Vec<&String> = mutated.iter().filter(|name| !self.mutates.contains(name)).collect();
        if others.is_empty() {
            return Ok(());
        }
        let what = others.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let how = others.iter().map(|name| format!("--mutates {name}")).collect::<Vec<_>>().join(" ");
        let message = format!("the kernel wrote to its input {what}: if it is meant to, declare it with {how}");
        Err(Failure::new(FailureKind::MutatedInput, message))
    }

    /// Judges the outputs of a launch. `before` is the previously launched entry.
    ///
    /// # Errors
    /// A failure of kind `late-write` or `stale-output`, or of `input` if a file shrank while it was read.
    pub fn outputs(
        &mut self,
        expected: Expected<'_>,
        before: Option<(&Entry, &MappedEntry)>,
        launched: &Launched,
        rule: &Comparison,
    ) -> Result<Vec<LeafOutcome>, Failure> {
        let leaves = judge(expected, launched, rule)?;
        let passed = leaves.iter().all(|leaf| leaf.passed);
        if changed(launched) || (!passed && self.changes(launched)) {
            let message = "the output changed after the launch had returned: another thread of the kernel writes to it";
            return Err(Failure::new(FailureKind::LateWrite, message));
        }
        if let (false, Some((earlier, map))) = (passed, before) {
            let stale = judge(Expected::Captured(earlier, map), launched, rule)?.iter().all(|leaf| leaf.passed);
            if stale {
                let message = format!(
                    "the output is that of {}, which was launched before with arguments at the same addresses: the kernel \
                     returns a result that it kept",
                    earlier.name()
                );
                return Err(Failure::new(FailureKind::StaleOutput, message));
            }
        }
        Ok(leaves)
    }

    /// Waits whether an output that does not match still changes.
    fn changes(&mut self, launched: &Launched) -> bool {
        if self.watched == WATCHED || checksums(&launched.outputs).next().is_none() {
            return false;
        }
        self.watched += 1;
        let end = Instant::now() + WAIT_FOR_CHANGE;
        while Instant::now() < end {
            std::thread::sleep(LOOK);
            if changed(launched) {
                return true;
            }
        }
        false
    }
}

/// Whether an output has changed since the launch returned.
fn changed(launched: &Launched) -> bool {
    let memory = (*launched.memory).as_ref();
    checksums(&launched.outputs)
        .any(|(placed, crc32)| placed.bytes_in(memory).is_some_and(|bytes| crc32fast::hash(bytes) != crc32))
}

/// The tensors that something else can write to, with their CRC-32s when the launch returned.
fn checksums(outputs: &[Output]) -> impl Iterator<Item = (&Placed, u32)> {
    outputs.iter().filter_map(Output::tensor).filter_map(|placed| Some((placed, placed.crc32?)))
}

#[cfg(test)]
mod tests {
    use super::super::output::OutputValue;
    use super::*;
    use plimsoll_capture::{Dtype, TensorSpec};

    fn launched(memory: Vec<u8>, crc32: Option<u32>) -> Launched {
        let spec = TensorSpec { dtype: Dtype::U8, shape: vec![4] };
        let value = OutputValue::Tensor(Placed { spec, offset: 0, bytes: 4, crc32, tolerances: None });
        let outputs = vec![Output { path: String::new(), value }];
        Launched { outputs, memory: Box::new(memory), elapsed: Duration::ZERO, mutated: Vec::new(), device: None }
    }

    #[test]
    fn an_output_is_held_to_what_it_was_when_the_launch_returned() {
        let memory = b"abcd".to_vec();
        let crc = crc32fast::hash(&memory);
        assert!(!changed(&launched(memory.clone(), Some(crc))));
        assert!(changed(&launched(b"abcx".to_vec(), Some(crc))));
        assert!(!changed(&launched(b"abcx".to_vec(), None)), "without a checksum nothing is known");
    }

    #[test]
    fn arguments_are_changed_only_where_that_is_declared() {
        let names = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        let declared = names(&["weight"]);
        let honesty = Honesty::new(&declared);
        assert_eq!(honesty.arguments(&names(&["weight"])), Ok(()));
        let failure = honesty.arguments(&names(&["weight", "input"])).unwrap_err();
        assert_eq!(failure.kind, FailureKind::MutatedInput);
        assert!(failure.message.contains("input `input`") && failure.message.ends_with("--mutates input"));
    }
}
