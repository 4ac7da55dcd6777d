//! The main job with the built-in kernel.

use std::fs;

use plimsoll::ByteSize;
use plimsoll::record::{ProfileStatus, ReleaseReason, RunState, Semantics, ValidationStatus, VerdictStatus};
use plimsoll::timing::{Flush, Stop};

use crate::support::{Scene, plimsoll, run};

#[test]
fn check_validates_releases_profiles_and_records() {
    let scene = Scene::new(4);
    let (code, record) =
        scene.run(scene.command("check").args(["--kernel", "builtin:embedding", "--batch-bytes", "150KiB"]));
    assert_eq!((code, record.exit_code, record.state), (0, 0, RunState::Complete));
    let names: Vec<_> = record.phases.iter().map(|phase| phase.phase.as_str()).collect();
    assert_eq!(names, ["validate", "release", "profile"]);
    assert_eq!(record.results.entries.len(), 4);
    for result in &record.results.entries {
        let (validation, profile) = (result.validation.as_ref().unwrap(), result.profile.as_ref().unwrap());
        assert_eq!((validation.status, profile.status), (ValidationStatus::Passed, ProfileStatus::Timed));
        assert_eq!((profile.samples_ns.len(), profile.launches_per_sample), (1, Some(100)));
        assert!(!validation.blindness.unwrap().any());
    }
    let batches = &record.policy.capture().unwrap().batching.as_ref().unwrap().batches;
    assert_eq!(batches.iter().map(|b| (b.first, b.count)).collect::<Vec<_>>(), [(0, 2), (2, 2)]);
    assert!(batches.iter().all(|b| b.bytes <= ByteSize::new(150 << 10)));
    let reasons: Vec<_> = record.releases.iter().map(|r| (r.worker, r.reason, r.proof.gone)).collect();
    assert_eq!(reasons, [(1, ReleaseReason::BeforeProfiling, true), (2, ReleaseReason::Finished, true)]);
}

#[test]
fn more_entries_than_files_can_be_mapped_are_profiled_in_several_batches() {
    let scene = Scene::new(1025);
    let command = || {
        let mut command = scene.command("check");
        command.args(["--kernel", "builtin:embedding", "--launches", "1", "--warmup", "0"]);
        command
    };
    let (code, record) = scene.run(&mut command());
    assert_eq!((code, record.state), (0, RunState::Complete));
    let batches = &record.policy.capture().unwrap().batching.as_ref().unwrap().batches;
    assert_eq!(batches.iter().map(|batch| batch.count).collect::<Vec<_>>(), [512, 512, 1]);
    let timed = |result: &plimsoll::record::EntryResult| {
        result.profile.as_ref().is_some_and(|profile| profile.status == ProfileStatus::Timed)
    };
    assert!(record.results.entries.iter().all(|result| timed(&result)));
    let (_, one_a_batch) = scene.run(command().args(["--batch-bytes", "1B"]));
    assert_eq!(record.semantics_digest, one_a_batch.semantics_digest);
}

#[test]
fn a_validation_worker_is_replaced_after_the_bytes_it_may_see() {
    let scene = Scene::new(4);
    let (code, record) =
        scene.run(scene.command("validate").args(["--kernel", "builtin:embedding", "--recycle-after", "150KiB"]));
    assert_eq!(code, 0);
    let workers: Vec<_> = record.results.entries.iter().map(|r| r.validation.as_ref().unwrap().worker).collect();
    assert_eq!(workers, [Some(1), Some(1), Some(2), Some(2)]);
    assert_eq!(record.releases[0].reason, ReleaseReason::RecycleAfter);
}

#[test]
fn samples_are_all_kept() {
    let scene = Scene::new(1);
    let flags = ["--kernel", "builtin:embedding", "--protocol", "samples", "--warmup", "2", "--launches", "7"];
    let (code, record) = scene.run(scene.command("profile").args(flags));
    assert_eq!(code, 0);
    assert_eq!(record.results.entries[0].profile.as_ref().unwrap().samples_ns.len(), 7);
    assert!(record.results.entries[0].validation.is_none());
}

#[test]
fn cold_launches_say_what_emptied_the_cache() {
    let scene = Scene::new(1);
    let cold = ["--kernel", "builtin:embedding", "--protocol", "cold", "--warmup", "1", "--launches", "3"];
    let (code, record) = scene.run(scene.command("profile").args(cold));
    assert_eq!(code, 0);
    let profile = record.results.entries[0].profile.as_ref().unwrap();
    assert_eq!(profile.samples_ns.len(), 3);
    let flush = profile.flush.unwrap();
    assert_eq!(flush.cache, plimsoll::meter::last_level_cache());
    assert_eq!(flush, Flush::of(flush.cache));
}

