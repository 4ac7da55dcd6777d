//! [`Measured`]: the measurements of a block, and the verdicts on them.

use std::fmt;

use super::block::{FIRST_PHASE, Read, unread};
use super::counted::{HeapVerdict, judge_heap};
use super::failure::{Failure, failure};
use super::limits::Limits;
use crate::alloc::HeapReadings;
use crate::ceiling::{CeilingStatus, CeilingVerdict, judge};
use crate::meter::PhaseReadings;

/// The measurements of a guard, and the verdicts on them.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Where the block is, as failures name it.
    pub name: String,
    /// The verdict on each ceiling.
    pub verdicts: Vec<CeilingVerdict>,
    /// The verdict on each other limit of the heap.
    pub heap_verdicts: Vec<HeapVerdict>,
    /// The readings of each phase.
    pub phases: Vec<PhaseReadings>,
    /// The allocator's counts, if there are any.
    pub heap: Option<HeapReadings>,
    /// Remarks that matter for trusting the figures.
    pub notes: Vec<String>,
}

impl Measured {
    pub(super) fn of(name: String, Read { phases, heap, notes }: Read, limits: &Limits) -> Self {
        let verdicts = judge(&phases, &limits.ceilings);
        let counted = heap.as_ref().map(|heap| heap.as_ref().map_err(String::as_str));
        let heap_verdicts = judge_heap(counted.unwrap_or(Err("nothing was counted")), &limits.heap);
        Self { name, verdicts, heap_verdicts, phases, heap: heap.and_then(Result::ok), notes }
    }

    /// The result for a block that could not be measured.
    pub(super) fn nowhere(name: String, reason: &str, limits: &Limits) -> Self {
        let heap = Some(Err(reason.to_owned()));
        Self::of(name, Read { phases: vec![unread(FIRST_PHASE, reason)], heap, notes: Vec::new() }, limits)
    }

    /// Whether every limit holds.
    pub fn passed(&self) -> bool {
        let memory = self.verdicts.iter().map(|verdict| verdict.status);
        memory
            .chain(self.heap_verdicts.iter().map(|verdict| verdict.status))
            .all(|status| status == CeilingStatus::Holds)
    }

    /// The message of [`failure`](fn@failure), with `message` in front.
    pub fn failure(&self, message: Option<&str>) -> String {
        failure(&Failure {
            name: &self.name,
            message,
            verdicts: &self.verdicts,
            heap_verdicts: &self.heap_verdicts,
            phases: &self.phases,
            heap: self.heap.as_ref(),
            notes: &self.notes,
        })
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.failure(None))
    }
}
