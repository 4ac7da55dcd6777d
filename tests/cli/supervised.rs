//! Isolated checks without the command line.

use std::time::Duration;

use plimsoll::capture::Capture;
use plimsoll::record::{FailureKind, Record, ReleaseReason, RunState, ValidationStatus, VerdictStatus};
use plimsoll::run::{Check, Observer, RunError};
use plimsoll::timing::Protocol;
use plimsoll_harness::keep::Keeper;
use plimsoll_harness::signals::Cancel;
use plimsoll_harness::supervisor::{NoLauncher, Workers, isolated};

use crate::library::{built, kernel};
use crate::support::Scene;

fn workers() -> Workers {
    Workers::of(env!("CARGO_BIN_EXE_plimsoll")).unwrap().timeout(Duration::from_secs(50))
}

fn check(capture: &Capture) -> Check<'_> {
    Check::of(capture).protocol(Protocol::Samples { warmup: 1, launches: 3.try_into().unwrap() })
}

#[test]
fn an_isolated_check_is_a_line_of_a_test() {
    let scene = Scene::new(3);
    let capture = Capture::open(&scene.capture()).unwrap();
    let ceilings = "peak_rss = 1 TiB".parse().unwrap();
    let embedding = workers().isolated("builtin:embedding".parse().unwrap());
    let report = check(&capture).ceilings(ceilings).kernel(embedding).run().unwrap();
    assert!(report.passed(), "{}", report.summary());
    let record = report.record();
    let workers: Vec<_> = record.releases.iter().map(|r| (r.worker, r.reason, r.proof.gone)).collect();
    assert_eq!(workers, [(1, ReleaseReason::BeforeProfiling, true), (2, ReleaseReason::Finished, true)]);
    assert!(record.releases.iter().all(|release| release.pid != std::process::id()));
    assert_eq!(record.policy.capture().unwrap().timeout_ns, Some(50_000_000_000), "the launcher's own");
}

#[test]
fn the_known_facts_are_kept_while_a_check_runs() {
    let scene = Scene::new(4);
    let capture = Capture::open(&scene.capture()).unwrap();
    let library = built(&scene, "tests/kernels/library/adversaries.c");
    let mut keeper = Keeper::new(Some(&scene.record()));
    // Each launch takes a millisecond or more: after the second or third entry the first second is over.
    let protocol = Protocol::Samples { warmup: 0, launches: 600.try_into().unwrap() };
    let sleeps = workers().isolated(kernel(&library, "sleeps").parse().unwrap());
    Check::of(&capture).profile_only().protocol(protocol).kernel(sleeps).run_observed(&mut keeper).unwrap();
    let (path, problem) = keeper.kept().unwrap();
    let kept = Record::read(path).unwrap();
    assert_eq!((kept.state, problem), (RunState::Interrupted, None));
    assert!(kept.results.entries.iter().any(|entry| entry.profile.is_some()), "{:?}", kept.results);
    let path = path.to_owned();
    keeper.remove();
    assert!(!path.exists());
}

#[test]
fn the_program_is_found_beside_a_test() {
    let scene = Scene::new(1);
    let capture = Capture::open(&scene.capture()).unwrap();
    let report = check(&capture).kernel(isolated("builtin:embedding".parse().unwrap()).unwrap()).run().unwrap();
    assert!(report.passed(), "{}", report.summary());
}

#[test]
fn a_kernel_that_is_wrong_or_dies_fails_the_check_and_not_the_test() {
    let scene = Scene::new(2);
    let capture = Capture::open(&scene.capture()).unwrap();
    let library = built(&scene, "tests/kernels/library/adversaries.c");
    let of = |name| workers().isolated(kernel(&library, name).parse().unwrap());
    let report = check(&capture).validate_only().kernel(of("zeros")).run().unwrap();
    assert!(!report.passed());
    let statuses = report.record().results.entries.iter().map(|r| r.validation.as_ref().unwrap().status);
    assert_eq!(statuses.collect::<Vec<_>>(), [ValidationStatus::Mismatch; 2]);

    let report = check(&capture).kernel(of("faults_when_timed")).run().unwrap();
    assert_eq!(report.record().exit_code, 1);
    for result in &report.record().results.entries {
        assert!(result.validation.as_ref().unwrap().passed());
        assert_eq!(result.profile.as_ref().unwrap().error.as_ref().unwrap().kind, FailureKind::Signal);
    }
}