#[test]
fn until_says_what_ended_it_and_is_not_compared_with_another_bound() {
    let scene = Scene::new(1);
    let until = |error: &str| {
        let flags = ["--kernel", "builtin:embedding", "--protocol", "until", "--launches", "5", "--max-time", "5ms"];
        scene.run(scene.command("profile").args(flags).args(["--relative-error", error]))
    };
    // No clock is this steady, so the time limit ends it.
    let (code, short) = until("0.0001%");
    assert_eq!(code, 0);
    let profile = short.results.entries[0].profile.as_ref().unwrap();
    let took: f64 = profile.samples_ns.iter().sum();
    assert!(matches!(profile.stop, Some(Stop::Time | Stop::Launches)), "{:?}", profile.stop);
    assert!(took >= 5e6 * (1.0 - 1e-9) || profile.samples_ns.len() == 10_000);
    let first = scene.path("first.json");
    fs::rename(scene.record(), &first).unwrap();
    let (code, other) = until("99%");
    assert_eq!(code, 0);
    assert!(matches!(other.results.entries[0].profile.as_ref().unwrap().stop, Some(Stop::RelativeError | Stop::Time)));
    let (code, out, _) = run(plimsoll().arg("compare").args([&first, &scene.record()]));
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("relative_error"), "{out}");

    let (code, _, err) = run(scene.command("profile").args(["--kernel", "builtin:embedding", "--relative-error", "2"]));
    assert_eq!(code, 2);
    assert!(err.contains("`2` is not a relative error"), "{err}");
}

#[test]
fn an_output_that_is_not_the_kernels_fails_with_the_first_mismatch() {
    let scene = Scene::new(3);
    // The last storage of the file is the output: its first element changes.
    let mut bytes = fs::read(scene.entry(1)).unwrap();
    let output = bytes.windows(6).rposition(|w| w == b"data/2").map(|at| &bytes[..at]).unwrap().len();
    let local = bytes[..output].windows(6).rposition(|w| w == b"data/2").unwrap();
    let start = (local + 6).next_multiple_of(64);
    let crc = |bytes: &[u8]| crc32fast::hash(&bytes[start..start + 32 * 64 * 2]).to_le_bytes();
    let before = crc(&bytes);
    bytes[start] ^= 0x40;
    fs::write(scene.entry(1), &bytes).unwrap();
    // A damaged file says nothing about the kernel.
    let (code, record) = scene.run(scene.command("validate").args(["--kernel", "builtin:embedding"]));
    assert_eq!(code, 1);
    let damaged = record.results.entries[1].validation.as_ref().unwrap();
    assert_eq!(damaged.status, ValidationStatus::Error);
    assert!(damaged.error.as_ref().unwrap().message.contains("CRC"), "{damaged:?}");
    // A file written like this has the checksum of its contents in the local header and the central directory.
    let after = crc(&bytes);
    let places: Vec<usize> = (0..bytes.len() - 4).filter(|&at| bytes[at..at + 4] == before).collect();
    assert!(!places.is_empty());
    places.into_iter().for_each(|at| bytes[at..at + 4].copy_from_slice(&after));
    fs::write(scene.entry(1), bytes).unwrap();
    let (code, record) = scene.run(scene.command("check").args(["--kernel", "builtin:embedding"]));
    assert_eq!((code, record.exit_code), (1, 1));
    let statuses: Vec<_> = record.results.entries.iter().map(|r| r.validation.as_ref().unwrap().status).collect();
    assert_eq!(statuses, [ValidationStatus::Passed, ValidationStatus::Mismatch, ValidationStatus::Passed]);
    let validation = record.results.entries[1].validation.as_ref().unwrap();
    let elements = validation.leaves[0].elements.as_ref().unwrap();
    assert_eq!(elements.mismatches, 1);
    assert_eq!(elements.first_mismatch.as_ref().unwrap().index, [0, 0, 0]);
    // A wrong answer gets no time.
    assert_eq!(record.results.entries[1].profile.as_ref().unwrap().status, ProfileStatus::NotRun);
    let (code, record) = scene.run(scene.command("check").args(["--kernel", "builtin:embedding", "--fail-fast"]));
    assert_eq!(code, 1);
    assert_eq!(record.results.entries[2].validation.as_ref().unwrap().status, ValidationStatus::NotRun);
    // KernelForge's tolerance does not forgive it either: the exponent changed.
    let (code, _) =
        scene.run(scene.command("validate").args(["--kernel", "builtin:embedding", "--compare", "kernelforge"]));
    assert_eq!(code, 1);
}

