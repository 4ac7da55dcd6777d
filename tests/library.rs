//! Everything that the command does is possible with the library alone.

use std::time::Duration;

use plimsoll::ByteSize;
use plimsoll::capture::batch::{self, ByteBudget, OverCap};
use plimsoll::capture::{Capture, synthesize};
use plimsoll::compare::Comparison;
use plimsoll::kernel::{Call, Kernel, KernelError, KernelIdentity, KernelSpec, OutputBuffer, builtin};
use plimsoll::record::{ProfileStatus, RunState, ValidationStatus, VerdictStatus};
use plimsoll::run::{Check, Observer, Phase, Validation};
use plimsoll::timing::Protocol;

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
        KernelIdentity::new("test:forgetful", None)
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

fn short() -> Protocol {
    Protocol::Samples { warmup: 1, launches: 3.try_into().unwrap() }
}

#[test]
fn a_check_validates_times_and_judges() {
    let (_dir, capture) = capture(4);
    let ceilings = "peak_rss = 1 TiB, available_floor = 1 KiB".parse().unwrap();
    let check = Check::of(&capture).protocol(short()).batch_bytes(ByteSize::mib(4)).ceilings(ceilings);
    let report = check.kernel(builtin::embedding()).run().unwrap();
    assert!(report.passed(), "{}", report.summary());
    let record = report.into_record();
    record.check().unwrap();
    assert_eq!(record.phases.iter().map(|p| p.phase.as_str()).collect::<Vec<_>>(), ["validate", "release", "profile"]);
    let subjects: Vec<_> = record.verdicts.iter().map(|verdict| verdict.subject.as_str()).collect();
    assert_eq!(subjects, ["validation", "profile", "ceiling peak_rss", "ceiling available_floor"]);
    assert!(record.results.entries.iter().all(|r| r.profile.as_ref().unwrap().samples_ns.len() == 3));
    assert!(record.policy.capture().unwrap().batching.as_ref().unwrap().batches.len() > 1);
}

#[test]
fn a_kernel_is_checked_by_its_name() {
    let (_dir, capture) = capture(2);
    let spec: KernelSpec = "builtin:embedding".parse().unwrap();
    let report = Check::of(&capture).protocol(short()).kernel(spec.load().unwrap()).run().unwrap();
    assert!(report.passed(), "{}", report.summary());
    assert_eq!(report.record().semantics.capture().unwrap().kernel.name, "builtin:embedding");
}

#[test]
fn a_check_of_a_wrong_kernel_fails_and_times_nothing() {
    let (_dir, capture) = capture(3);
    let report = Check::of(&capture).protocol(short()).kernel(Forgetful).run().unwrap();
    assert!(!report.passed());
    for result in &report.record().results.entries {
        assert_eq!(result.validation.as_ref().unwrap().status, ValidationStatus::Mismatch);
        assert_eq!(result.profile.as_ref().unwrap().status, ProfileStatus::NotRun);
    }
    assert_eq!(report.record().exit_code, 1);
}

#[test]
fn a_check_fails_by_a_ceiling_alone() {
    let (_dir, capture) = capture(2);
    let ceilings = "peak_rss = 100 KiB, swap_growth = 1 TiB".parse().unwrap();
    let check = Check::of(&capture).validate_only().ceilings(ceilings);
    let report = check.kernel(builtin::embedding()).run().unwrap();
    assert!(!report.passed());
    let status = |subject| report.record().verdicts.iter().find(|v| v.subject == subject).map(|v| v.status);
    assert_eq!(status("validation"), Some(VerdictStatus::Pass));
    assert_eq!(status("ceiling peak_rss"), Some(VerdictStatus::Fail));
    assert!(report.summary().contains("peak_rss <= 100.00 KiB is broken"), "{}", report.summary());
}

#[test]
fn a_check_holds_a_kernel_against_another_and_against_a_reference() {
    let (_dir, capture) = capture(2);
    let check = || Check::of(&capture).protocol(short()).pairs(2.try_into().unwrap());
    let report = check().versus(builtin::embedding()).kernel(builtin::embedding()).run().unwrap();
    assert!(report.passed(), "{}", report.summary());
    let versus = report.record().results.versus.as_ref().unwrap();
    assert!(versus.pairs.iter().all(|pairs| pairs.times_ns.len() == 2));
    assert_eq!(report.record().phases.iter().map(|p| p.phase.as_str()).collect::<Vec<_>>(), ["validate", "versus"]);

    let report = check().versus(Forgetful).kernel(builtin::embedding()).run().unwrap();
    assert!(report.summary().contains("versus validation: 0 of 2 entries passed"), "{}", report.summary());

    // Rows that the reference leaves unwritten are what is expected.
    let report = check().validate_only().reference(Forgetful).kernel(builtin::embedding()).run().unwrap();
    assert!(!report.passed());
    let semantics = report.record().semantics.capture().unwrap();
    assert_eq!(semantics.reference.as_ref().unwrap().name, "test:forgetful");
}

#[test]
fn a_record_says_what_ran() {
    let (_dir, capture) = capture(1);
    let sampled = |interval| {
        let check = Check::of(&capture).validate_only().sample_interval(interval);
        check.kernel(builtin::embedding()).run().unwrap().into_record().policy.capture().unwrap().clone()
    };
    let policy = sampled(Duration::from_millis(3));
    assert_eq!(policy.sample_interval_ns, 3_000_000);
    assert_eq!(policy.timeout_ns, None, "nothing limits a launch in this process");
    // No meter can sample this often.
    assert_eq!(sampled(Duration::from_nanos(1)).sample_interval_ns, 100_000);
}

/// Stops a run after its first entry.
#[derive(Default)]
struct Impatient {
    phases: Vec<Phase>,
    entries: usize,
}

impl Observer for Impatient {
    fn phase(&mut self, phase: Phase, _: usize) {
        self.phases.push(phase);
    }

    fn entry(&mut self, _: Phase, _: &plimsoll::record::EntryResult) {
        self.entries += 1;
    }

    fn cancelled(&self) -> bool {
        self.entries > 0
    }
}

#[test]
fn an_observer_sees_a_check_and_may_stop_it() {
    let (_dir, capture) = capture(3);
    let mut observer = Impatient::default();
    let report = Check::of(&capture).kernel(builtin::embedding()).run_observed(&mut observer).unwrap();
    assert_eq!(observer.phases, [Phase::Validate, Phase::Release, Phase::Profile]);
    assert_eq!(report.record().state, RunState::Interrupted);
    let statuses: Vec<_> =
        report.record().results.entries.iter().map(|r| r.validation.as_ref().unwrap().status).collect();
    assert_eq!(statuses, [ValidationStatus::Passed, ValidationStatus::NotRun, ValidationStatus::NotRun]);
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