#[test]
fn a_worker_is_stopped_at_a_ceiling() {
    let scene = Scene::new(1);
    let capture = Capture::open(&scene.capture()).unwrap();
    let ceilings = "peak_rss = 100 KiB".parse().unwrap();
    let embedding = workers().isolated("builtin:embedding".parse().unwrap());
    let report = check(&capture).ceilings(ceilings).kernel(embedding).run().unwrap();
    assert!(!report.passed());
    let status = |subject| report.record().verdicts.iter().find(|v| v.subject == subject).map(|v| v.status);
    assert_eq!(status("ceiling peak_rss"), Some(VerdictStatus::Fail));
    let failure = report.record().results.entries[0].validation.as_ref().unwrap().error.as_ref().unwrap();
    assert_eq!(failure.kind, FailureKind::Ceiling, "{}", failure.message);
}

#[test]
fn kernels_of_one_check_share_the_count_of_workers() {
    let scene = Scene::new(1);
    let capture = Capture::open(&scene.capture()).unwrap();
    // Each side has its own settings.
    let one = || workers().isolated("builtin:embedding".parse().unwrap());
    let check = check(&capture).pairs(2.try_into().unwrap()).versus(one()).kernel(one());
    let record = check.run().unwrap().into_record();
    let numbers: Vec<_> = record.releases.iter().map(|release| release.worker).collect();
    assert_eq!(numbers, (1..=6).collect::<Vec<_>>());
    assert_eq!(record.results.versus.unwrap().pairs[0].times_ns.len(), 2);
}

/// Asks to stop once the first entry is done.
struct Stops(Cancel);

impl Observer for Stops {
    fn entry(&mut self, _: plimsoll::run::Phase, _: &plimsoll::record::EntryResult) {
        self.0.request();
    }

    fn cancelled(&self) -> bool {
        self.0.requested()
    }
}

#[test]
fn a_check_that_is_cancelled_ends_in_a_record() {
    let scene = Scene::new(2);
    let capture = Capture::open(&scene.capture()).unwrap();
    let cancel = Cancel::new().unwrap();
    let embedding = workers().cancelled_by(&cancel).isolated("builtin:embedding".parse().unwrap());
    let report = check(&capture).kernel(embedding).run_observed(&mut Stops(cancel)).unwrap();
    assert_eq!(report.record().state, RunState::Interrupted);
    let statuses = report.record().results.entries.iter().map(|r| r.validation.as_ref().unwrap().status);
    assert_eq!(statuses.collect::<Vec<_>>(), [ValidationStatus::Passed, ValidationStatus::NotRun]);
    assert!(report.record().releases.iter().all(|release| release.proof.gone));
}

/// Kills the worker when the last of this many entries is validated, between two phases.
struct Kills(usize);

impl Observer for Kills {
    fn entry(&mut self, phase: plimsoll::run::Phase, _: &plimsoll::record::EntryResult) {
        self.0 -= usize::from(phase == plimsoll::run::Phase::Validate && self.0 > 0);
        if self.0 > 0 || phase != plimsoll::run::Phase::Validate {
            return;
        }
        for process in plimsoll::meter::process_tree(std::process::id()).unwrap() {
            let Some(pid) = rustix::process::Pid::from_raw(process.pid as i32) else { continue };
            if process.pid != std::process::id() {
                rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
                let state = || std::fs::read_to_string(format!("/proc/{}/stat", process.pid)).unwrap_or_default();
                assert!(crate::support::comes(|| state().contains(") Z ")), "{}", state());
            }
        }
    }
}

// Runs in its own process, so that its only children are the workers of this check.
#[plimsoll::test]
fn a_worker_that_others_kill_between_two_phases_is_told() {
    let scene = Scene::new(2);
    let capture = Capture::open(&scene.capture()).unwrap();
    let embedding = workers().isolated("builtin:embedding".parse().unwrap());
    let report = check(&capture).kernel(embedding).run_observed(&mut Kills(2)).unwrap();
    assert!(report.passed(), "no launch was lost: {}", report.summary());
    let reasons: Vec<_> = report.record().releases.iter().map(|release| release.reason).collect();
    assert_eq!(reasons, [ReleaseReason::Killed, ReleaseReason::Finished]);
}

#[test]
fn a_kernel_that_cannot_be_had_is_an_error_before_the_run() {
    let scene = Scene::new(1);
    let capture = Capture::open(&scene.capture()).unwrap();
    let missing = workers().isolated(kernel(&scene.path("none.so"), "").parse().unwrap());
    let Err(RunError::Launch(error)) = check(&capture).kernel(missing).run() else { panic!("it ran") };
    assert!(matches!(error.downcast_ref(), Some(NoLauncher::Kernel(_))), "{error}");
    assert!(error.to_string().contains("none.so"), "{error}");
}