#[test]
fn a_broken_ceiling_fails_the_run_and_says_by_how_much() {
    let scene = Scene::new(1);
    let (code, out, _) = run(scene.command("check").args(["--kernel", "builtin:embedding", "--peak-rss", "100KiB"]));
    assert_eq!(code, 1);
    assert!(out.contains("peak_rss") && out.contains("100.00 KiB"), "{out}");
    let record = plimsoll::record::Record::read(&scene.record()).unwrap();
    let verdict = record.verdicts.iter().find(|v| v.subject == "ceiling peak_rss").unwrap();
    assert_eq!(verdict.status, VerdictStatus::Fail);
    assert!(verdict.message.contains("supervisor") && verdict.message.contains("phase"), "{}", verdict.message);
}

#[test]
fn an_entry_over_the_cap_is_alone_or_refused() {
    let scene = Scene::new(2);
    let flags = ["--kernel", "builtin:embedding", "--batch-bytes", "1KiB"];
    let (code, record) = scene.run(scene.command("check").args(flags));
    assert_eq!(code, 0);
    let batches = &record.policy.capture().unwrap().batching.as_ref().unwrap().batches;
    assert_eq!(batches.iter().map(|b| (b.count, b.over_cap)).collect::<Vec<_>>(), [(1, true), (1, true)]);
    fs::remove_file(scene.record()).unwrap();
    let (code, _, err) = run(scene.command("check").args(flags).args(["--over-cap", "refuse"]));
    assert_eq!(code, 2);
    assert!(err.contains("entry_000000.pt"), "{err}");
    assert!(!scene.record().exists());
}

#[test]
fn json_prints_the_record_alone() {
    let scene = Scene::new(1);
    let (code, out, err) = run(scene.command("check").args(["--kernel", "builtin:embedding", "--json"]));
    assert_eq!((code, err.as_str()), (0, ""));
    let printed: serde_json::Value = serde_json::from_str(&out).unwrap();
    let written: serde_json::Value = serde_json::from_slice(&fs::read(scene.record()).unwrap()).unwrap();
    assert_eq!(printed, written);
    assert_eq!(printed["schema"], "plimsoll.record/1");
}

#[test]
fn a_reference_gives_the_outputs_that_a_validation_expects() {
    let scene = Scene::new(2);
    let kernel = ["--kernel", "builtin:embedding", "--reference", "builtin:embedding"];
    let (code, record) = scene.run(scene.command("validate").args(kernel));
    assert_eq!(code, 0, "{:#?}", record.verdicts);
    let Semantics::Capture(semantics) = &record.semantics else { panic!("{:?}", record.semantics) };
    assert_eq!(semantics.reference.as_ref().unwrap().name, "builtin:embedding");
    let (code, _, err) = run(scene.command("check").args(kernel));
    assert_eq!(code, 2);
    assert!(err.contains("--reference is for validate and --audit"), "{err}");
}

#[test]
fn what_a_run_means_has_the_digest_that_it_always_had() {
    let scene = Scene::new(2);
    let digest = |part, flags: &[&str]| {
        let (_, record) = scene.run(scene.command(part).args(["--kernel", "builtin:embedding"]).args(flags));
        record.semantics_digest
    };
    let in_turns = ["--vs", "builtin:embedding", "--pairs", "2", "--launches", "3"];
    // Older records contain these digests; comparisons with today's records work only while they agree.
    for (part, flags, before) in [
        ("check", &[][..], "876956c8aed80f03cedba89beeaa9a9e2c609b340a2aef1e8306fc445a66f0ed"),
        (
            "validate",
            &["--reference", "builtin:embedding"],
            "6d4113815a6af980c70baeab60c0e85dd6ecc6f2d899ad3004fb511df39d3fac",
        ),
        ("check", &in_turns, "df91063dca1b47338f0428bb66b85ab62a2128f284d45924c933879fa4303fcd"),
        ("profile", &[], "d2d429013de453209200a3fc1a35d48845e652dc47ce15c5fea15c54c3036c3e"),
    ] {
        assert_eq!(digest(part, flags), format!("blake3:{before}"), "{part} {flags:?}");
    }
}
