//! Two kernels timed in turns.

use std::process::Command;

use plimsoll::record::{FailureKind, ProfileStatus, ReleaseReason, VerdictStatus};

use crate::library::{built, kernel};
use crate::support::{Scene, run};

const SHORT: [&str; 4] = ["--warmup", "1", "--launches", "3"];

fn check(scene: &Scene, kernel: &str, vs: &str) -> Command {
    let mut command = scene.command("check");
    command.args(["--kernel", kernel, "--vs", vs]).args(SHORT);
    command
}

#[test]
fn a_kernel_that_sleeps_is_slower_by_an_interval() {
    let scene = Scene::new(2);
    let library = built(&scene, "tests/kernels/library/adversaries.c");
    let slow = kernel(&library, "sleeps");
    let (code, record) = scene.run(check(&scene, "builtin:embedding", &slow).args(["--min-speedup", "2"]));
    assert_eq!(code, 0, "{:#?}", record.verdicts);
    let names: Vec<_> = record.verdicts.iter().map(|verdict| (verdict.subject.as_str(), verdict.status)).collect();
    let passed = ["validation", "profile", "versus validation", "versus profile", "speedup", "release"];
    assert_eq!(names, passed.map(|name| (name, VerdictStatus::Pass)));
    let semantics = record.semantics.capture().unwrap().versus.as_ref().unwrap();
    assert_eq!((semantics.kernel.name.as_str(), semantics.pairs.get()), ("lib:kernel.so:sleeps", 10));
    let versus = record.results.versus.as_ref().unwrap();
    assert_eq!(versus.pairs.len(), 2);
    for (index, pairs) in versus.pairs.iter().enumerate() {
        assert_eq!(pairs.times_ns.len(), 10);
        // One kernel sleeps for a millisecond; the other looks up 32 rows.
        assert!(pairs.times_ns.iter().all(|[_, other]| *other >= 1e6), "{pairs:?}");
        let interval = pairs.speedup.as_ref().unwrap().interval.unwrap();
        assert!(interval.low > 2.0 && interval.low <= interval.high, "{interval:?}");
        for results in [&record.results.entries, &versus.entries] {
            let profile = results[index].profile.as_ref().unwrap();
            assert_eq!((profile.samples_ns.len(), profile.launches_per_sample), (10, Some(3)));
        }
    }
    assert!(versus.speedup.as_ref().unwrap().interval.is_some());
    // Each was validated by its own worker, and timed by one per pair.
    let workers: Vec<_> = record.releases.iter().map(|release| release.worker).collect();
    assert_eq!(workers, (1..=22).collect::<Vec<_>>());
    let reasons = [ReleaseReason::BeforeProfiling, ReleaseReason::NextPair, ReleaseReason::Finished];
    let counts = reasons.map(|reason| record.releases.iter().filter(|release| release.reason == reason).count());
    assert_eq!(counts, [2, 18, 2]);
    assert!(record.releases.iter().all(|release| release.proof.gone));

    // In the opposite direction it is slower, which fails if that is not allowed.
    let (code, record) = scene.run(check(&scene, &slow, "builtin:embedding").args(["--min-speedup", "1"]));
    assert_eq!(code, 1);
    let verdict = record.verdicts.iter().find(|verdict| verdict.subject == "speedup").unwrap();
    assert!(verdict.message.contains("times as fast as builtin:embedding, between"), "{}", verdict.message);
}

#[test]
fn few_pairs_cannot_tell() {
    let scene = Scene::new(1);
    let embedding = "builtin:embedding";
    let (code, record) =
        scene.run(check(&scene, embedding, embedding).args(["--min-speedup", "0.001", "--pairs", "2"]));
    assert_eq!(code, 3);
    let versus = record.results.versus.as_ref().unwrap();
    assert_eq!(versus.speedup.as_ref().unwrap().interval, None);
    assert_eq!(versus.pairs[0].times_ns.len(), 2);
}

#[test]
fn a_kernel_that_is_wrong_or_dies_costs_its_entries_and_not_the_other_worker() {
    let scene = Scene::new(2);
    let library = built(&scene, "tests/kernels/library/adversaries.c");
    let (code, record) = scene.run(&mut check(&scene, "builtin:embedding", &kernel(&library, "zeros")));
    assert_eq!(code, 1);
    let versus = record.results.versus.as_ref().unwrap();
    assert!(record.results.entries.iter().all(|result| result.validation.as_ref().unwrap().passed()));
    for result in record.results.entries.iter().chain(&versus.entries) {
        assert_eq!(result.profile.as_ref().unwrap().status, ProfileStatus::NotRun);
    }
    assert_eq!((versus.speedup.as_ref(), versus.pairs[0].times_ns.len()), (None, 0));

    // The other kernel faults once it is timed: the first one's worker survives that.
    let (code, record) = scene.run(&mut check(&scene, "builtin:embedding", &kernel(&library, "faults_when_timed")));
    assert_eq!(code, 1);
    let versus = record.results.versus.as_ref().unwrap();
    for (own, other) in record.results.entries.iter().zip(&versus.entries) {
        assert_eq!(own.profile.as_ref().unwrap().status, ProfileStatus::NotRun);
        assert_eq!(other.profile.as_ref().unwrap().error.as_ref().unwrap().kind, FailureKind::Signal);
    }
    let finished = record.releases.iter().filter(|release| release.reason == ReleaseReason::Finished).count();
    assert_eq!(finished, 1, "{:#?}", record.releases);
}

#[test]
fn what_makes_no_sense_is_bad_usage() {
    let scene = Scene::new(1);
    let mut validate = scene.command("validate");
    let (code, _, err) = run(validate.args(["--kernel", "builtin:embedding", "--vs", "builtin:embedding"]));
    assert_eq!(code, 2);
    assert!(err.contains("`validate` times nothing"), "{err}");
    let (code, _, err) = run(scene.command("check").args(["--kernel", "builtin:embedding", "--min-speedup", "1"]));
    assert_eq!(code, 2);
    assert!(err.contains("--vs"), "{err}");
    let (code, _, err) = run(check(&scene, "builtin:embedding", "builtin:embedding").args(["--min-speedup", "0"]));
    assert_eq!(code, 2);
    assert!(err.contains("a number above 0"), "{err}");
}
