//! What the command does, a test can do with the library alone.

use plimsoll::ByteSize;
use plimsoll::capture::batch::{self, ByteBudget, OverCap};
use plimsoll::capture::{Capture, synthesize};
use plimsoll::compare::Comparison;
use plimsoll::kernel::{Call, Kernel, KernelError, KernelIdentity, OutputBuffer, builtin};
use plimsoll::record::ValidationStatus;
use plimsoll::run::Validation;

fn capture(entries: u64) -> (tempfile::TempDir, Capture) {
    let dir = tempfile::tempdir().unwrap();
    synthesize::gemma4_e2b_gb10().scale(1, 1536).entries(entries).write(dir.path()).unwrap();
    let capture = Capture::open(dir.path()).unwrap();
    (dir, capture)
}

#[test]
fn a_validation_is_two_lines_of_a_test() {
    let (_dir, capture) = capture(6);
    let report = Validation::of(&capture).run(builtin::embedding()).unwrap();
    assert!(report.passed(), "{}", report.summary());
    assert_eq!(report.record().results.entries.len(), 6);
}

/// An embedding that forgets its last row.
struct Forgetful;

impl Kernel for Forgetful {
    fn identity(&self) -> KernelIdentity {
        KernelIdentity { name: "test:forgetful".to_owned(), digest: None }
    }

    fn outputs(&self, call: &Call<'_>) -> Result<Vec<plimsoll::capture::TensorSpec>, KernelError> {
        builtin::embedding().outputs(call)
    }

    fn launch(&self, call: &Call<'_>, outputs: &mut [OutputBuffer<'_>]) -> Result<(), KernelError> {
        let spec = outputs[0].spec();
        let mut whole = vec![0; spec.bytes().unwrap() as usize];
        builtin::embedding().launch(call, &mut [OutputBuffer::new(&spec, &mut whole)?])?;
        let row = (spec.shape[2] * spec.dtype.size()) as usize;
        let written = whole.len() - row;
        outputs[0].bytes_mut()[..written].copy_from_slice(&whole[..written]);
        Ok(())
    }
}

#[test]
fn what_a_kernel_leaves_unwritten_never_matches() {
    let (_dir, capture) = capture(4);
    for rule in [Comparison::exact(), Comparison::kernelforge(), Comparison::torch()] {
        let report = Validation::of(&capture).comparison(rule).run(Forgetful).unwrap();
        assert!(!report.passed());
        for result in &report.record().results.entries {
            let validation = result.validation.as_ref().unwrap();
            assert_eq!(validation.status, ValidationStatus::Mismatch);
            let elements = validation.leaves[0].elements.as_ref().unwrap();
            let width = validation.leaves[0].expected.as_ref().unwrap().shape[2];
            assert_eq!((elements.mismatches, elements.actual.nan), (width, width), "poison is NaN");
        }
    }
}

#[test]
fn fail_fast_stops_at_the_first_entry_that_does_not_pass() {
    let (_dir, capture) = capture(4);
    let report = Validation::of(&capture).fail_fast().run(Forgetful).unwrap();
    let statuses: Vec<_> =
        report.record().results.entries.iter().map(|r| r.validation.as_ref().unwrap().status).collect();
    use ValidationStatus::{Mismatch, NotRun};
    assert_eq!(statuses, [Mismatch, NotRun, NotRun, NotRun]);
}

#[test]
fn batches_are_planned_before_anything_is_loaded() {
    let (_dir, capture) = capture(6);
    let residencies = capture.entries().map(|entry| entry.map(|entry| entry.residency()));
    let batches = batch::plan(residencies, ByteBudget::from(ByteSize::mib(4)), OverCap::Alone).unwrap();
    assert!(batches.len() > 1);
    assert_eq!(batches.iter().flat_map(|b| b.entries.clone()).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
    assert!(batches.iter().all(|b| b.bytes <= ByteSize::mib(4)));
}
